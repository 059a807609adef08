//! The papers' own figures.
//!
//! P1's are cycles of a processor of 2003 for frames of 64 bytes at 148,809 a second; P3's are of one gigabit port, P4's
//! of two processors of 2.8 GHz.

use super::connecting::{ASYNCHRONOUS, BLOCKING, INSIDE, USER_SPACE};
use super::receiving::SHARED;
use crate::bench::filter::engines::{NATIVE, VECTOR};
use crate::bench::filter::kernel::KERNEL;

/// A paper's figure, and the row of ours that it stands beside.
pub(super) struct Figure {
    pub(super) case: &'static str,
    /// What the name of our subject begins with.
    pub(super) subject: &'static str,
    /// What the paper's is called.
    pub(super) system: &'static str,
    pub(super) value: Option<f64>,
    pub(super) unit: &'static str,
    /// The paper's figure of what its own is compared with.
    pub(super) baseline: Option<f64>,
    /// How many times better, where the paper says no more than that.
    pub(super) ratio: Option<(f64, f64)>,
}

const fn figure(
    case: &'static str,
    subject: &'static str,
    system: &'static str,
    value: f64,
    unit: &'static str,
    baseline: f64,
) -> Figure {
    let baseline = Some(baseline);
    Figure { case, subject, system, value: Some(value), unit, baseline, ratio: None }
}

/// P1, 5.1: the compiler from BPF to native code.
pub(super) const FILTERS: [Figure; 9] = [
    jit("3", KERNEL),
    jit("21", KERNEL),
    jit("51", KERNEL),
    jit("3", NATIVE),
    jit("21", NATIVE),
    jit("51", NATIVE),
    jit("3", VECTOR),
    jit("21", VECTOR),
    jit("51", VECTOR),
];

const fn jit(length: &'static str, subject: &'static str) -> Figure {
    Figure {
        case: length,
        subject,
        system: "NPF's JIT",
        value: None,
        unit: "cycles",
        baseline: None,
        ratio: Some((3.1, 5.0)),
    }
}

const BYTES: &str = "cycles/byte";

/// P1, Figures 5 and 8: 540 cycles for 64 bytes and 10,500 for a full frame, then 300; 259 and 8,550 for the second copy.
pub(super) const COPIES: [Figure; 4] = [
    figure(
        "first copy, 128 B",
        "tap, 64 MiB",
        "NPF, after (64 B)",
        300.0 / 64.0,
        BYTES,
        540.0 / 64.0,
    ),
    figure(
        "first copy, 1514 B",
        "ring, 64 MiB",
        "NPF, before",
        10_500.0 / 1514.0,
        BYTES,
        10_500.0 / 1514.0,
    ),
    figure("second copy, 128 B", "socket", "NPF (64 B)", 259.0 / 64.0, BYTES, 259.0 / 64.0),
    figure("second copy, 1514 B", "socket", "NPF", 8550.0 / 1514.0, BYTES, 8550.0 / 1514.0),
];

/// P1, Figures 6 and 9.
pub(super) const WHOLE: [Figure; 12] = [
    figure("whole", "ring", "WinPcap, before", 5680.0, "cycles", 5680.0),
    figure("whole", "tap", "WinPcap, after", 3164.0, "cycles", 5680.0),
    figure("driver and interrupt", "ring", "WinPcap, before", 1551.0, "cycles", 1551.0),
    figure("driver and interrupt", "tap", "WinPcap, after", 1551.0, "cycles", 1551.0),
    figure("timestamp", "ring", "WinPcap, before", 1800.0, "cycles", 1800.0),
    figure("timestamp", "tap", "WinPcap, after", 270.0, "cycles", 1800.0),
    figure("tap, other work", "ring", "WinPcap, before", 830.0, "cycles", 830.0),
    figure("tap, other work", "tap", "WinPcap, after", 560.0, "cycles", 830.0),
    figure("first copy", "ring", "WinPcap, before", 540.0, "cycles", 540.0),
    figure("first copy", "tap", "WinPcap, after", 300.0, "cycles", 540.0),
    figure("second copy", "socket", "WinPcap, before", 364.0, "cycles", 364.0),
    figure("system calls and waking", "socket", "WinPcap", 10.0, "cycles", 10.0),
];

