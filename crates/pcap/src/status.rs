//! What went wrong, in words.

use std::ffi::{CStr, c_char, c_int};
use std::io::Write;
use std::ptr;

use crate::entry::entry;
use crate::handle::{self, Handle};
use crate::pointer;

/// What each status of `pcap_activate` and others means, by its number (`pcap/pcap.h`).
const TEXTS: &[(c_int, &CStr)] = &[
    (3, c"That type of time stamp is not supported by that device"),
    (2, c"That device doesn't support promiscuous mode"),
    (1, c"Generic warning"),
    (-1, c"Generic error"),
    (-2, c"Loop terminated by pcap_breakloop"),
    (-3, c"The pcap_t has not been activated"),
    (-4, c"The setting can't be changed after the pcap_t is activated"),
    (-5, c"No such device exists"),
    (-6, c"That device doesn't support monitor mode"),
    (-7, c"That operation is supported only in monitor mode"),
    (-8, c"You don't have permission to perform this capture on that device"),
    (-9, c"That device is not up"),
    (-10, c"That device doesn't support setting the time stamp type"),
    (-11, c"You don't have permission to capture in promiscuous mode on that device"),
    (-12, c"That device doesn't support that time stamp precision"),
];

entry! {
    /// What a status means.
    fn pcap_statustostr(status: c_int) -> *const c_char, ptr::null() => {
        let known = TEXTS.iter().find(|(known, _)| *known == status);
        known.map_or(c"Unknown error", |(_, text)| text).as_ptr()
    }

    /// What an error number of the system means.
    fn pcap_strerror(number: c_int) -> *const c_char, ptr::null() => {
        libc::strerror(number)
    }

    /// What went wrong last with a handle. The text stays valid until the handle's next error.
    fn pcap_geterr(handle: *mut Handle) -> *mut c_char, ptr::null_mut() => {
        match handle::inner(handle) {
            Some(inner) => inner.message.as_mut_ptr().cast(),
            None => c"no handle was given".as_ptr().cast_mut(),
        }
    }

    /// Prints what went wrong last, after a prefix, to standard error.
    fn pcap_perror(handle: *mut Handle, prefix: *const c_char) -> (), () => {
        let Some(inner) = handle::inner(handle) else { return };
        let prefix = pointer::text(prefix).unwrap_or_default();
        // Nobody is there to tell when standard error is closed.
        let _ = writeln!(std::io::stderr(), "{prefix}: {}", inner.last_message());
    }
}
