//! The addresses of interfaces: copies of what getifaddrs(3) tells, hardware addresses among them.

use std::ffi::{CStr, c_int};
use std::{io, iter, ptr, slice};

use crate::abi::PcapAddress;
use crate::pointer;

/// What getifaddrs(3) tells of the thread's network namespace.
pub(super) struct All(*mut libc::ifaddrs);

impl All {
    pub(super) fn ask() -> Result<Self, String> {
        let mut first = ptr::null_mut();
        // SAFETY: the list's beginning goes to that place.
        match unsafe { libc::getifaddrs(&raw mut first) } {
            0 => Ok(Self(first)),
            _ => Err(format!("ask for addresses: {}", io::Error::last_os_error())),
        }
    }

    fn iter(&self) -> impl Iterator<Item = &libc::ifaddrs> {
        // SAFETY: a pointer of the list is null or leads to an entry, which stays as long as the list.
        let entry = |at: *mut libc::ifaddrs| unsafe { at.as_ref() };
        iter::successors(entry(self.0), move |one| entry(one.ifa_next))
    }

    /// The addresses of an interface, one leading to the next; [`free`] frees them.
    pub(super) fn of(&self, interface: &str) -> *mut PcapAddress {
        let own: Vec<_> = self.iter().filter(|entry| is_of(entry, interface)).collect();
        own.into_iter().rev().fold(ptr::null_mut(), |next, entry| copied(entry, next))
    }
}

impl Drop for All {
    fn drop(&mut self) {
        // SAFETY: the list came from getifaddrs, and nobody uses it after this.
        unsafe { libc::freeifaddrs(self.0) }
    }
}

/// Whether it is an address of this interface; an IPv4 address may have a label, such as `eth0:1`.
fn is_of(entry: &libc::ifaddrs, interface: &str) -> bool {
    // SAFETY: an entry's name is a C string.
    let name = unsafe { CStr::from_ptr(entry.ifa_name) }.to_bytes();
    let rest = name.strip_prefix(interface.as_bytes());
    !entry.ifa_addr.is_null() && rest.is_some_and(|rest| rest.is_empty() || rest[0] == b':')
}

fn copied(entry: &libc::ifaddrs, next: *mut PcapAddress) -> *mut PcapAddress {
    let has = |flag: c_int| entry.ifa_flags & flag.cast_unsigned() != 0;
    let other = |is_there: bool| if is_there { entry.ifa_ifu } else { ptr::null_mut() };
    // SAFETY: the entry's addresses are null or there; the last one is what the flags say.
    unsafe {
        Box::into_raw(Box::new(PcapAddress {
            next,
            addr: copy(entry.ifa_addr),
            netmask: copy(entry.ifa_netmask),
            broadaddr: copy(other(has(libc::IFF_BROADCAST))),
            dstaddr: copy(other(has(libc::IFF_POINTOPOINT))),
        }))
    }
}

/// A copy of an address in memory from `malloc`; null for null.
///
/// # Safety
/// It is null, or as many bytes are there as addresses of its family have.
unsafe fn copy(address: *const libc::sockaddr) -> *mut libc::sockaddr {
    // SAFETY: the contract is the same.
    let Some(first) = (unsafe { address.as_ref() }) else { return ptr::null_mut() };
    let size = match c_int::from(first.sa_family) {
        libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
        libc::AF_PACKET => size_of::<libc::sockaddr_ll>(),
        _ => size_of::<libc::sockaddr>(),
    };
    // SAFETY: so many bytes are there.
    pointer::allocate(unsafe { slice::from_raw_parts(address.cast::<u8>(), size) }).cast()
}

/// Frees addresses of [`All::of`].
///
/// # Safety
/// It is null or came from there, and nobody uses it after this.
pub(super) unsafe fn free(mut at: *mut PcapAddress) {
    while !at.is_null() {
        // SAFETY: an entry was made so above, its addresses by malloc.
        unsafe {
            let entry = Box::from_raw(at);
            for address in [entry.addr, entry.netmask, entry.broadaddr, entry.dstaddr] {
                libc::free(address.cast());
            }
            at = entry.next;
        }
    }
}
