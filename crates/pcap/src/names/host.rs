//! Hosts and networks by name, as the system knows them.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr;

use crate::entry::entry;
use crate::pointer;

/// Answers of `getaddrinfo`, freed on drop.
struct Answers(*mut libc::addrinfo);

impl Answers {
    fn ask(name: &str) -> Option<Self> {
        let name = CString::new(name).ok()?;
        let hints = libc::addrinfo {
            ai_flags: 0,
            ai_family: libc::AF_UNSPEC,
            ai_socktype: libc::SOCK_STREAM,
            ai_protocol: libc::IPPROTO_TCP,
            ai_addrlen: 0,
            ai_addr: ptr::null_mut(),
            ai_canonname: ptr::null_mut(),
            ai_next: ptr::null_mut(),
        };
        let mut first = ptr::null_mut();
        // SAFETY: name is a C string, hints are complete, and the answer goes to a place of ours.
        let status = unsafe {
            libc::getaddrinfo(name.as_ptr(), ptr::null(), &raw const hints, &raw mut first)
        };
        (status == 0).then_some(Self(first))
    }

    fn addresses(&self) -> Vec<IpAddr> {
        let (mut found, mut at) = (Vec::new(), self.0);
        // SAFETY: the list ends in null; an entry's address is of its family.
        while let Some(entry) = unsafe { at.as_ref() } {
            // SAFETY: as above.
            found.extend(unsafe { address(entry.ai_family, entry.ai_addr) });
            at = entry.ai_next;
        }
        found
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        // SAFETY: it came from getaddrinfo and nobody uses it after this.
        unsafe { libc::freeaddrinfo(self.0) }
    }
}

/// # Safety
/// `at` is an address of this family.
unsafe fn address(family: c_int, at: *const libc::sockaddr) -> Option<IpAddr> {
    match family {
        // SAFETY: the address is of this family.
        libc::AF_INET => Some(unsafe {
            let address = at.cast::<libc::sockaddr_in>().read_unaligned();
            Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)).into()
        }),
        // SAFETY: the address is of this family.
        libc::AF_INET6 => Some(unsafe {
            let address = at.cast::<libc::sockaddr_in6>().read_unaligned();
            Ipv6Addr::from(address.sin6_addr.s6_addr).into()
        }),
        _ => None,
    }
}

/// The addresses of the host `name`.
pub(crate) fn addresses(name: &str) -> Vec<IpAddr> {
    Answers::ask(name).map(|answers| answers.addresses()).unwrap_or_default()
}

/// `struct netent` of `netdb.h`, which the libc crate does not have.
#[repr(C)]
struct Network {
    name: *mut c_char,
    aliases: *mut *mut c_char,
    family: c_int,
    number: u32,
}

unsafe extern "C" {
    fn getnetbyname(name: *const c_char) -> *mut Network;
}

/// The number of the network `name`, without its trailing zero octets where the system has it so.
pub(crate) fn network(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name is a C string; the entry stays valid until the next question.
    unsafe { getnetbyname(name.as_ptr()).as_ref() }.map(|network| network.number)
}

/// A list of IPv4 addresses as `pcap_nametoaddr` gives it: pointers to them, the last one null.
#[derive(Default)]
struct List {
    addresses: Vec<u32>,
    pointers: Vec<*mut u32>,
}

impl List {
    fn fill(&mut self, addresses: &[IpAddr]) -> *mut *mut u32 {
        let v4 = addresses.iter().filter_map(|address| match address {
            IpAddr::V4(address) => Some((*address).into()),
            IpAddr::V6(_) => None,
        });
        self.addresses = v4.collect();
        if self.addresses.is_empty() {
            return ptr::null_mut();
        }
        self.pointers = self.addresses.iter_mut().map(ptr::from_mut).collect();
        self.pointers.push(ptr::null_mut());
        self.pointers.as_mut_ptr()
    }
}

thread_local! {
    static LIST: RefCell<List> = RefCell::default();
}

entry! {
    /// The IPv4 addresses of a host, in host order, the last pointer null; null for an unknown name. The list is
    /// valid until the thread's next question.
    fn pcap_nametoaddr(name: *const c_char) -> *mut *mut u32, ptr::null_mut() => {
        let found = pointer::text(name).map(addresses).unwrap_or_default();
        LIST.with_borrow_mut(|list| list.fill(&found))
    }

    /// The addresses of a host, for the caller to give to `freeaddrinfo`; null for an unknown name.
    fn pcap_nametoaddrinfo(name: *const c_char) -> *mut libc::addrinfo, ptr::null_mut() => {
        let found = pointer::text(name).and_then(Answers::ask);
        found.map_or(ptr::null_mut(), |answers| std::mem::ManuallyDrop::new(answers).0)
    }

    /// The number of a network, in host order; 0 for an unknown name.
    fn pcap_nametonetaddr(name: *const c_char) -> u32, 0 => {
        pointer::text(name).and_then(network).unwrap_or(0)
    }
}
