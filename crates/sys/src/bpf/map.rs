use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use linerate_base::{Error, ErrorKind, Result};

use super::map_spec::{MapKind, MapSpec};
use super::{bpf, bpf_descriptor, command, object_name};

/// A map: what programs and user space share.
///
/// Keys and values are bytes in the layout that the map was made with. Of a per-CPU map a value
/// is that of every possible CPU, one after the other, each at a multiple of 8 bytes.
#[derive(Debug)]
pub struct Map {
    fd: OwnedFd,
    name: String,
    key_size: usize,
    /// Bytes of the values of one element.
    value_size: usize,
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

/// `BPF_MAP_*_ELEM`'s part of `union bpf_attr`, and `BPF_MAP_GET_NEXT_KEY`'s, whose value is a key.
#[repr(C)]
struct ElementAttributes {
    map_fd: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

impl Map {
    /// Makes a map.
    ///
    /// # Errors
    /// Without the capabilities CAP_BPF and, for sockets, CAP_NET_ADMIN; when memory runs out;
    /// when the kernel does not take these sizes.
    pub fn new(spec: &MapSpec<'_>) -> Result<Self> {
        let failed = |e: io::Error| spec.refused(Error::system(spec.asked(), e));
        let per_cpu = spec.kind == MapKind::PerCpuArray;
        let copies = per_cpu.then(possible_cpus).transpose().map_err(failed)?;
        let value_size = spec.element_size(copies)?;
        let mut attributes = CreateAttributes {
            map_type: spec.kind as u32,
            key_size: spec.key_size,
            value_size: spec.value_size,
            max_entries: spec.entries,
            map_flags: spec.flags,
            inner_map_fd: 0,
            numa_node: spec.numa_node,
            name: object_name(spec.name),
        };
        // SAFETY: the attributes are those of BPF_MAP_CREATE and hold no address.
        let fd = unsafe { bpf_descriptor(command::MAP_CREATE, &mut attributes) };
        let (name, key_size) = (spec.name.to_owned(), spec.key_size as usize);
        Ok(Self { fd: fd.map_err(failed)?, name, key_size, value_size })
    }

    /// Makes a map of `entries` 64-bit counters, all 0 at first, that programs add to.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn counters(kind: MapKind, entries: u32, name: &str) -> Result<Self> {
        Self::new(&MapSpec { kind, ..MapSpec::array(name, 8, entries) })
    }

    /// The 64-bit counter at `index`, summed over the CPUs.
    ///
    /// # Errors
    /// When the map has no such index, or is not one of counters.
    pub fn sum(&self, index: u32) -> Result<u64> {
        let missing = || self.error(ErrorKind::NotFound, "read", "there is no such counter");
        let values = self.lookup(&index.to_ne_bytes())?.ok_or_else(missing)?;
        let (counters, _) = values.as_chunks();
        Ok(counters.iter().fold(0, |sum, value| u64::from_ne_bytes(*value).wrapping_add(sum)))
    }

    /// The value of `key`, `None` when the map has no such key.
    ///
    /// # Errors
    /// When the key has another size than the map's, or the map's values cannot be read.
    pub fn lookup(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.check("read", "key", key, self.key_size)?;
        let mut value = vec![0; self.value_size];
        let address = value.as_mut_ptr() as u64;
        // SAFETY: the key has the map's size, and the value room for all that the kernel writes.
        let read = unsafe { self.element(command::MAP_LOOKUP_ELEM, key, address) };
        self.found("read", read).map(|found| found.then_some(value))
    }

    /// Sets the value of `key`, which may be new.
    ///
    /// # Errors
    /// When key or value have another size than the map's; when the map is full; when the index of
    /// an array is past its end.
    pub fn insert(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check("write", "key", key, self.key_size)?;
        self.check("write", "value", value, self.value_size)?;
        // SAFETY: key and value have the map's sizes; flags 0 is `BPF_ANY`.
        let written = unsafe { self.element(command::MAP_UPDATE_ELEM, key, value.as_ptr() as u64) };
        written.map_err(|e| match e.raw_os_error() {
            Some(libc::E2BIG | libc::ENOSPC) => {
                self.system("write", e).as_kind(ErrorKind::Exhausted).advise("the map is full")
            }
            _ => self.system("write", e),
        })
    }

    /// Removes `key`; false when it was not there.
    ///
    /// # Errors
    /// When the key has another size than the map's, or the map's keys are for ever, as an array's.
    pub fn remove(&self, key: &[u8]) -> Result<bool> {
        self.check("remove from", "key", key, self.key_size)?;
        // SAFETY: the key has the map's size; there is no value.
        let removed = unsafe { self.element(command::MAP_DELETE_ELEM, key, 0) };
        self.found("remove from", removed)
    }

    /// The key after `key`, or the first one; `None` after the last. A key that is not in the map
    /// is before the first.
    ///
    /// # Errors
    /// When the key has another size than the map's, or the map has no keys to list.
    pub fn next_key(&self, key: Option<&[u8]>) -> Result<Option<Vec<u8>>> {
        if let Some(key) = key {
            self.check("list", "key", key, self.key_size)?;
        }
        let mut next = vec![0; self.key_size];
        let mut attributes = ElementAttributes {
            key: key.map_or(0, |key| key.as_ptr() as u64),
            ..self.attributes(next.as_mut_ptr() as u64)
        };
        // SAFETY: both keys have the map's size; without a key the kernel gives the first.
        let listed = unsafe { bpf(command::MAP_GET_NEXT_KEY, &mut attributes) };
        self.found("list", listed.map(drop)).map(|found| found.then_some(next))
    }

