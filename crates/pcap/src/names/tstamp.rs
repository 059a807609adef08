//! Who stamps packets, by libpcap's numbers and names (`PCAP_TSTAMP_` of `pcap/pcap.h`).

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use crate::abi::ERROR;
use crate::entry::entry;
use crate::pointer;

/// Name and description, by number.
const TYPES: [(&CStr, &CStr); 6] = [
    (c"host", c"Host"),
    (c"host_lowprec", c"Host, low precision"),
    (c"host_hiprec", c"Host, high precision"),
    (c"adapter", c"Adapter"),
    (c"adapter_unsynced", c"Adapter, not synced with system time"),
    (c"host_hiprec_unsynced", c"Host, high precision, not synced with system time"),
];

fn known(number: c_int) -> Option<&'static (&'static CStr, &'static CStr)> {
    TYPES.get(usize::try_from(number).ok()?)
}

fn number(name: &str) -> Option<c_int> {
    let same = |(known, _): &(&CStr, &CStr)| known.to_bytes().eq_ignore_ascii_case(name.as_bytes());
    TYPES.iter().position(same).map(|number| number as c_int)
}

entry! {
    /// The number of a kind of time stamps; -1 for an unknown name.
    fn pcap_tstamp_type_name_to_val(name: *const c_char) -> c_int, ERROR => {
        pointer::text(name).and_then(number).unwrap_or(ERROR)
    }

    /// The name of a kind of time stamps; null for an unknown number.
    fn pcap_tstamp_type_val_to_name(number: c_int) -> *const c_char, ptr::null() => {
        known(number).map_or(ptr::null(), |(name, _)| name.as_ptr())
    }

    /// What a kind of time stamps is; null for an unknown number.
    fn pcap_tstamp_type_val_to_description(number: c_int) -> *const c_char, ptr::null() => {
        known(number).map_or(ptr::null(), |(_, description)| description.as_ptr())
    }

    /// Frees a list of kinds of time stamps.
    fn pcap_free_tstamp_types(list: *mut c_int) -> (), () => {
        libc::free(list.cast());
    }
}