/// P1, Figures 6 and 9 as drawings: the filter is 8 % of the whole before, and what the total leaves after.
pub(super) const PARTS: [(&str, f64, f64); 7] = [
    ("driver and interrupt", 1551.0, 1551.0),
    ("tap, other work", 830.0, 560.0),
    ("timestamp", 1800.0, 270.0),
    ("filter", 454.0, 109.0),
    ("first copy", 540.0, 300.0),
    ("system calls and waking", 10.0, 10.0),
    ("second copy", 364.0, 364.0),
];

/// P1, 5.3.
pub(super) const TIMESTAMPS: [Figure; 2] = [
    figure("a time for every packet", "kernel", "system timer", 1800.0, "cycles", 1800.0),
    figure("a time for every packet", "sampled", "cycle counter", 270.0, "cycles", 1800.0),
];

/// P1, 4.
pub(super) const CALLS: [Figure; 2] = [
    figure("system call", "by itself", "ReadFile, Windows 2000", 33_500.0, "cycles", 33_500.0),
    figure("system call", "64 packets a call", "3200 packets a call", 10.0, "cycles", 33_500.0),
];

const ONE: &str = "60 B SYN, one destination, veth";
const UNIQUE: &str = "60 B SYN, unique, veth";

/// P3, 4.1: one port, one core.
pub(super) const SENDING: [Figure; 8] = [
    figure(ONE, "raw IP sendto", "Winsock", 116_037.0, "packets/s", 116_037.0),
    figure(ONE, "AF_PACKET sendto", "WinPcap 4.1, per packet", 49_349.0, "packets/s", 116_037.0),
    figure(ONE, "AF_PACKET sendmmsg", "WinPcap 4.1, batched", 319_814.0, "packets/s", 116_037.0),
    figure(ONE, "live template", "IRLstack", 1_487_298.0, "packets/s", 116_037.0),
    figure(UNIQUE, "raw IP sendto", "Winsock", 16_290.0, "packets/s", 16_290.0),
    figure(UNIQUE, "AF_PACKET sendto", "WinPcap 4.1, per packet", 49_349.0, "packets/s", 16_290.0),
    figure(UNIQUE, "AF_PACKET sendmmsg", "WinPcap 4.1, batched", 319_814.0, "packets/s", 16_290.0),
    figure(UNIQUE, "live template", "IRLstack", 1_487_298.0, "packets/s", 16_290.0),
];

/// P3, 4.1: four ports and four cores, against one.
pub(super) const CORES: [Figure; 3] = [
    figure(
        "queues",
        "AF_PACKET sendto (socket), 2",
        "WinPcap, 4 cores",
        152_467.0,
        "packets/s",
        49_349.0,
    ),
    figure(
        "queues",
        "AF_PACKET sendmmsg (mmsg), 2",
        "WinPcap batched, 4 cores",
        815_921.0,
        "packets/s",
        319_814.0,
    ),
    figure(
        "queues",
        "live template, 2",
        "IRLstack, 4 cores",
        5_245_458.0,
        "packets/s",
        1_487_298.0,
    ),
];

const ONE_CORE: &str = "60 B, no loss up to";
const PF_RING: f64 = 920_000.0;

/// P3, 4.2.
pub(super) const RECEIVING: [Figure; 4] = [
    figure(ONE_CORE, "ring", "PF_RING/TNAPI, 1 core", PF_RING, "packets/s", PF_RING),
    figure(ONE_CORE, "tap-xdp", "IRLstack, 1 core", 1_232_745.0, "packets/s", PF_RING),
    figure(
        SHARED,
        "ring (TPACKET_V3), 2 cores",
        "PF_RING/TNAPI, 4 cores",
        3e6,
        "packets/s",
        PF_RING,
    ),
    figure(
        SHARED,
        "tap-xdp exclusive, 2 cores",
        "IRLstack, 4 cores",
        2_946_707.0,
        "packets/s",
        PF_RING,
    ),
];

