//! Memory with machine code that was assembled at run time.
//!
//! Pieces of code lie one behind the other in files without a name (memfd_create(2)), which are mapped to be run and are
//! written to by pwrite(2): so no page is ever mapped to be written, and another thread may run what lies beside. What was
//! written is never written again: a child of fork(2) may still run what its parent has dropped. A file goes with the last
//! piece in it.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::process;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::mmap::SharedMemory;

/// Machine code, which cannot be written to. It goes when this is dropped.
#[derive(Clone, Debug)]
pub struct Code {
    arena: Arc<Arena>,
    /// Where it begins there.
    at: usize,
}

/// A mapped file with the code of many.
#[derive(Debug)]
struct Arena(SharedMemory);

// SAFETY: the mapping is valid on every thread, and nobody writes by it.
unsafe impl Sync for Arena {}

/// The arena that has room.
struct Open {
    file: File,
    arena: Weak<Arena>,
    /// Bytes of the file, and how many of them are taken.
    length: usize,
    taken: usize,
    /// Children have the same file, and must not take the same room.
    process: u32,
}

static OPEN: Mutex<Option<Open>> = Mutex::new(None);

/// Bytes of a file, but for those with code that is longer.
const LENGTH: usize = 1 << 16;

/// Code begins at a multiple of so many bytes, as cache lines do.
const ALIGNMENT: usize = 64;

const NAME: &CStr = c"linerate code";

/// A function of some bytes and a number, as C programs of this processor call it.
type Function = unsafe extern "C" fn(data: *const u8, length: usize, number: u32) -> u32;

/// A function of six words.
type OfWords = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> usize;

impl Open {
    fn new(length: usize) -> io::Result<(Self, Arc<Arena>)> {
        let file = executable_file()?;
        file.set_len(length as u64)?;
        let arena = Arc::new(Arena(SharedMemory::map_executable(file.as_fd(), length)?));
        let process = process::id();
        Ok((Self { file, arena: Arc::downgrade(&arena), length, taken: 0, process }, arena))
    }

    /// With its arena, if it has so many bytes left.
    fn with_room(self, bytes: usize) -> Option<(Self, Arc<Arena>)> {
        let has_room = self.process == process::id() && bytes <= self.length - self.taken;
        let arena = self.arena.upgrade().filter(|_| has_room)?;
        Some((self, arena))
    }
}

/// Kernels before 6.3 do not know the flag, and permit it (`vm.memfd_noexec`).
fn executable_file() -> io::Result<File> {
    let create = |flags| {
        // SAFETY: the name is a C string.
        match unsafe { libc::memfd_create(NAME.as_ptr(), flags) } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: the kernel has just opened it for us.
            fd => Ok(File::from(unsafe { OwnedFd::from_raw_fd(fd) })),
        }
    };
    create(libc::MFD_CLOEXEC | libc::MFD_EXEC).or_else(|error| match error.raw_os_error() {
        Some(libc::EINVAL) => create(libc::MFD_CLOEXEC),
        _ => Err(error),
    })
}

