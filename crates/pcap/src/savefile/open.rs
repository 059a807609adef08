//! Savefiles to read.

use std::ffi::{c_char, c_int, c_uint};
use std::ptr;

use libc::FILE;
use linerate::base::Source;
use linerate::capture::MAX_SNAPLEN;
use linerate::savefile::{Reader, Warning};

use super::header::Header;
use super::large::Large;
use super::rules::Rules;
use super::stream::{self, Feed, Owned};
use crate::abi::PRECISION_MICRO;
use crate::entry::entry;
use crate::handle::{self, Handle, Kind, Precision};
use crate::pointer;

/// A savefile that is read.
pub(crate) struct Savefile {
    pub(crate) reader: Reader<Feed>,
    /// What reads in its place.
    pub(crate) large: Option<Large>,
    pub(crate) header: Header,
    pub(crate) rules: Rules,
    /// What to say once the packets at hand are given out.
    pub(crate) fault: Option<String>,
    /// Whether it was said that the file is cut.
    has_told: bool,
    /// Closed after the reader is gone.
    file: Owned,
}

impl Savefile {
    /// The stream that it is read from.
    pub(crate) fn stream(&self) -> *mut FILE {
        self.file.0
    }

    /// The end of the file: an error, once, where it is inside a record.
    pub(crate) fn end(&mut self) -> Result<Option<usize>, String> {
        let warnings = match &self.large {
            Some(large) => large.warnings(),
            None => self.reader.warnings(),
        };
        let cut = warnings.iter().find_map(cut);
        match cut {
            Some(text) if !self.has_told => {
                self.has_told = true;
                Err(text)
            }
            _ => Ok(None),
        }
    }
}

/// Says that a file is cut, if this warning does.
fn cut(warning: &Warning) -> Option<String> {
    match warning {
        Warning::RecordCut { found, expected, .. } => Some(format!(
            "truncated dump file; tried to read {expected} bytes of a record, only got {found}"
        )),
        Warning::CompressedDataCut { .. } => Some(format!("truncated dump file: {warning}")),
        _ => None,
    }
}

/// A handle for the savefile that an open stream has, from its beginning where it has a path.
fn read(file: *mut FILE, path: Option<&str>, precision: c_uint) -> Result<*mut Handle, String> {
    let precision = Precision::from_number(precision)
        .ok_or_else(|| format!("unknown time stamp resolution {precision}"))?;
    let (feed, head) = Feed::new(file);
    let reader = Reader::new(feed).map_err(|error| error.to_string())?;
    let first = reader.interfaces().first().cloned();
    let first = first.ok_or("the file ends before it describes an interface")?;
    let header = Header::read(&head.borrow());
    let snaplen = if first.snaplen == 0 { MAX_SNAPLEN } else { first.snaplen };
    let snapshot = c_int::try_from(snaplen).unwrap_or(c_int::MAX);
    let rules = Rules::new(&first);
    let file = Owned(file);
    // Of other formats the interfaces have to be looked at, those of packets that the filter turns away, too.
    let large = path.filter(|_| Header::is_plain(&head.borrow())).and_then(Large::open);
    let savefile = Savefile { reader, large, header, rules, fault: None, has_told: false, file };
    Ok(Handle::allocate(Kind::File(Box::new(savefile)), first.link_type, snapshot, precision, None))
}

/// A handle for the savefile called `name`; `-` is standard input.
fn open(name: Option<&str>, precision: c_uint) -> Result<*mut Handle, String> {
    let name = name.ok_or("A null pointer was supplied as the file name")?;
    if name == "-" {
        return read(stream::standard_input(), None, precision);
    }
    let file = Owned(stream::open(name, c"rb")?);
    let handle = read(file.0, Some(name), precision)?;
    // The handle closes it.
    std::mem::forget(file);
    Ok(handle)
}

/// Gives the handle, or null and the reason.
///
/// # Safety
/// The buffer is null or has room for an error.
unsafe fn answer(opened: Result<*mut Handle, String>, error: *mut c_char) -> *mut Handle {
    opened.unwrap_or_else(|text| {
        // SAFETY: the contract is the same.
        unsafe { pointer::say(error, &text) };
        ptr::null_mut()
    })
}

entry! {
    /// Opens a savefile, of `-` standard input; null and the reason where that fails.
    fn pcap_open_offline(name: *const c_char, error: *mut c_char) -> *mut Handle, ptr::null_mut() => {
        answer(open(pointer::text(name), PRECISION_MICRO), error)
    }

    /// The same for packets with times of this precision.
    fn pcap_open_offline_with_tstamp_precision(
        name: *const c_char,
        precision: c_uint,
        error: *mut c_char
    ) -> *mut Handle, ptr::null_mut() => {
        answer(open(pointer::text(name), precision), error)
    }

    /// Reads a savefile from an open stream, from where it stands; `pcap_close` will close it. Null and the
    /// reason where that fails; then the stream stays the caller's.
    fn pcap_fopen_offline(file: *mut FILE, error: *mut c_char) -> *mut Handle, ptr::null_mut() => {
        pcap_fopen_offline_with_tstamp_precision(file, PRECISION_MICRO, error)
    }

    /// The same for packets with times of this precision.
    fn pcap_fopen_offline_with_tstamp_precision(
        file: *mut FILE,
        precision: c_uint,
        error: *mut c_char
    ) -> *mut Handle, ptr::null_mut() => {
        let opened = match file.is_null() {
            true => Err("Null FILE * pointer provided to savefile open routine".into()),
            false => read(file, None, precision),
        };
        answer(opened, error)
    }

    /// The stream that a savefile is read from; null for other handles.
    fn pcap_file(handle: *mut Handle) -> *mut FILE, ptr::null_mut() => {
        let inner = handle::inner(handle);
        inner.and_then(|inner| inner.savefile().map(Savefile::stream)).unwrap_or(ptr::null_mut())
    }
}
