//! Structs and numbers of WinPcap that libpcap has not (`pcap.h`, `Win32-Extensions.h` of WinPcap 4.1).

use std::ffi::{c_char, c_int, c_uint};
use std::mem::offset_of;

use super::PcapStat;

/// `struct pcap_stat_ex`: what is `struct pcap_stat` in WinPcap, and longer than libpcap's.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtendedStat {
    /// What libpcap has.
    pub base: PcapStat,
    /// Packets that the program got.
    pub ps_capt: c_uint,
    /// Packets that it sent.
    pub ps_sent: c_uint,
    /// Packets lost on the network, of captures on other machines: 0.
    pub ps_netdrop: c_uint,
}

/// `struct pcap_send_queue` of WinPcap: packets to send, each a `struct pcap_pkthdr` and its bytes.
#[repr(C)]
#[derive(Debug)]
pub struct SendQueue {
    /// Bytes that there is room for.
    pub maxlen: c_uint,
    /// Bytes that are there.
    pub len: c_uint,
    /// They.
    pub buffer: *mut c_char,
}

/// `MODE_CAPT`: a program gets packets.
pub const MODE_CAPTURE: c_int = 0;
/// `MODE_STAT`: it gets how many there were, and their bytes.
pub const MODE_STATISTICS: c_int = 1;

const _: () = {
    assert!(size_of::<ExtendedStat>() == 24);
    assert!(size_of::<SendQueue>() == 16 && offset_of!(SendQueue, buffer) == 8);
};
