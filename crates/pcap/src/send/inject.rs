//! Packets sent one by one.

use std::ffi::{c_int, c_void};

use crate::abi::ERROR;
use crate::entry::{entry, uncancelled};
use crate::handle::{self, Handle, Inner, Kind};
use crate::pointer;

/// Sends a frame: 0 or an error.
#[inline(always)]
fn inject(inner: &mut Inner, frame: &[u8]) -> c_int {
    // Whether frames can be sent was found out with the first one.
    if let Kind::Live(live) = &mut inner.kind
        && live.sending.inject_at_once(frame)
    {
        return 0;
    }
    uncancelled(|| inject_with_patience(inner, frame))
}

/// The same where it takes time, or cannot be.
#[cold]
fn inject_with_patience(inner: &mut Inner, frame: &[u8]) -> c_int {
    let sent = match inner.sender() {
        Ok(live) => live.sending.inject(&live.config, frame),
        Err(text) => {
            inner.fail(text);
            return ERROR;
        }
    };
    match sent {
        Ok(()) => 0,
        Err(error) => {
            inner.fail(&format!("send: {error}"));
            ERROR
        }
    }
}

entry! {
    /// Sends a frame, link-layer header included: how many bytes were sent, or an error.
    fn pcap_inject(handle: *mut Handle, frame: *const c_void, size: usize) -> c_int, ERROR => quick {
        handle::active_or(handle, |inner| {
            let Ok(sent @ 1..) = c_int::try_from(size) else {
                inner.fail(match size {
                    0 => "The number of bytes to be injected must not be zero",
                    _ => "More than 2147483647 bytes cannot be injected",
                });
                return ERROR;
            };
            match inject(inner, pointer::values(frame.cast(), size)) {
                0 => sent,
                error => error,
            }
        })
    }

    /// Sends a frame, link-layer header included: 0, or an error.
    fn pcap_sendpacket(handle: *mut Handle, frame: *const u8, size: c_int) -> c_int, ERROR => quick {
        handle::active_or(handle, |inner| match usize::try_from(size) {
            Ok(size @ 1..) => inject(inner, pointer::values(frame, size)),
            _ => {
                inner.fail("The number of bytes to be sent must be positive");
                ERROR
            }
        })
    }
}
