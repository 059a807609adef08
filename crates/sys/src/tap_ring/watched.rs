//! The rings of another process, looked at from outside.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};

use linerate_base::{Error, ErrorKind, Result};

use super::{Counters, layout};
use crate::bpf::ForeignMap;
use crate::mmap::SharedMemory;

/// Rings that somebody else fills and empties, mapped for reading.
#[derive(Debug)]
pub struct WatchedRings {
    memory: SharedMemory,
    rings: usize,
    ring_bytes: usize,
}

impl WatchedRings {
    /// Those in the map with this number.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN; [`ErrorKind::Unsupported`] when the map is of another kind than those that
    /// [`TapRings::make`](super::TapRings::make) gives, or has another name than `name`.
    pub fn open(map: u32, name: &str) -> Result<Self> {
        let foreign = ForeignMap::open(map)?;
        let asked = || format!("watch the rings in the BPF map {map}");
        let has_room = foreign.value_size > layout::DATA && foreign.value_size.is_multiple_of(8);
        if !foreign.is_mappable || foreign.name != name || !has_room {
            return Err(Error::new(ErrorKind::Unsupported, asked(), "it holds no rings"));
        }
        let bytes = foreign.value_size * foreign.entries;
        let memory = SharedMemory::map_read_only(foreign.fd.as_fd(), bytes);
        let memory = memory.map_err(|e| Error::system(asked(), e))?;
        Ok(Self { memory, rings: foreign.entries, ring_bytes: foreign.value_size })
    }

    /// What all rings together have counted, strays included.
    pub fn counters(&self) -> Counters {
        let mut sum = Counters {
            captured: 0,
            filtered: self.word(0, layout::STRAY_FILTERED),
            dropped: self.word(0, layout::STRAY_DROPPED),
        };
        for ring in 0..self.rings {
            sum.captured += self.word(ring, layout::CAPTURED);
            sum.filtered += self.word(ring, layout::FILTERED);
            sum.dropped += self.word(ring, layout::DROPPED);
        }
        sum
    }

    /// Bytes that wait in the fullest ring, and those that a ring has room for, about.
    pub fn fill(&self) -> (u64, u64) {
        let waiting = |ring| {
            let head = self.word(ring, layout::HEAD);
            head.saturating_sub(self.word(ring, layout::TAIL))
        };
        let fullest = (0..self.rings).map(waiting).max().unwrap_or(0);
        (fullest, (self.ring_bytes - layout::DATA) as u64)
    }

    /// Number of rings.
    pub fn rings(&self) -> usize {
        self.rings
    }

    fn word(&self, ring: usize, at: usize) -> u64 {
        let offset = ring * self.ring_bytes + at;
        assert!(offset + 8 <= self.memory.len(), "a word of a ring");
        // SAFETY: the word lies within the mapping, as checked, and is aligned, as rings have whole words; it is read
        // atomically, and only read.
        unsafe { AtomicU64::from_ptr(self.memory.as_ptr().add(offset).cast()) }
            .load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_that_is_not_there_has_no_rings() {
        assert!(WatchedRings::open(u32::MAX, "linerate").is_err());
    }
}
