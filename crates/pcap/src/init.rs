//! The beginning of programs that know libpcap 1.10, and what it changes.

use std::ffi::{c_char, c_int, c_uint};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::abi::{ENCODING_LOCAL, ENCODING_UTF_8, ERROR};
use crate::entry::entry;
use crate::pointer;

/// How texts are encoded, as `pcap_init` was told; they are the same here.
const ENCODINGS: [c_uint; 2] = [ENCODING_LOCAL, ENCODING_UTF_8];

/// Not told.
const NONE: c_uint = c_uint::MAX;

static ENCODING: AtomicU32 = AtomicU32::new(NONE);

/// Whether the program has begun with `pcap_init`.
pub(crate) fn is_done() -> bool {
    ENCODING.load(Ordering::Relaxed) != NONE
}

entry! {
    /// Begins to use the library, with texts of this encoding: 0, or -1 and the reason. Programs need not.
    fn pcap_init(encoding: c_uint, error: *mut c_char) -> c_int, ERROR => {
        if !ENCODINGS.contains(&encoding) {
            pointer::say(error, "Unknown options specified");
            return ERROR;
        }
        let (order, earlier) = (Ordering::Relaxed, NONE);
        match ENCODING.compare_exchange(earlier, encoding, order, order) {
            Err(other) if other != encoding => {
                pointer::say(error, "Multiple pcap_init calls with different character encodings");
                ERROR
            }
            _ => 0,
        }
    }
}
