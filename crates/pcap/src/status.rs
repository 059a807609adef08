//! What went wrong, in words.

use std::ffi::{CStr, c_char, c_int};
use std::io::Write;
use std::ptr;

use crate::abi::{
    ERROR, ERROR_ACTIVATED, ERROR_BREAK, ERROR_DOWN, ERROR_NO_DEVICE, ERROR_NO_MONITOR,
    ERROR_NOT_ACTIVATED, ERROR_NOT_MONITOR, ERROR_PERMISSION, ERROR_PRECISION, ERROR_PROMISCUOUS,
    ERROR_TSTAMP_TYPE, WARNING, WARNING_PROMISCUOUS, WARNING_TSTAMP_TYPE,
};
use crate::entry::entry;
use crate::handle::{self, Handle};
use crate::pointer;

/// What each status of `pcap_activate` and others means.
const TEXTS: &[(c_int, &CStr)] = &[
    (WARNING_TSTAMP_TYPE, c"That type of time stamp is not supported by that device"),
    (WARNING_PROMISCUOUS, c"That device doesn't support promiscuous mode"),
    (WARNING, c"Generic warning"),
    (ERROR, c"Generic error"),
    (ERROR_BREAK, c"Loop terminated by pcap_breakloop"),
    (ERROR_NOT_ACTIVATED, c"The pcap_t has not been activated"),
    (ERROR_ACTIVATED, c"The setting can't be changed after the pcap_t is activated"),
    (ERROR_NO_DEVICE, c"No such device exists"),
    (ERROR_NO_MONITOR, c"That device doesn't support monitor mode"),
    (ERROR_NOT_MONITOR, c"That operation is supported only in monitor mode"),
    (ERROR_PERMISSION, c"You don't have permission to perform this capture on that device"),
    (ERROR_DOWN, c"That device is not up"),
    (ERROR_TSTAMP_TYPE, c"That device doesn't support setting the time stamp type"),
    (ERROR_PROMISCUOUS, c"You don't have permission to capture in promiscuous mode on that device"),
    (ERROR_PRECISION, c"That device doesn't support that time stamp precision"),
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
