//! Hardware addresses, and hosts by them (`/etc/ethers`).

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char};
use std::{fs, ptr};

use crate::entry::entry;
use crate::pointer;

const FILE: &str = "/etc/ethers";

/// `struct pcap_etherent`: a hardware address and whose it is.
#[repr(C)]
pub struct Entry {
    /// The address.
    pub addr: [u8; 6],
    /// Whose it is.
    pub name: [c_char; 122],
}

const _: () = assert!(size_of::<Entry>() == 128);

/// An address of six numbers to base 16, between colons, dots or hyphens.
fn address(text: &str) -> Option<[u8; 6]> {
    let digits: String = match text.contains([':', '.', '-']) {
        true => text.split([':', '.', '-']).map(padded).collect::<Option<_>>()?,
        false => text.into(),
    };
    let number = u64::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 12)?;
    number.to_be_bytes()[2..].try_into().ok()
}

/// A number of one digit with the zero that was left out.
fn padded(part: &str) -> Option<String> {
    match part.len() {
        1 => Some(format!("0{part}")),
        2 | 4 => Some(part.into()),
        _ => None,
    }
}

/// What a line of `/etc/ethers` says.
fn line(line: &str) -> Option<([u8; 6], &str)> {
    let mut words = line.split('#').next()?.split_whitespace();
    Some((address(words.next()?)?, words.next()?))
}

/// The hardware address of the host `name`.
pub(crate) fn of_host(name: &str) -> Option<[u8; 6]> {
    let text = fs::read_to_string(FILE).ok()?;
    text.lines().filter_map(line).find(|(_, known)| *known == name).map(|(address, _)| address)
}

impl Entry {
    fn new(address: [u8; 6], host: &str) -> Self {
        let mut name = [0; 122];
        let length = host.len().min(name.len() - 1);
        for (place, byte) in name.iter_mut().zip(&host.as_bytes()[..length]) {
            *place = *byte as c_char;
        }
        Self { addr: address, name }
    }
}

thread_local! {
    /// What `pcap_next_etherent` gave last.
    static ENTRY: UnsafeCell<Entry> = const { UnsafeCell::new(Entry { addr: [0; 6], name: [0; 122] }) };
}

/// The next entry of an open file; null at its end.
///
/// # Safety
/// `file` is an open stream.
unsafe fn next(file: *mut libc::FILE) -> *mut Entry {
    let mut buffer = [0; 1024];
    loop {
        // SAFETY: the stream is open and the buffer has this size.
        let read = unsafe { libc::fgets(buffer.as_mut_ptr(), buffer.len() as i32, file) };
        if read.is_null() {
            return ptr::null_mut();
        }
        // SAFETY: fgets has ended the line with NUL.
        let text = unsafe { CStr::from_ptr(buffer.as_ptr()) }.to_string_lossy();
        let Some((address, name)) = line(&text) else { continue };
        return ENTRY.with(|place| {
            // SAFETY: the caller has given up the last entry by asking for this one.
            unsafe { *place.get() = Entry::new(address, name) };
            place.get()
        });
    }
}

entry! {
    /// A hardware address, in memory for the caller to `free`; null for what is none.
    fn pcap_ether_aton(text: *const c_char) -> *mut u8, ptr::null_mut() => {
        let found = pointer::text(text).and_then(address);
        found.map_or(ptr::null_mut(), |address| pointer::allocate(&address))
    }

    /// The hardware address of a host, in memory for the caller to `free`; null for an unknown one.
    fn pcap_ether_hostton(name: *const c_char) -> *mut u8, ptr::null_mut() => {
        let found = pointer::text(name).and_then(of_host);
        found.map_or(ptr::null_mut(), |address| pointer::allocate(&address))
    }

    /// The next entry of a file such as `/etc/ethers`; null at its end. It is valid until the thread's next one.
    fn pcap_next_etherent(file: *mut libc::FILE) -> *mut Entry, ptr::null_mut() => {
        if file.is_null() { ptr::null_mut() } else { next(file) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_each_sign_between() {
        let expected = Some([2, 0, 0, 0xab, 0, 0x10]);
        for text in ["2:0:0:ab:0:10", "02-00-00-AB-00-10", "0200.00ab.0010", "020000ab0010"] {
            assert_eq!(address(text), expected, "{text}");
        }
        for text in ["", "2:0:0:0:0", "2:0:0:0:0:0:0", "x:0:0:0:0:0", "2::0:0:0:0"] {
            assert_eq!(address(text), None, "{text}");
        }
    }

    #[test]
    fn lines_have_comments() {
        assert_eq!(
            line("02:00:00:00:00:01 gateway # the way out"),
            Some(([2, 0, 0, 0, 0, 1], "gateway"))
        );
        assert_eq!((line("# none"), line("02:00:00:00:00:01")), (None, None));
    }
}
