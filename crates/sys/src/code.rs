//! Memory with machine code that was assembled at run time.

use std::io;
use std::mem;
use std::ptr::{self, NonNull};

/// Machine code in memory of its own, which goes when this is dropped. It is written before it may be
/// run, and never after: no page is writable and executable at once (mmap(2), mprotect(2)).
#[derive(Debug)]
pub struct Code {
    start: NonNull<libc::c_void>,
    length: usize,
}

/// A function of some bytes and a number, as C programs of this processor call it.
type Function = unsafe extern "C" fn(data: *const u8, length: usize, number: u32) -> u32;

/// A function of six words.
type OfWords = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> usize;

// SAFETY: the mapping is owned by this value alone, is valid on every thread, and nobody writes to it.
unsafe impl Send for Code {}
// SAFETY: as above; to run code does not change it.
unsafe impl Sync for Code {}

impl Code {
    /// Makes `code` executable.
    ///
    /// # Errors
    /// When there is no memory, or the system permits no such code (as SELinux may: `execmem`).
    ///
    /// # Panics
    /// When there is no code.
    pub fn new(code: &[u8]) -> io::Result<Self> {
        assert!(!code.is_empty(), "no code");
        let (length, flags) = (code.len(), libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: with a null address the kernel picks a range that is free.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start).ok_or(io::ErrorKind::InvalidInput)?;
        let made = Self { start, length };
        // SAFETY: the mapping has this length, is writable, and is nobody else's.
        unsafe { ptr::copy_nonoverlapping(code.as_ptr(), start.as_ptr().cast(), length) };
        // SAFETY: the range is this mapping.
        if unsafe { libc::mprotect(start.as_ptr(), length, libc::PROT_READ | libc::PROT_EXEC) } != 0
        {
            return Err(io::Error::last_os_error());
        }
        made.publish();
        Ok(made)
    }

    /// Processors with a cache for data see there what was written, and run it.
    #[cfg(not(target_arch = "aarch64"))]
    fn publish(&self) {}

    /// Brings the code from the caches for data to where instructions are fetched from, and what was there before out of
    /// the caches for instructions (Arm Architecture Reference Manual, DDI 0487, B2.4.4).
    #[cfg(target_arch = "aarch64")]
    fn publish(&self) {
        use std::arch::asm;
        let kinds: usize;
        // SAFETY: every process may read this register (Linux, Documentation/arch/arm64/cpu-feature-registers.rst).
        unsafe { asm!("mrs {}, ctr_el0", out(reg) kinds, options(nomem, nostack)) };
        // The smallest lines of either, as the logarithm of so many words.
        let [instructions, data] = [0, 16].map(|right| 4 << (kinds >> right & 0xf));
        let start = self.start.as_ptr() as usize;
        let end = start + self.length;
        for line in (start..end).step_by(data) {
            // SAFETY: the line is of this mapping; what is in it stays as it is.
            unsafe { asm!("dc cvau, {}", in(reg) line, options(nostack)) };
        }
        // SAFETY: waits for the above.
        unsafe { asm!("dsb ish", options(nostack)) };
        for line in (start..end).step_by(instructions) {
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
        let function =
            unsafe { mem::transmute::<*mut libc::c_void, Function>(self.start.as_ptr()) };
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
        // SAFETY: there is code at this place, as the caller says.
        let start = unsafe { self.start.byte_add(at) };
        // SAFETY: the caller says that it is such a function.
        let function = unsafe { mem::transmute::<*mut libc::c_void, OfWords>(start.as_ptr()) };
        let [a, b, c, d, e, f] = words;
        // SAFETY: as above.
        unsafe { function(a, b, c, d, e, f) }
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the range is this mapping, and nobody runs it any more.
        unsafe { libc::munmap(self.start.as_ptr(), self.length) };
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

    #[test]
    fn code_is_run_and_cannot_be_written() {
        let code = Code::new(ADD).unwrap();
        // SAFETY: the code adds two numbers.
        assert_eq!(unsafe { code.call(b"seven!!", 35) }, 42);
        // SAFETY: as above, of the second and the third of these.
        assert_eq!(unsafe { code.call_with(0, [0, 1, 2, 0, 0, 0]) }, 3);
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let start = format!("{:x}-", code.start.as_ptr() as usize);
        let line = maps.lines().find(|line| line.starts_with(&start)).expect("a mapping");
        assert!(line.contains(" r-xp "), "{line}");
    }
}
