//! What can be captured on.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::net::{IpAddr, Ipv4Addr};
use std::ptr;

use linerate::capture::{self, ANY, Capturable};
use linerate::sys::interface::Interface;

use super::addresses::{self, All};
use crate::abi::{
    ERROR, IF_CONNECTED, IF_DISCONNECTED, IF_LOOPBACK, IF_NO_CONNECTION, IF_RUNNING, IF_UP,
    PcapInterface,
};
use crate::entry::entry;
use crate::{init, pointer};

fn flags(interface: Option<&Interface>) -> u32 {
    let Some(interface) = interface else { return IF_UP | IF_RUNNING | IF_NO_CONNECTION };
    let connection = match (interface.is_loopback, interface.is_running) {
        (true, _) => IF_LOOPBACK | IF_NO_CONNECTION,
        (false, true) => IF_CONNECTED,
        (false, false) => IF_DISCONNECTED,
    };
    let bit = |is_set, bit| if is_set { bit } else { 0 };
    connection | bit(interface.is_up, IF_UP) | bit(interface.is_running, IF_RUNNING)
}

/// What comes first in the list: what runs, then what is up; behind the others all at once, and then the loopback.
fn rank(capturable: &Capturable) -> (bool, bool, bool, bool) {
    let flags = flags(capturable.interface.as_ref());
    let (runs, is_up) = (flags & IF_RUNNING != 0, flags & IF_UP != 0);
    (!runs, !is_up, flags & IF_LOOPBACK != 0, capturable.name == ANY)
}

fn ranked() -> Result<Vec<Capturable>, String> {
    let mut all = capture::interfaces().map_err(|error| error.to_string())?;
    all.sort_by_key(rank);
    Ok(all)
}

/// The mask of an IPv4 network.
fn mask(prefix: u8) -> Ipv4Addr {
    Ipv4Addr::from(u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0))
}

fn c_string(text: &str) -> *mut c_char {
    CString::new(text).unwrap_or_default().into_raw()
}

/// An entry of the list, before the next one.
fn entry_of(
    capturable: &Capturable,
    addresses: &All,
    next: *mut PcapInterface,
) -> *mut PcapInterface {
    let interface = capturable.interface.as_ref();
    let description = match interface {
        None => c_string("Pseudo-device that captures on all interfaces"),
        Some(_) => ptr::null_mut(),
    };
    Box::into_raw(Box::new(PcapInterface {
        next,
        name: c_string(&capturable.name),
        description,
        addresses: interface.map_or(ptr::null_mut(), |interface| addresses.of(&interface.name)),
        flags: flags(interface),
    }))
}

/// Frees a list.
///
/// # Safety
/// It is null or came from `pcap_findalldevs`, and nobody uses it after this.
unsafe fn free(mut at: *mut PcapInterface) {
    while !at.is_null() {
        // SAFETY: an entry and its strings were made so above.
        let entry = unsafe { Box::from_raw(at) };
        for text in [entry.name, entry.description] {
            if !text.is_null() {
                // SAFETY: as above.
                drop(unsafe { CString::from_raw(text) });
            }
        }
        // SAFETY: as above.
        unsafe { addresses::free(entry.addresses) };
        at = entry.next;
    }
}

/// The first IPv4 network of an interface and its mask.
fn network(name: &str) -> Result<(Ipv4Addr, Ipv4Addr), String> {
    if name == ANY {
        return Ok((Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED));
    }
    let all = capture::interfaces().map_err(|error| error.to_string())?;
    let found = all.into_iter().find(|capturable| capturable.name == name);
    let found = found.ok_or_else(|| format!("{name}: No such device exists"))?;
    let addresses = found.interface.map(|interface| interface.addresses).unwrap_or_default();
    let first = addresses.iter().find_map(|address| match address.ip {
        IpAddr::V4(ip) => Some((ip, mask(address.prefix))),
        IpAddr::V6(_) => None,
    });
    first
        .map(|(ip, mask)| (ip & mask, mask))
        .ok_or_else(|| format!("{name}: no IPv4 address assigned"))
}

thread_local! {
    /// What `pcap_lookupdev` gave last.
    static FIRST: RefCell<CString> = RefCell::default();
}

entry! {
    /// Gives a list of what can be captured on, which `pcap_freealldevs` frees: 0, or -1 and the reason.
    fn pcap_findalldevs(list: *mut *mut PcapInterface, error: *mut c_char) -> c_int, ERROR => {
        pointer::put(list, ptr::null_mut());
        match ranked().and_then(|all| Ok((all, All::ask()?))) {
            Ok((all, addresses)) => {
                let entries = all.iter().rev();
                let first = entries.fold(ptr::null_mut(), |next, c| entry_of(c, &addresses, next));
                pointer::put(list, first);
                0
            }
            Err(text) => {
                pointer::say(error, &text);
                ERROR
            }
        }
    }

    /// Frees a list of what can be captured on.
    fn pcap_freealldevs(list: *mut PcapInterface) -> (), () => {
        free(list);
    }

    /// The first interface of the list, valid until the thread's next question; null and the reason where there is none.
    /// Programs that have called `pcap_init` are told to take the list.
    fn pcap_lookupdev(error: *mut c_char) -> *mut c_char, ptr::null_mut() => {
        if init::is_done() {
            pointer::say(
                error,
                "pcap_lookupdev() is deprecated and is not supported in programs calling pcap_init()",
            );
            return ptr::null_mut();
        }
        let first = ranked().map(|all| all.into_iter().find(|c| c.interface.is_some()));
        match first {
            Ok(Some(first)) => FIRST.with_borrow_mut(|place| {
                *place = CString::new(first.name).unwrap_or_default();
                place.as_ptr().cast_mut()
            }),
            Ok(None) => {
                pointer::say(error, "no suitable device found");
                ptr::null_mut()
            }
            Err(text) => {
                pointer::say(error, &text);
                ptr::null_mut()
            }
        }
    }

    /// Gives the number and the mask of an interface's first IPv4 network, in network order: 0, or -1 and the reason.
    fn pcap_lookupnet(
        device: *const c_char,
        number: *mut u32,
        netmask: *mut u32,
        error: *mut c_char
    ) -> c_int, ERROR => {
        match network(pointer::text(device).unwrap_or(ANY)) {
            Ok((network, mask)) => {
                pointer::put(number, u32::from(network).to_be());
                pointer::put(netmask, u32::from(mask).to_be());
                0
            }
            Err(text) => {
                pointer::say(error, &text);
                ERROR
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_comes_first_and_the_loopback_last_of_it() {
        let one = |name: &str, is_up, is_running, is_loopback| Capturable {
            name: name.into(),
            link_types: Vec::new(),
            interface: Some(Interface {
                name: name.into(),
                is_up,
                is_running,
                is_loopback,
                ..Interface::default()
            }),
        };
        let any = Capturable { name: ANY.into(), link_types: Vec::new(), interface: None };
        let down = one("down", false, false, false);
        let mut all = [down, any, one("lo", true, true, true), one("eth0", true, true, false)];
        all.sort_by_key(rank);
        assert_eq!(all.map(|capturable| capturable.name), ["eth0", "any", "lo", "down"]);
    }

    #[test]
    fn masks_are_of_every_length() {
        assert_eq!([mask(0), mask(24), mask(32)].map(u32::from), [0, 0xffff_ff00, u32::MAX]);
    }
}