    /// # Safety
    /// The key has the map's size; `value` is an address that is valid for what the command does.
    unsafe fn element(&self, command: libc::c_int, key: &[u8], value: u64) -> io::Result<()> {
        let key = key.as_ptr() as u64;
        let mut attributes = ElementAttributes { key, ..self.attributes(value) };
        // SAFETY: the attributes are those of the command; the addresses are the caller's promise.
        unsafe { bpf(command, &mut attributes).map(drop) }
    }

    fn attributes(&self, value: u64) -> ElementAttributes {
        let map_fd = self.fd.as_raw_fd() as u32;
        ElementAttributes { map_fd, padding: 0, key: 0, value, flags: 0 }
    }

    fn found(&self, what: &str, answer: io::Result<()>) -> Result<bool> {
        match answer {
            Ok(()) => Ok(true),
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => Ok(false),
            Err(e) => Err(self.system(what, e)),
        }
    }

    fn check(&self, what: &str, part: &str, bytes: &[u8], size: usize) -> Result<()> {
        if bytes.len() == size {
            return Ok(());
        }
        let answered = format!("a {part} has {size} bytes, not {}", bytes.len());
        Err(self.error(ErrorKind::Invalid, what, &answered))
    }

    fn error(&self, kind: ErrorKind, what: &str, answered: &str) -> Error {
        Error::new(kind, format!("{what} the BPF map {}", self.name), answered)
    }

    fn system(&self, what: &str, error: io::Error) -> Error {
        Error::system(format!("{what} the BPF map {}", self.name), error)
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

    /// The map, or `None` where the test may not make it.
    fn make(spec: &MapSpec<'_>) -> Option<Map> {
        match Map::new(spec) {
            Ok(map) => Some(map),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Permission, "{error}");
                assert!(effective_user() != 0, "{error}");
                None
            }
        }
    }

    #[test]
    fn lists_of_cpus_are_counted() {
        assert_eq!(count_cpus("0"), Some(1));
        assert_eq!(count_cpus("0-3,8,10-11"), Some(7));
        assert_eq!((count_cpus(""), count_cpus("3-1"), count_cpus("x")), (None, None, None));
    }

    #[test]
    fn counters_start_at_zero() {
        for spec in [MapSpec::array("test", 8, 2), MapSpec::per_cpu_array("test", 8, 2)] {
            let Some(map) = make(&spec) else { return };
            assert_eq!((map.sum(0).ok(), map.sum(1).ok()), (Some(0), Some(0)));
            assert_eq!(map.sum(2).expect_err("no such index").kind(), ErrorKind::NotFound);
        }
    }

    #[test]
    fn a_hash_keeps_what_it_is_given() {
        let Some(map) = make(&MapSpec::hash("test", 2, 3, 2)) else { return };
        assert_eq!(map.next_key(None).unwrap(), None);
        map.insert(b"ab", b"one").unwrap();
        map.insert(b"ab", b"two").unwrap();
        assert_eq!(map.lookup(b"ab").unwrap().as_deref(), Some(&b"two"[..]));
        assert_eq!(map.next_key(None).unwrap().as_deref(), Some(&b"ab"[..]));
        assert_eq!(map.next_key(Some(b"ab")).unwrap(), None);
        map.insert(b"cd", b"one").unwrap();
        let full = map.insert(b"ef", b"one").unwrap_err();
        assert_eq!(full.kind(), ErrorKind::Exhausted, "{full}");
        assert_eq!((map.remove(b"ab").unwrap(), map.remove(b"ab").unwrap()), (true, false));
        assert_eq!(map.lookup(b"ab").unwrap(), None);
    }

    #[test]
    fn wrong_sizes_are_refused_before_the_kernel_reads_them() {
        let Some(map) = make(&MapSpec::hash("test", 2, 3, 2)) else { return };
        for error in [
            map.lookup(b"a").unwrap_err(),
            map.insert(b"ab", b"four").unwrap_err(),
            map.insert(b"abc", b"one").unwrap_err(),
            map.remove(b"").unwrap_err(),
            map.next_key(Some(b"a")).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        }
    }

    #[test]
    fn a_trie_finds_the_longest_prefix() {
        let Some(map) = make(&MapSpec::lpm_trie("test", 4, 1, 8)) else { return };
        let key = |bits: u32, address: [u8; 4]| [bits.to_ne_bytes(), address].concat();
        map.insert(&key(8, [10, 0, 0, 0]), &[1]).unwrap();
        map.insert(&key(24, [10, 1, 2, 0]), &[2]).unwrap();
        assert_eq!(map.lookup(&key(32, [10, 9, 9, 9])).unwrap(), Some(vec![1]));
        assert_eq!(map.lookup(&key(32, [10, 1, 2, 9])).unwrap(), Some(vec![2]));
        assert_eq!(map.lookup(&key(32, [11, 0, 0, 1])).unwrap(), None);
    }

    #[test]
    fn every_kind_can_be_made() {
        for spec in [
            MapSpec::array("test", 4096, 2).mappable(),
            MapSpec::array("test", 4096, 2).mappable().on_node(0),
            MapSpec::ring_buffer("test", 4096),
            MapSpec::xsk_map("test", 4),
        ] {
            if make(&spec).is_none() {
                return;
            }
        }
    }
}
