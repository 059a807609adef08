//! What the library says of itself.

use std::ffi::{CStr, c_char};
use std::ptr;

use crate::entry::entry;

/// The version of libpcap whose functions these are. Programs read it out of the text.
const TEXT: &CStr = match CStr::from_bytes_with_nul(
    concat!("libpcap version 1.10.3 (linerate ", env!("CARGO_PKG_VERSION"), ")\0").as_bytes(),
) {
    Ok(text) => text,
    Err(_) => panic!("one NUL, at the end"),
};

/// The version alone, for old programs that declare it as a variable.
#[unsafe(no_mangle)]
pub static pcap_version: [u8; 7] = *b"1.10.3\0";

entry! {
    /// Name and version of the library.
    fn pcap_lib_version() -> *const c_char, ptr::null() => {
        TEXT.as_ptr()
    }
}
