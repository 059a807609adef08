//! The structs and numbers that programs were compiled with (`pcap/pcap.h`, `pcap/bpf.h`, libpcap 1.10).

use std::ffi::{c_int, c_uint};
use std::mem::offset_of;

use linerate::bpf::classic::Instruction;

/// `struct pcap_pkthdr`, before each packet that a program gets.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PacketHeader {
    /// When the packet was seen; the second member counts microseconds or nanoseconds.
    pub ts: libc::timeval,
    /// Bytes captured.
    pub caplen: u32,
    /// Bytes on the wire.
    pub len: u32,
}

/// `struct pcap_stat`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PcapStat {
    /// Packets that the filter kept, those dropped among them.
    pub ps_recv: c_uint,
    /// Of these, packets for which there was no room.
    pub ps_drop: c_uint,
    /// Packets lost by the interface.
    pub ps_ifdrop: c_uint,
}

/// `struct bpf_program`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BpfProgram {
    /// How many instructions there are.
    pub bf_len: c_uint,
    /// The instructions, from `malloc`.
    pub bf_insns: *mut Instruction,
}

/// `pcap_handler`, the callback that gets packets: what the caller passed for it, header, bytes.
pub type Handler = unsafe extern "C" fn(*mut u8, *const PacketHeader, *const u8);

// On 64-bit Linux.
const _: () = {
    assert!(size_of::<PacketHeader>() == 24 && offset_of!(PacketHeader, caplen) == 16);
    assert!(size_of::<PcapStat>() == 12);
    assert!(size_of::<BpfProgram>() == 16 && offset_of!(BpfProgram, bf_insns) == 8);
    assert!(size_of::<Instruction>() == 8);
};

/// `PCAP_ERRBUF_SIZE`: bytes of a buffer for an error's text.
pub const ERRBUF_SIZE: usize = 256;

/// `PCAP_NETMASK_UNKNOWN`.
pub const NETMASK_UNKNOWN: u32 = 0xffff_ffff;

/// `PCAP_ERROR`: an error, of which the handle has the text.
pub const ERROR: c_int = -1;
/// `PCAP_ERROR_BREAK`: ended by `pcap_breakloop`; of `pcap_next_ex` also the end of a savefile.
pub const ERROR_BREAK: c_int = -2;

/// `PCAP_TSTAMP_PRECISION_MICRO`.
pub const PRECISION_MICRO: c_uint = 0;
/// `PCAP_TSTAMP_PRECISION_NANO`.
pub const PRECISION_NANO: c_uint = 1;
