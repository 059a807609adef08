//! Properties of captures that run.

use std::ffi::c_int;

use crate::abi::{ERROR, MODE_CAPTURE, MODE_STATISTICS};
use crate::entry::entry;
use crate::handle::{self, Handle};
use crate::live::select::pcap_get_selectable_fd;
use crate::live::source::Mode;

entry! {
    /// Bytes of memory in which packets wait. The capture begins anew.
    fn pcap_setbuff(handle: *mut Handle, bytes: c_int) -> c_int, ERROR => {
        handle::active_or(handle, |inner| match u64::try_from(bytes) {
            Ok(bytes) if bytes > 0 => inner.change_live(|config, _| config.buffer = bytes),
            _ => {
                inner.fail("a buffer has one byte at least");
                ERROR
            }
        })
    }

    /// Bytes that are worth waking a program for: with 0 it gets each packet at once, with more packets gather for a
    /// moment, however many these are. The capture begins anew.
    fn pcap_setmintocopy(handle: *mut Handle, bytes: c_int) -> c_int, ERROR => {
        handle::active_or(handle, |inner| inner.change_live(|config, _| config.immediate = bytes <= 0))
    }

    /// Bytes for packets in the program: there is no such memory, as packets are given out where they were captured,
    /// so any size will do.
    fn pcap_setuserbuffer(handle: *mut Handle, bytes: c_int) -> c_int, ERROR => {
        handle::active_or(handle, |inner| match bytes {
            1.. => 0,
            _ => {
                inner.fail("a buffer has one byte at least");
                ERROR
            }
        })
    }

    /// Whether to get packets (0), or at each time-out how many there were and their bytes (1): two numbers of 64
    /// bits. The capture begins anew.
    fn pcap_setmode(handle: *mut Handle, mode: c_int) -> c_int, ERROR => {
        handle::active_or(handle, |inner| match mode {
            MODE_CAPTURE => inner.change_live(|_, mode| *mode = Mode::Capture),
            MODE_STATISTICS => inner.change_live(|_, mode| *mode = Mode::Statistics),
            _ => {
                inner.fail("there are the modes 0, packets, and 1, statistics");
                ERROR
            }
        })
    }

    /// What to wait on for packets: where WinPcap has an event, here is the descriptor of `pcap_get_selectable_fd`.
    fn pcap_getevent(handle: *mut Handle) -> c_int, ERROR => {
        pcap_get_selectable_fd(handle)
    }
}
