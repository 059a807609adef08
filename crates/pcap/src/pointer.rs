//! What may be done with a caller's pointers.

use std::ffi::{CStr, c_char};
use std::{ptr, slice};

use crate::abi::ERRBUF_SIZE;

/// The string at `at`; `None` for null, and for what is no UTF-8.
///
/// # Safety
/// `at` is null or a C string that stays valid as long as the result is used.
pub(crate) unsafe fn text<'a>(at: *const c_char) -> Option<&'a str> {
    if at.is_null() {
        return None;
    }
    // SAFETY: it is a C string.
    unsafe { CStr::from_ptr(at) }.to_str().ok()
}

/// Writes `value` where the caller wants it; nowhere for null.
///
/// # Safety
/// `at` is null or may be written to.
pub(crate) unsafe fn put<T>(at: *mut T, value: T) {
    if !at.is_null() {
        // SAFETY: not null, so it may be written to.
        unsafe { at.write(value) }
    }
}

/// The `count` values at `at`; none for null.
///
/// # Safety
/// `at` is null or so many values are there and stay valid as long as the result is used.
pub(crate) unsafe fn values<'a, T>(at: *const T, count: usize) -> &'a [T] {
    match at.is_null() {
        true => &[],
        // SAFETY: not null, so the values are there.
        false => unsafe { slice::from_raw_parts(at, count) },
    }
}

/// A copy of `values` in memory from `malloc`, which the caller will `free`; null where there is no memory.
pub(crate) fn allocate<T: Copy>(values: &[T]) -> *mut T {
    // SAFETY: malloc takes any size; of 0 bytes it need not give any, so there is one at least.
    let memory = unsafe { libc::malloc(size_of_val(values).max(1)) }.cast::<T>();
    if !memory.is_null() {
        // SAFETY: the memory has the values' size, is aligned for anything and nobody else has it.
        unsafe { ptr::copy_nonoverlapping(values.as_ptr(), memory, values.len()) }
    }
    memory
}

/// Writes an error's text, as much of it as there is room for, into a caller's buffer.
///
/// # Safety
/// `buffer` is null or has [`ERRBUF_SIZE`] bytes.
pub(crate) unsafe fn say(buffer: *mut c_char, text: &str) {
    // SAFETY: the buffer has this size.
    unsafe { put(buffer.cast(), message(text)) }
}

/// A text as a C string in a buffer for errors; one that is too long is cut between characters.
pub(crate) fn message(text: &str) -> [u8; ERRBUF_SIZE] {
    let mut buffer = [0; ERRBUF_SIZE];
    let end = text.floor_char_boundary(ERRBUF_SIZE - 1);
    buffer[..end].copy_from_slice(&text.as_bytes()[..end]);
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_between_characters_and_ends_in_nul() {
        let buffer = message(&"é".repeat(200));
        let text = CStr::from_bytes_until_nul(&buffer).unwrap().to_str().unwrap();
        assert_eq!(text, "é".repeat(127));
    }
}
