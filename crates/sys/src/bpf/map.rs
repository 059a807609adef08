use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use linerate_base::{Error, ErrorKind, Result};

use super::{PRIVILEGE, bpf, bpf_descriptor, command, object_name};

/// What kind of map. Values: `enum bpf_map_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MapKind {
    /// One value for each index.
    Array = 2,
    /// One value for each index and CPU, so that CPUs do not wait for each other's counters.
    PerCpuArray = 6,
}

/// A map of 64-bit counters, all 0 at first, that programs add to and user space reads.
#[derive(Debug)]
pub struct Map {
    fd: OwnedFd,
    /// Values of one element.
    copies: usize,
}

/// `BPF_MAP_CREATE`'s part of `union bpf_attr`, as far as it is used.
#[repr(C)]
struct CreateAttributes {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
    inner_map_fd: u32,
    numa_node: u32,
    name: [u8; 16],
}

/// `BPF_MAP_LOOKUP_ELEM`'s part of `union bpf_attr`.
#[repr(C)]
struct ElementAttributes {
    map_fd: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

impl Map {
    /// Makes a map of `entries` counters; `name` is for those who list maps (15 bytes at most,
    /// letters, digits, `_` and `.`).
    ///
    /// # Errors
    /// Without the privilege, or when memory runs out.
    pub fn counters(kind: MapKind, entries: u32, name: &str) -> Result<Self> {
        let failed = |e: io::Error| {
            let error = Error::system(format!("make a map of {entries} counters"), e);
            if error.kind() == ErrorKind::Permission { error.advise(PRIVILEGE) } else { error }
        };
        let copies = match kind {
            MapKind::Array => 1,
            MapKind::PerCpuArray => possible_cpus().map_err(failed)?,
        };
        let mut attributes = CreateAttributes {
            map_type: kind as u32,
            key_size: 4,
            value_size: 8,
            max_entries: entries,
            map_flags: 0,
            inner_map_fd: 0,
            numa_node: 0,
            name: object_name(name),
        };
        // SAFETY: the attributes are those of BPF_MAP_CREATE and hold no address.
        let fd = unsafe { bpf_descriptor(command::MAP_CREATE, &mut attributes) };
        Ok(Self { fd: fd.map_err(failed)?, copies })
    }

    /// The counter at `index`, summed over the CPUs.
    ///
    /// # Errors
    /// When the map has no such index.
    pub fn sum(&self, index: u32) -> Result<u64> {
        let mut values = vec![0_u64; self.copies];
        let mut attributes = ElementAttributes {
            map_fd: self.fd.as_raw_fd() as u32,
            padding: 0,
            key: (&raw const index) as u64,
            value: values.as_mut_ptr() as u64,
            flags: 0,
        };
        // SAFETY: the attributes are those of BPF_MAP_LOOKUP_ELEM; the key has four bytes, the
        // values have eight for each copy that the kernel writes, as the map was made.
        let read = unsafe { bpf(command::MAP_LOOKUP_ELEM, &mut attributes) };
        read.map_err(|e| Error::system(format!("read the counter {index} of a map"), e))?;
        Ok(values.iter().fold(0, |sum, value| sum.wrapping_add(*value)))
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// How many CPUs this machine could ever have: per-CPU maps have a value for each of them.
fn possible_cpus() -> io::Result<usize> {
    let list = fs::read_to_string("/sys/devices/system/cpu/possible")?;
    count_cpus(list.trim()).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, list))
}

/// The length of a list such as `0-3,8`.
fn count_cpus(list: &str) -> Option<usize> {
    let length = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    list.split(',').map(length).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::effective_user;

    #[test]
    fn lists_of_cpus_are_counted() {
        assert_eq!(count_cpus("0"), Some(1));
        assert_eq!(count_cpus("0-3,8,10-11"), Some(7));
        assert_eq!((count_cpus(""), count_cpus("3-1"), count_cpus("x")), (None, None, None));
    }

    #[test]
    fn counters_start_at_zero() {
        for kind in [MapKind::Array, MapKind::PerCpuArray] {
            match Map::counters(kind, 2, "test") {
                Ok(map) => {
                    assert_eq!((map.sum(0).ok(), map.sum(1).ok()), (Some(0), Some(0)));
                    assert_eq!(map.sum(2).expect_err("no such index").kind(), ErrorKind::NotFound);
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Permission, "{error}");
                    assert!(effective_user() != 0, "{error}");
                }
            }
        }
    }
}
