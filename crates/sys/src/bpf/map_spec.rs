use linerate_base::{Error, Result};

use crate::capability::{self, Capability};

/// What kind of map. Values: `enum bpf_map_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MapKind {
    /// One value for each key.
    Hash = 1,
    /// One value for each index.
    Array = 2,
    /// One value for each index and CPU, so that CPUs do not wait for each other's counters.
    PerCpuArray = 6,
    /// One value for each prefix; the longest that fits is found. A key is a length in bits (u32)
    /// and then the bytes of the address (`struct bpf_lpm_trie_key_u8`).
    LpmTrie = 11,
    /// Interfaces, by index in the map.
    DevMap = 14,
    /// AF_XDP sockets, by index.
    XskMap = 17,
    /// A queue of records from programs to user space.
    RingBuffer = 27,
}

/// A map that is to be made: one of the constructors, then what else it should have.
#[derive(Clone, Copy, Debug)]
pub struct MapSpec<'a> {
    pub(super) kind: MapKind,
    pub(super) name: &'a str,
    pub(super) key_size: u32,
    pub(super) value_size: u32,
    pub(super) entries: u32,
    pub(super) flags: u32,
    pub(super) numa_node: u32,
}

/// Flags of `BPF_MAP_CREATE`.
const NO_PREALLOC: u32 = 1 << 0;
const NUMA_NODE: u32 = 1 << 2;
const MMAPABLE: u32 = 1 << 10;

/// A name is for those who list maps: 15 bytes at most, letters, digits, `_` and `.`.
impl<'a> MapSpec<'a> {
    fn new(kind: MapKind, name: &'a str, key_size: u32, value_size: u32, entries: u32) -> Self {
        Self { kind, name, key_size, value_size, entries, flags: 0, numa_node: 0 }
    }

    /// `entries` values of `value_size` bytes, all zero at first, found by a u32 index.
    pub fn array(name: &'a str, value_size: u32, entries: u32) -> Self {
        Self::new(MapKind::Array, name, 4, value_size, entries)
    }

    /// As [`array`](Self::array), with a value of its own for each CPU.
    pub fn per_cpu_array(name: &'a str, value_size: u32, entries: u32) -> Self {
        Self::new(MapKind::PerCpuArray, name, 4, value_size, entries)
    }

    /// Room for `entries` keys and their values; sizes in bytes. Memory is taken key by key.
    pub fn hash(name: &'a str, key_size: u32, value_size: u32, entries: u32) -> Self {
        let spec = Self::new(MapKind::Hash, name, key_size, value_size, entries);
        Self { flags: NO_PREALLOC, ..spec }
    }

    /// All memory is taken when the map is made, so that programs can add keys anywhere, in interrupts as well.
    #[must_use]
    pub fn preallocated(self) -> Self {
        Self { flags: self.flags & !NO_PREALLOC, ..self }
    }

    /// Room for `entries` prefixes of addresses of `address_size` bytes, and their values.
    pub fn lpm_trie(name: &'a str, address_size: u32, value_size: u32, entries: u32) -> Self {
        let key_size = address_size.saturating_add(4);
        let spec = Self::new(MapKind::LpmTrie, name, key_size, value_size, entries);
        Self { flags: NO_PREALLOC, ..spec }
    }

    /// A queue of `size` bytes: a power of two, and whole pages.
    pub fn ring_buffer(name: &'a str, size: u32) -> Self {
        Self::new(MapKind::RingBuffer, name, 0, 0, size)
    }

    /// Room for `entries` interfaces, found by a u32 index and given by their own index in the calling
    /// thread's namespace (u32).
    pub fn device_map(name: &'a str, entries: u32) -> Self {
        Self::new(MapKind::DevMap, name, 4, 4, entries)
    }

    /// Room for `entries` AF_XDP sockets, found by a u32 index and given as descriptors.
    pub fn xsk_map(name: &'a str, entries: u32) -> Self {
        Self::new(MapKind::XskMap, name, 4, 4, entries)
    }

    /// Its values can be mapped into the process: an array's only. They lie one after the other,
    /// each at a multiple of 8 bytes, and begin at a page.
    #[must_use]
    pub fn mappable(mut self) -> Self {
        self.flags |= MMAPABLE;
        self
    }

    /// Its memory comes from this NUMA node.
    #[must_use]
    pub fn on_node(mut self, node: u32) -> Self {
        self.flags |= NUMA_NODE;
        self.numa_node = node;
        self
    }

    pub(super) fn asked(&self) -> String {
        format!("make the BPF map {} ({:?}, {} entries)", self.name, self.kind, self.entries)
    }

    pub(super) fn refused(&self, error: Error) -> Error {
        match error.raw_os_error() {
            Some(libc::ENOMEM) => error.advise("ask for a smaller buffer, or free some memory"),
            _ => capability::explain(error, self.needed()),
        }
    }

    /// `map_create` in `kernel/bpf/syscall.c`, Linux 6.18.
    fn needed(&self) -> &'static [Capability] {
        match self.kind {
            MapKind::DevMap | MapKind::XskMap => &[Capability::Bpf, Capability::NetAdmin],
            _ => &[Capability::Bpf],
        }
    }

    /// Bytes that the kernel reads and writes for one element, of which there are `copies`.
    pub(super) fn element_size(&self, copies: Option<usize>) -> Result<usize> {
        let size = self.value_size as usize;
        let all = copies.map_or(Some(size), |copies| size.next_multiple_of(8).checked_mul(copies));
        all.ok_or_else(|| {
            Error::new(linerate_base::ErrorKind::Invalid, self.asked(), "its values are too large")
        })
    }
}