/// P3, 4.3.
pub(super) const CONNECTING: [Figure; 7] = [
    connections("TCP connections", BLOCKING, "connect/closesocket, 1 core", 16_656.0),
    connections("TCP connections", ASYNCHRONOUS, "connectEx, 1 core", 20_801.0),
    connections("TCP connections", INSIDE, "WSK, 1 core", 31_389.0),
    connections("TCP connections", USER_SPACE, "IRLstack, 1 core", 250_000.0),
    connections("TCP connections, four cores", BLOCKING, "connect/closesocket, 4 cores", 39_462.0),
    connections("TCP connections, four cores", ASYNCHRONOUS, "connectEx, 4 cores", 45_277.0),
    connections("TCP connections, four cores", INSIDE, "WSK, 4 cores", 54_783.0),
];

const fn connections(
    case: &'static str,
    subject: &'static str,
    system: &'static str,
    value: f64,
) -> Figure {
    figure(case, subject, system, value, "connections/s", 16_656.0)
}

/// P4, tables 1 and 2, in packets; frames are told without their check sequence of four bytes.
pub(super) const APPROACHES: [Figure; 12] = [
    figure("60 B, no loss up to", "socket", "PF_PACKET", 215_516.0, "packets/s", 132_979.0),
    figure("60 B, no loss up to", "libpcap", "libpcap", 132_979.0, "packets/s", 132_979.0),
    figure("60 B, no loss up to", "tap", "zero-copy", 947_252.0, "packets/s", 132_979.0),
    figure("396 B, no loss up to", "socket", "PF_PACKET", 123_032.0, "packets/s", 121_596.0),
    figure("396 B, no loss up to", "libpcap", "libpcap", 121_596.0, "packets/s", 121_596.0),
    figure("396 B, no loss up to", "tap", "zero-copy", 286_754.0, "packets/s", 121_596.0),
    figure("596 B, no loss up to", "socket", "PF_PACKET", 102_460.0, "packets/s", 92_455.0),
    figure("596 B, no loss up to", "libpcap", "libpcap", 92_455.0, "packets/s", 92_455.0),
    figure("596 B, no loss up to", "tap", "zero-copy", 195_658.0, "packets/s", 92_455.0),
    figure("1496 B, no loss up to", "socket", "PF_PACKET", 72_805.0, "packets/s", 70_384.0),
    figure("1496 B, no loss up to", "libpcap", "libpcap", 70_384.0, "packets/s", 70_384.0),
    figure("1496 B, no loss up to", "tap", "zero-copy", 81_158.0, "packets/s", 70_384.0),
];

/// P4, Figures 2 to 10: two programs have about half the rate each.
pub(super) const PROCESSES: [Figure; 2] = [
    figure(
        "60 B, no loss up to",
        "libpcap, 1",
        "libpcap, 1 process",
        130_000.0,
        "packets/s",
        130_000.0,
    ),
    figure(
        "60 B, no loss up to",
        "libpcap, 2",
        "libpcap, 2 processes",
        70_000.0,
        "packets/s",
        130_000.0,
    ),
];

/// P2, test 3, frames of 101 bytes: shares that have no baseline.
pub(super) const SAVING: [Figure; 4] = [
    share("101 B, all of it, disk", "linerate", "WinDump, NTFS", 73.0),
    share("101 B, all of it, disk", "tcpdump", "WinDump, NTFS", 73.0),
    share("101 B, all of it, memory", "linerate", "WinDump, FAT", 89.0),
    share("101 B, all of it, memory", "tcpdump", "WinDump, FAT", 89.0),
];

const fn share(
    case: &'static str,
    subject: &'static str,
    system: &'static str,
    value: f64,
) -> Figure {
    let value = Some(value);
    Figure { case, subject, system, value, unit: "%", baseline: None, ratio: None }
}
