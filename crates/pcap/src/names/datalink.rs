//! Link types by libpcap's own numbers (`DLT_`, `pcap/dlt.h`), names and descriptions.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::ptr;
use std::sync::LazyLock;

use linerate::base::LinkType;

use super::rest::REST;
use crate::abi::ERROR;
use crate::entry::entry;
use crate::handle::{self, Handle, Inner, Kind};
use crate::pointer;

/// Where Linux's `DLT_` numbers are others than those of savefiles.
const DIFFERENT: &[(c_int, LinkType)] = &[
    (11, LinkType::ATM_RFC1483),
    (12, LinkType::RAW),
    (15, LinkType::SLIP_BSDOS),
    (16, LinkType::PPP_BSDOS),
    (19, LinkType::ATM_CLIP),
];

/// libpcap's number of a link type.
pub(crate) fn dlt(link_type: LinkType) -> c_int {
    let different = DIFFERENT.iter().find(|(_, known)| *known == link_type);
    different.map_or_else(|| link_type.0.into(), |(dlt, _)| *dlt)
}

/// The link type of libpcap's number; one that no savefile can have stands for those out of range.
pub(crate) fn link_type(dlt: c_int) -> LinkType {
    let different = DIFFERENT.iter().find(|(known, _)| *known == dlt);
    let same = || LinkType(u16::try_from(dlt).unwrap_or(u16::MAX));
    different.map_or_else(same, |(_, link_type)| *link_type)
}

struct Name {
    dlt: c_int,
    name: CString,
    description: CString,
}

impl Name {
    fn new(link_type: LinkType, name: &str, description: &str) -> Option<Self> {
        let (name, description) = (CString::new(name).ok()?, CString::new(description).ok()?);
        Some(Self { dlt: dlt(link_type), name, description })
    }
}

/// Link types of savefiles that libpcap gives no name.
const NAMELESS: [LinkType; 2] = [LinkType::AX25, LinkType::HDLC];

static NAMES: LazyLock<Vec<Name>> = LazyLock::new(|| {
    let named = LinkType::named().filter(|link_type| !NAMELESS.contains(link_type));
    let known = named.filter_map(|l| Name::new(l, l.name()?, l.description()?));
    known.chain(REST.iter().filter_map(|(l, name, text)| Name::new(*l, name, text))).collect()
});

fn named(dlt: c_int) -> Option<&'static Name> {
    NAMES.iter().find(|known| known.dlt == dlt)
}

/// The number of a name, in any case.
fn number(name: &str) -> Option<c_int> {
    let same = |known: &&Name| known.name.as_bytes().eq_ignore_ascii_case(name.as_bytes());
    NAMES.iter().find(same).map(|known| known.dlt)
}

thread_local! {
    /// What `pcap_datalink_val_to_description_or_dlt` gave last.
    static UNKNOWN: RefCell<CString> = RefCell::default();
}

/// `DLT 123`, for a number without a description; valid until the thread's next one.
fn unknown(dlt: c_int) -> *const c_char {
    let text = CString::new(format!("DLT {dlt}")).unwrap_or_default();
    UNKNOWN.with_borrow_mut(|place| {
        *place = text;
        place.as_ptr()
    })
}

/// The link types that a handle can have.
fn choice(inner: &Inner) -> Vec<c_int> {
    match &inner.kind {
        Kind::Live(live) => live.link_types.iter().map(|link_type| dlt(*link_type)).collect(),
        _ => vec![dlt(inner.link_type)],
    }
}

/// Takes one of the link types that the handle can have.
fn set(inner: &mut Inner, wanted: c_int) -> c_int {
    if wanted == dlt(inner.link_type) {
        return 0;
    }
    if choice(inner).contains(&wanted) {
        return inner.relink(link_type(wanted));
    }
    inner.fail(&match named(wanted) {
        Some(known) => {
            format!(
                "{} is not one of the DLTs supported by this device",
                known.name.to_string_lossy()
            )
        }
        None => format!("DLT {wanted} is not one of the DLTs supported by this device"),
    });
    ERROR
}

entry! {
    /// The number of a link type's name; -1 for one that is unknown.
    fn pcap_datalink_name_to_val(name: *const c_char) -> c_int, ERROR => {
        pointer::text(name).and_then(number).unwrap_or(ERROR)
    }

    /// The name of a link type's number; null for one without.
    fn pcap_datalink_val_to_name(dlt: c_int) -> *const c_char, ptr::null() => {
        named(dlt).map_or(ptr::null(), |known| known.name.as_ptr())
    }

    /// What a link type is; null for one without a name.
    fn pcap_datalink_val_to_description(dlt: c_int) -> *const c_char, ptr::null() => {
        named(dlt).map_or(ptr::null(), |known| known.description.as_ptr())
    }

    /// What a link type is, or its number.
    fn pcap_datalink_val_to_description_or_dlt(dlt: c_int) -> *const c_char, ptr::null() => {
        named(dlt).map_or_else(|| unknown(dlt), |known| known.description.as_ptr())
    }

    /// Gives the link types that the handle can have in memory that `pcap_free_datalinks` frees, and their count.
    fn pcap_list_datalinks(handle: *mut Handle, list: *mut *mut c_int) -> c_int, ERROR => {
        handle::active_or(handle, |inner| {
            let choice = choice(inner);
            let memory = pointer::allocate(&choice);
            if memory.is_null() {
                inner.fail("no memory for the list of link types");
                return ERROR;
            }
            pointer::put(list, memory);
            choice.len() as c_int
        })
    }

    /// Frees a list of link types.
    fn pcap_free_datalinks(list: *mut c_int) -> (), () => {
        libc::free(list.cast());
    }

    /// Takes one of the link types that the handle can have.
    fn pcap_set_datalink(handle: *mut Handle, dlt: c_int) -> c_int, ERROR => {
        handle::active_or(handle, |inner| set(inner, dlt))
    }

    /// What a savefile's header says beside the link type: the length of the frame check sequence.
    fn pcap_datalink_ext(handle: *mut Handle) -> c_int, ERROR => {
        handle::active_or(handle, |inner| {
            inner.savefile().map_or(0, |savefile| savefile.header.link_extension.cast_signed())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_there_and_back() {
        for known in NAMES.iter() {
            assert_eq!(dlt(link_type(known.dlt)), known.dlt);
            assert_eq!(number(known.name.to_str().unwrap()), Some(known.dlt));
        }
        assert_eq!((dlt(LinkType::RAW), link_type(12)), (12, LinkType::RAW));
        assert_eq!(link_type(-1), LinkType(u16::MAX));
    }
}
