//! The structs and numbers that programs were compiled with (`pcap/pcap.h`, `pcap/bpf.h`, libpcap 1.10).

mod added;

use std::ffi::{c_char, c_int, c_uint};
use std::mem::offset_of;

use linerate::bpf::classic::Instruction;

pub use added::{ExtendedStat, MODE_CAPTURE, MODE_STATISTICS, SendQueue};

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

/// `struct pcap_samp`: which packets to deliver.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// 0 delivers all, 1 every `value`-th, 2 the first after `value` milliseconds.
    pub method: c_int,
    /// See the method.
    pub value: c_int,
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

/// `struct pcap_if`: something to capture on.
#[repr(C)]
#[derive(Debug)]
pub struct PcapInterface {
    /// The next one; null behind the last.
    pub next: *mut Self,
    /// Its name.
    pub name: *mut c_char,
    /// What it is; null where nothing is known.
    pub description: *mut c_char,
    /// Its first address; null without.
    pub addresses: *mut PcapAddress,
    /// What it can do: constants from [`IF_LOOPBACK`] on.
    pub flags: u32,
}

/// `struct pcap_addr`: an address of an interface. All but the first pointer may be null.
#[repr(C)]
#[derive(Debug)]
pub struct PcapAddress {
    /// The next one; null behind the last.
    pub next: *mut Self,
    /// The address.
    pub addr: *mut libc::sockaddr,
    /// The mask of its network.
    pub netmask: *mut libc::sockaddr,
    /// The address of all of its network.
    pub broadaddr: *mut libc::sockaddr,
    /// The address of the other end.
    pub dstaddr: *mut libc::sockaddr,
}

/// `pcap_direction_t`: which way packets go.
pub type Direction = c_uint;

/// What a `pcap_dumper_t *` points to: a stream.
pub type Dumper = libc::FILE;

/// `PCAP_IF_LOOPBACK`.
pub const IF_LOOPBACK: u32 = 1;
/// `PCAP_IF_UP`.
pub const IF_UP: u32 = 2;
/// `PCAP_IF_RUNNING`.
pub const IF_RUNNING: u32 = 4;
/// `PCAP_IF_WIRELESS`.
pub const IF_WIRELESS: u32 = 8;
/// `PCAP_IF_CONNECTION_STATUS`: what says of the connection how it is.
pub const IF_CONNECTION: u32 = 0x30;
/// `PCAP_IF_CONNECTION_STATUS_CONNECTED`.
pub const IF_CONNECTED: u32 = 0x10;
/// `PCAP_IF_CONNECTION_STATUS_DISCONNECTED`.
pub const IF_DISCONNECTED: u32 = 0x20;
/// `PCAP_IF_CONNECTION_STATUS_NOT_APPLICABLE`.
pub const IF_NO_CONNECTION: u32 = 0x30;

/// `pcap_handler`, the callback that gets packets: what the caller passed for it, header, bytes.
pub type Handler = unsafe extern "C" fn(*mut u8, *const PacketHeader, *const u8);

// On 64-bit Linux.
const _: () = {
    assert!(size_of::<PacketHeader>() == 24 && offset_of!(PacketHeader, caplen) == 16);
    assert!(size_of::<PcapStat>() == 12);
    assert!(size_of::<BpfProgram>() == 16 && offset_of!(BpfProgram, bf_insns) == 8);
    assert!(size_of::<Instruction>() == 8);
    assert!(size_of::<PcapInterface>() == 40 && offset_of!(PcapInterface, flags) == 32);
    assert!(size_of::<PcapAddress>() == 40);
};

/// `PCAP_ERRBUF_SIZE`: bytes of a buffer for an error's text.
pub const ERRBUF_SIZE: usize = 256;

/// `PCAP_NETMASK_UNKNOWN`.
pub const NETMASK_UNKNOWN: u32 = 0xffff_ffff;

/// `PCAP_ERROR`: an error, of which the handle has the text.
pub const ERROR: c_int = -1;
/// `PCAP_ERROR_BREAK`: ended by `pcap_breakloop`; of `pcap_next_ex` also the end of a savefile.
pub const ERROR_BREAK: c_int = -2;
/// `PCAP_ERROR_NOT_ACTIVATED`: the capture has not begun.
pub const ERROR_NOT_ACTIVATED: c_int = -3;
/// `PCAP_ERROR_ACTIVATED`: the capture has begun.
pub const ERROR_ACTIVATED: c_int = -4;
/// `PCAP_ERROR_NO_SUCH_DEVICE`.
pub const ERROR_NO_DEVICE: c_int = -5;
/// `PCAP_ERROR_RFMON_NOTSUP`: no monitor mode.
pub const ERROR_NO_MONITOR: c_int = -6;
/// `PCAP_ERROR_NOT_RFMON`: that is for monitor mode.
pub const ERROR_NOT_MONITOR: c_int = -7;
/// `PCAP_ERROR_PERM_DENIED`.
pub const ERROR_PERMISSION: c_int = -8;
/// `PCAP_ERROR_IFACE_NOT_UP`.
pub const ERROR_DOWN: c_int = -9;
/// `PCAP_ERROR_CANTSET_TSTAMP_TYPE`.
pub const ERROR_TSTAMP_TYPE: c_int = -10;
/// `PCAP_ERROR_PROMISC_PERM_DENIED`.
pub const ERROR_PROMISCUOUS: c_int = -11;
/// `PCAP_ERROR_TSTAMP_PRECISION_NOTSUP`.
pub const ERROR_PRECISION: c_int = -12;
/// `PCAP_WARNING`: a warning, of which the handle has the text.
pub const WARNING: c_int = 1;
/// `PCAP_WARNING_PROMISC_NOTSUP`.
pub const WARNING_PROMISCUOUS: c_int = 2;
/// `PCAP_WARNING_TSTAMP_TYPE_NOTSUP`.
pub const WARNING_TSTAMP_TYPE: c_int = 3;

/// `PCAP_TSTAMP_PRECISION_MICRO`.
pub const PRECISION_MICRO: c_uint = 0;
/// `PCAP_TSTAMP_PRECISION_NANO`.
pub const PRECISION_NANO: c_uint = 1;

/// `PCAP_TSTAMP_HOST`: the kernel stamps packets.
pub const TSTAMP_HOST: c_int = 0;
/// `PCAP_TSTAMP_HOST_LOWPREC`.
pub const TSTAMP_HOST_LOWPREC: c_int = 1;
/// `PCAP_TSTAMP_HOST_HIPREC`.
pub const TSTAMP_HOST_HIPREC: c_int = 2;
/// `PCAP_TSTAMP_ADAPTER`: the network card does.
pub const TSTAMP_ADAPTER: c_int = 3;
/// `PCAP_TSTAMP_ADAPTER_UNSYNCED`.
pub const TSTAMP_ADAPTER_UNSYNCED: c_int = 4;
/// `PCAP_TSTAMP_HOST_HIPREC_UNSYNCED`.
pub const TSTAMP_HOST_HIPREC_UNSYNCED: c_int = 5;

/// `PCAP_CHAR_ENC_LOCAL`: texts are as the locale has them.
pub const ENCODING_LOCAL: c_uint = 0;
/// `PCAP_CHAR_ENC_UTF_8`.
pub const ENCODING_UTF_8: c_uint = 1;

/// `PCAP_D_INOUT`: packets either way.
pub const DIRECTION_BOTH: Direction = 0;
/// `PCAP_D_IN`: those received.
pub const DIRECTION_IN: Direction = 1;
/// `PCAP_D_OUT`: those sent.
pub const DIRECTION_OUT: Direction = 2;
