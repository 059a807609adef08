//! Ports by name, or by number.

use std::ffi::{CStr, CString, c_char, c_int};

use crate::entry::entry;
use crate::pointer;

/// `PROTO_UNDEF`: over TCP and UDP.
const BOTH: c_int = -1;

/// The port of a service over `protocol` (`tcp`, `udp`), as the system has it.
pub(crate) fn service(name: &str, protocol: &CStr) -> Option<u16> {
    let name = CString::new(name).ok()?;
    // SAFETY: both are C strings; the entry stays valid until the thread's next question.
    let found = unsafe { libc::getservbyname(name.as_ptr(), protocol.as_ptr()).as_ref() };
    found.map(|entry| u16::from_be(entry.s_port as u16))
}

/// The port that `name` means, and over which protocol; of different ports that of TCP.
fn port(name: &str) -> Option<(c_int, c_int)> {
    if let Ok(number) = name.parse::<u16>() {
        return Some((number.into(), BOTH));
    }
    match (service(name, c"tcp"), service(name, c"udp")) {
        (Some(tcp), Some(udp)) if tcp == udp => Some((tcp.into(), BOTH)),
        (Some(tcp), _) => Some((tcp.into(), libc::IPPROTO_TCP)),
        (None, Some(udp)) => Some((udp.into(), libc::IPPROTO_UDP)),
        (None, None) => None,
    }
}

/// The two ports that `first-last` means, and over which protocol.
fn range(name: &str) -> Option<(c_int, c_int, c_int)> {
    let (first, last) = name.split_once('-')?;
    let ((first, by), (last, other)) = (port(first)?, port(last)?);
    Some((first, last, if by == other { by } else { BOTH }))
}

entry! {
    /// Gives the port of a service and its protocol, `PROTO_UNDEF` for both; 0 for an unknown name, else 1.
    fn pcap_nametoport(name: *const c_char, number: *mut c_int, protocol: *mut c_int) -> c_int, 0 => {
        let Some((found, by)) = pointer::text(name).and_then(port) else { return 0 };
        pointer::put(number, found);
        pointer::put(protocol, by);
        1
    }

    /// Gives the two ports of a range and their protocol, `PROTO_UNDEF` for both; 0 for unknown names, else 1.
    fn pcap_nametoportrange(
        name: *const c_char,
        first: *mut c_int,
        last: *mut c_int,
        protocol: *mut c_int
    ) -> c_int, 0 => {
        let Some((from, to, by)) = pointer::text(name).and_then(range) else { return 0 };
        pointer::put(first, from);
        pointer::put(last, to);
        pointer::put(protocol, by);
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_ports_and_two_are_a_range() {
        assert_eq!(port("80"), Some((80, BOTH)));
        assert_eq!(range("80-90"), Some((80, 90, BOTH)));
        assert_eq!((port("65536"), range("80"), range("1-"), range("-")), (None, None, None, None));
    }
}
