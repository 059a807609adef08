//! Protocols by name.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

use crate::abi::ERROR;
use crate::entry::entry;
use crate::pointer;

/// `struct eproto`: a protocol's name and its number behind an Ethernet header.
#[repr(C)]
pub struct EtherProtocol {
    name: *const c_char,
    number: u16,
}

// SAFETY: names are constants and nobody writes to the table.
unsafe impl Sync for EtherProtocol {}

const fn known(name: &'static CStr, number: u16) -> EtherProtocol {
    EtherProtocol { name: name.as_ptr(), number }
}

/// The protocols that expressions name behind an Ethernet header, and a null name behind the last one.
#[unsafe(no_mangle)]
pub static eproto_db: [EtherProtocol; 13] = [
    known(c"aarp", 0x80f3),
    known(c"arp", 0x0806),
    known(c"atalk", 0x809b),
    known(c"decnet", 0x6003),
    known(c"ip", 0x0800),
    known(c"ip6", 0x86dd),
    known(c"lat", 0x6004),
    known(c"loopback", 0x9000),
    known(c"mopdl", 0x6001),
    known(c"moprc", 0x6002),
    known(c"rarp", 0x8035),
    known(c"sca", 0x6007),
    EtherProtocol { name: ptr::null(), number: 0 },
];

/// The protocols that expressions name behind an 802.2 header (IEEE 802.2, service access points).
const LLC: [(&str, c_int); 4] = [("iso", 0xfe), ("stp", 0x42), ("ipx", 0xe0), ("netbeui", 0xf0)];

/// The number of the IP protocol `name`, as the system has it.
pub(crate) fn ip_protocol(name: &str) -> Option<c_int> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name is a C string; the entry stays valid until the thread's next question.
    unsafe { libc::getprotobyname(name.as_ptr()).as_ref() }.map(|entry| entry.p_proto)
}

fn ether_protocol(name: &CStr) -> Option<c_int> {
    let names = eproto_db.iter().filter(|known| !known.name.is_null());
    // SAFETY: all but the last name are C strings.
    let found = names.into_iter().find(|known| unsafe { CStr::from_ptr(known.name) } == name);
    found.map(|known| known.number.into())
}

entry! {
    /// The number of an IP protocol; -1 for one that the system does not know.
    fn pcap_nametoproto(name: *const c_char) -> c_int, ERROR => {
        pointer::text(name).and_then(ip_protocol).unwrap_or(ERROR)
    }

    /// The number of a protocol behind an Ethernet header; -1 for one that is unknown.
    fn pcap_nametoeproto(name: *const c_char) -> c_int, ERROR => {
        let name = pointer::text(name).and_then(|name| CString::new(name).ok());
        name.and_then(|name| ether_protocol(&name)).unwrap_or(ERROR)
    }

    /// The number of a protocol behind an 802.2 header; -1 for one that is unknown.
    fn pcap_nametollc(name: *const c_char) -> c_int, ERROR => {
        let name = pointer::text(name);
        LLC.iter().find(|(known, _)| Some(*known) == name).map_or(ERROR, |(_, number)| *number)
    }
}
