//! Telling the processor which memory will be read or written soon.

/// Begins to load the cache line at `offset` of `memory`, without waiting for it; does nothing for an
/// offset outside, and on processors for which no instruction is known here.
#[inline]
pub fn read(memory: &[u8], offset: usize) {
    let Some(byte) = memory.get(offset) else { return };
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is harmless, and this one is inside a slice.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch of any address is harmless, and this one is inside a slice.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) byte, options(nostack, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = byte;
}

/// As [`read`], for memory that will be written: of a line that another core has, that core gives up its copy.
#[inline]
pub fn write(memory: &[u8], offset: usize) {
    let Some(byte) = memory.get(offset) else { return };
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is harmless, and this one is inside a slice.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(std::ptr::from_ref(byte).cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch of any address is harmless, and this one is inside a slice.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{}]", in(reg) byte, options(nostack, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = byte;
}

#[cfg(test)]
mod tests {
    #[test]
    fn inside_and_outside_are_both_harmless() {
        for offset in [0, 63, 64, usize::MAX] {
            super::read(&[0; 64], offset);
            super::write(&[0; 64], offset);
        }
    }
}
