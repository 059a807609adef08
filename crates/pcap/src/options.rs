//! Options that libpcap 1.11 has functions for, and no use yet. Names and numbers: `pcap/pcap.h` of 1.11.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

use crate::abi::ERROR;
use crate::entry::entry;

/// What a `pcap_options *` points to.
#[derive(Debug, Default)]
pub struct Options {
    precision: c_int,
    reader: Option<CString>,
    writer: Option<CString>,
}

/// `PON_TSTAMP_PRECISION`, a number.
const PRECISION: c_int = 1;
/// `PON_IO_READ_PLUGIN`, a text.
const READER: c_int = 2;
/// `PON_IO_WRITE_PLUGIN`, a text.
const WRITER: c_int = 3;

/// The status for an option that is of the other type.
const OTHER_TYPE: c_int = -2;

impl Options {
    /// The text of an option, or why there is none.
    fn text(&mut self, name: c_int) -> Result<&mut Option<CString>, c_int> {
        match name {
            READER => Ok(&mut self.reader),
            WRITER => Ok(&mut self.writer),
            PRECISION => Err(OTHER_TYPE),
            _ => Err(ERROR),
        }
    }

    fn number(&mut self, name: c_int) -> Result<&mut c_int, c_int> {
        match name {
            PRECISION => Ok(&mut self.precision),
            READER | WRITER => Err(OTHER_TYPE),
            _ => Err(ERROR),
        }
    }
}

entry! {
    /// Options, none of which is set; `pcap_free_option` frees them.
    fn pcap_alloc_option() -> *mut Options, ptr::null_mut() => {
        Box::into_raw(Box::default())
    }

    /// Frees options.
    fn pcap_free_option(options: *mut Options) -> (), () => {
        if !options.is_null() {
            drop(Box::from_raw(options));
        }
    }

    /// Sets an option to a copy of a text: 0, -1 for an unknown option, -2 for one that is a number.
    fn pcap_set_option_string(options: *mut Options, name: c_int, value: *const c_char) -> c_int, ERROR => {
        let (Some(options), false) = (options.as_mut(), value.is_null()) else { return ERROR };
        match options.text(name) {
            Ok(place) => {
                *place = Some(CStr::from_ptr(value).to_owned());
                0
            }
            Err(status) => status,
        }
    }

    /// Sets an option to a number: 0, -1 for an unknown option, -2 for one that is a text.
    fn pcap_set_option_int(options: *mut Options, name: c_int, value: c_int) -> c_int, ERROR => {
        let Some(options) = options.as_mut() else { return ERROR };
        match options.number(name) {
            Ok(place) => {
                *place = value;
                0
            }
            Err(status) => status,
        }
    }

    /// The text of an option, valid until it is set again or the options are freed; null where there is none.
    fn pcap_get_option_string(options: *mut Options, name: c_int) -> *const c_char, ptr::null() => {
        let text = options.as_mut().and_then(|options| options.text(name).ok()?.as_deref());
        text.map_or(ptr::null(), CStr::as_ptr)
    }

    /// The number of an option; -1 for an unknown option, -2 for one that is a text.
    fn pcap_get_option_int(options: *mut Options, name: c_int) -> c_int, ERROR => {
        let Some(options) = options.as_mut() else { return ERROR };
        options.number(name).map_or_else(|status| status, |number| *number)
    }
}