impl Code {
    /// Makes `code` executable.
    ///
    /// # Errors
    /// When there is no memory, or the system permits no such code (`vm.memfd_noexec`, or SELinux).
    pub fn new(code: &[u8]) -> io::Result<Self> {
        let bytes = code.len().next_multiple_of(ALIGNMENT);
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut with_room, arena) = match open.take().and_then(|open| open.with_room(bytes)) {
            Some(known) => known,
            None => Open::new(bytes.max(LENGTH))?,
        };
        with_room.file.write_all_at(code, with_room.taken as u64)?;
        let at = with_room.taken;
        with_room.taken += bytes;
        *open = Some(with_room);
        let made = Self { arena, at };
        made.publish(code.len());
        Ok(made)
    }

    /// Processors with a cache for data see there what was written, and run it.
    #[cfg(not(target_arch = "aarch64"))]
    fn publish(&self, _: usize) {}

    /// Brings so many bytes of code from the caches for data to where instructions are fetched from, and what was there before
    /// out of the caches for instructions (Arm Architecture Reference Manual, DDI 0487, B2.4.4).
    #[cfg(target_arch = "aarch64")]
    fn publish(&self, length: usize) {
        use std::arch::asm;
        let kinds: usize;
        // SAFETY: every process may read this register (Linux, Documentation/arch/arm64/cpu-feature-registers.rst).
        unsafe { asm!("mrs {}, ctr_el0", out(reg) kinds, options(nomem, nostack)) };
        // The smallest lines of either, as the logarithm of so many words.
        let [instructions, data] = [0, 16].map(|right| 4 << (kinds >> right & 0xf));
        let start = self.start(0) as usize;
        // From the beginning of a line on, so that the last one is among them.
        let lines = |size: usize| (start & !(size - 1)..start + length).step_by(size);
        for line in lines(data) {
            // SAFETY: the line is of this mapping; what is in it stays as it is.
            unsafe { asm!("dc cvau, {}", in(reg) line, options(nostack)) };
        }
        // SAFETY: waits for the above.
        unsafe { asm!("dsb ish", options(nostack)) };
        for line in lines(instructions) {
            // SAFETY: the line is of this mapping, and is fetched anew when it is run.
            unsafe { asm!("ic ivau, {}", in(reg) line, options(nostack)) };
        }
        // SAFETY: waits for the above, and drops what was fetched before.
        unsafe { asm!("dsb ish", "isb", options(nostack)) };
    }

    /// Runs it from its beginning.
    ///
    /// # Safety
    /// The code is a function that may be called from C with a pointer to bytes, their number and another
    /// number; it reads no further than the bytes, writes nowhere but to the stack, and returns a number.
    #[inline]
    pub unsafe fn call(&self, data: &[u8], number: u32) -> u32 {
        // SAFETY: the caller says so.
        let function = unsafe { mem::transmute::<*mut u8, Function>(self.start(0)) };
        // SAFETY: as above; the slice is valid for its length.
        unsafe { function(data.as_ptr(), data.len(), number) }
    }

    /// Runs it from its byte number `at` on with words of which some may be addresses.
    ///
    /// # Safety
    /// The code there is a function that may be called from C with these words; what it reads and writes there may be read
    /// and written.
    #[inline]
    pub unsafe fn call_with(&self, at: usize, words: [usize; 6]) -> usize {
        // SAFETY: the caller says that there is such a function.
        let function = unsafe { mem::transmute::<*mut u8, OfWords>(self.start(at)) };
        let [a, b, c, d, e, f] = words;
        // SAFETY: as above.
        unsafe { function(a, b, c, d, e, f) }
    }

    fn start(&self, at: usize) -> *mut u8 {
        self.arena.0.as_ptr().wrapping_add(self.at + at)
    }
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::*;

    /// Adds the second and the third argument.
    const ADD: &[u8] = if cfg!(target_arch = "x86_64") {
        // lea eax, [rsi + rdx]; ret
        &[0x8d, 0x04, 0x16, 0xc3]
    } else {
        // add w0, w1, w2; ret
        &[0x20, 0x00, 0x02, 0x0b, 0xc0, 0x03, 0x5f, 0xd6]
    };

    /// The lines of the process's mappings that are such memory.
    fn mappings() -> Vec<String> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.lines().filter(|line| line.contains("linerate code")).map(String::from).collect()
    }

    #[test]
    fn code_is_run_and_cannot_be_written() {
        let code = Code::new(ADD).unwrap();
        // SAFETY: the code adds two numbers.
        assert_eq!(unsafe { code.call(b"seven!!", 35) }, 42);
        // SAFETY: as above, of the second and the third of these.
        assert_eq!(unsafe { code.call_with(0, [0, 1, 2, 0, 0, 0]) }, 3);
        assert!(mappings().iter().all(|line| line.contains(" r-xs ")), "{:?}", mappings());

        let many: Vec<_> = (0..256).map(|_| Code::new(ADD).unwrap()).collect();
        for (n, code) in many.iter().enumerate() {
            // SAFETY: the code adds two numbers.
            assert_eq!(unsafe { code.call(b"", n as u32) }, n as u32);
        }
        assert_eq!(mappings().len(), 1, "one behind the other");
        let long = Code::new(&[0xc3; 2 * LENGTH]).unwrap();
        assert_eq!(mappings().len(), 2);
        drop((code, many, long));
        assert_eq!(mappings().len(), 0);
    }
}
