use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};

use linerate_base::{Error, Result};

use super::{Map, MapSpec};
use crate::mmap::SharedMemory;

/// An array map of one element that is mapped into the process: 64-bit words that programs read while it writes them.
#[derive(Debug)]
pub struct SharedWords {
    map: Map,
    memory: SharedMemory,
}

impl SharedWords {
    /// Zeroed words in so many bytes, which are a multiple of 8. `name` is for those who list maps.
    ///
    /// # Errors
    /// Without CAP_BPF, and when there is no memory.
    pub fn new(name: &str, bytes: u32) -> Result<Self> {
        let map = Map::new(&MapSpec::array(name, bytes, 1).mappable())?;
        let failed = |e: io::Error| Error::system(format!("map the BPF map {name}"), e);
        let memory = SharedMemory::map(map.as_fd(), bytes as usize).map_err(failed)?;
        Ok(Self { map, memory })
    }

    /// The map, for programs.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// The word at an offset in bytes.
    ///
    /// # Panics
    /// Where none begins.
    pub fn read(&self, offset: usize) -> u64 {
        self.word(offset).load(Ordering::Acquire)
    }

    /// Sets the word at an offset: programs that see it see what was written before, too.
    ///
    /// # Panics
    /// Where none begins.
    pub fn write(&self, offset: usize, word: u64) {
        self.word(offset).store(word, Ordering::Release);
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset < self.memory.len());
        // SAFETY: an aligned word in the mapping, which lives as long as `self`; programs and the process access words as
        // a whole.
        unsafe { AtomicU64::from_ptr(self.memory.as_ptr().add(offset).cast()) }
    }
}

/// Waits until no program runs that ran when this was called: programs at hooks run in RCU's read sections, of which
/// `MEMBARRIER_CMD_GLOBAL` waits for the end (`kernel/sched/membarrier.c`, Linux 6.18). Some ten milliseconds.
///
/// # Errors
/// Where the system does not offer that, as with `nohz_full`.
pub fn settle() -> io::Result<()> {
    const MEMBARRIER_CMD_GLOBAL: libc::c_int = 1;
    // SAFETY: the call takes three numbers and no address.
    let answer = unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
