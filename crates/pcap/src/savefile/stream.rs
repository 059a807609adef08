//! C's streams.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::io::{self, Read};
use std::ptr;
use std::rc::Rc;

use libc::FILE;

unsafe extern "C" {
    static stdin: *mut FILE;
    static stdout: *mut FILE;
    fn flockfile(file: *mut FILE);
    fn funlockfile(file: *mut FILE);
}

/// The beginning of `struct _IO_FILE`, which C's library has as macros use it (`bits/types/struct_FILE.h`, glibc 2).
#[repr(C)]
struct Head {
    flags: c_int,
    read_at: *const c_char,
    read_end: *const c_char,
    read_base: *const c_char,
    write_base: *const c_char,
    write_at: *mut u8,
    write_end: *mut u8,
    buffer: *const u8,
    buffer_end: *const u8,
}

impl Head {
    fn buffer_size(&self) -> i64 {
        self.buffer_end.addr().saturating_sub(self.buffer.addr()) as i64
    }
}

/// In its flags: something could not be read or written (`_IO_ERR_SEEN`).
const ERR_SEEN: c_int = 0x20;

/// The standard input.
pub(crate) fn standard_input() -> *mut FILE {
    // SAFETY: C's library sets it before any of us runs; a program that changes it does so by itself.
    unsafe { stdin }
}

/// The standard output.
pub(crate) fn standard_output() -> *mut FILE {
    // SAFETY: as of standard input.
    unsafe { stdout }
}

/// Opens the file called `name`.
///
/// # Errors
/// When the system does not, in its words after the name.
pub(crate) fn open(name: &str, mode: &CStr) -> Result<*mut FILE, String> {
    let path = CString::new(name).map_err(|e| format!("{name:?}: {e}"))?;
    // SAFETY: both are C strings.
    let file = unsafe { libc::fopen(path.as_ptr(), mode.as_ptr()) };
    if file.is_null() { Err(format!("{name}: {}", last_error())) } else { Ok(file) }
}

/// Bytes of a file that the disk is told to begin with at a time, and how far behind them the page cache is left alone.
const STEP: i64 = 256 << 10;
const CACHED: i64 = 32 << 20;

/// After a stream has written to its file: has the disk begin with that, and what it has written long ago leave the page cache.
/// Who writes more than the kernel has fresh pages for, or hands to the disk by itself, would have to wait.
///
/// # Safety
/// The stream is open.
pub(crate) unsafe fn hurry(file: *mut FILE) {
    // SAFETY: every stream of glibc begins so.
    let buffer = unsafe { (*file.cast::<Head>()).buffer_size() };
    // SAFETY: the stream is open; what these are told of is a file, or they refuse.
    unsafe {
        let fd = libc::fileno(file);
        let at = libc::lseek(fd, 0, libc::SEEK_CUR);
        let begin = at - at % STEP - STEP;
        if begin < 0 || at % STEP >= buffer {
            return;
        }
        libc::sync_file_range(fd, begin, STEP, libc::SYNC_FILE_RANGE_WRITE);
        if begin >= CACHED {
            libc::posix_fadvise(fd, begin - CACHED, STEP, libc::POSIX_FADV_DONTNEED);
        }
    }
}

/// What the system answered last, in its words.
pub(crate) fn last_error() -> String {
    let error = io::Error::last_os_error();
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// Puts two pieces into a stream's buffer if both have room there, as putc_unlocked(3) does with bytes: then nothing is
/// waited for. Of a stream that had an error they are dropped. False where they have to be written.
///
/// # Safety
/// The stream is open.
#[inline]
pub(crate) unsafe fn put(file: *mut FILE, first: &[u8], second: &[u8]) -> bool {
    let length = first.len() + second.len();
    // SAFETY: every stream of glibc begins so. While it is locked nobody else uses it, and what is between its pointers for
    // writing is its buffer's; of a stream that is not written to, or by lines, there is nothing between them.
    unsafe {
        flockfile(file);
        let head = &mut *file.cast::<Head>();
        let has_failed = head.flags & ERR_SEEN != 0;
        let has_room = head.write_end.addr().saturating_sub(head.write_at.addr()) >= length;
        if has_room && !has_failed {
            ptr::copy_nonoverlapping(first.as_ptr(), head.write_at, first.len());
            ptr::copy_nonoverlapping(second.as_ptr(), head.write_at.add(first.len()), second.len());
            head.write_at = head.write_at.add(length);
        }
        funlockfile(file);
        has_room || has_failed
    }
}

/// A stream that is ours to close.
pub(crate) struct Owned(pub(crate) *mut FILE);

impl Drop for Owned {
    fn drop(&mut self) {
        if self.0 != standard_input() {
            // SAFETY: the stream is open and nobody uses it after this.
            unsafe { libc::fclose(self.0) };
        }
    }
}

/// How many bytes are kept of what was read first.
const HEAD: usize = 24;

/// What a savefile's reader reads from: a stream of which the first bytes are kept.
pub(crate) struct Feed {
    file: *mut FILE,
    head: Rc<RefCell<Vec<u8>>>,
}

impl Feed {
    /// A feed from an open stream, which must stay open as long as it is read; and its first bytes, once read.
    pub(crate) fn new(file: *mut FILE) -> (Self, Rc<RefCell<Vec<u8>>>) {
        let head = Rc::<RefCell<Vec<u8>>>::default();
        (Self { file, head: head.clone() }, head)
    }

    /// Bytes in the stream's buffer.
    fn ahead(&self) -> usize {
        let at = self.file.cast::<Head>();
        // SAFETY: every stream of glibc begins so; both pointers are into its buffer, or null.
        unsafe { (*at).read_end.addr().saturating_sub((*at).read_at.addr()) }
    }

    /// Waits for the first byte, which fills the stream's buffer; `None` at the end.
    fn first(&self) -> io::Result<Option<u8>> {
        // SAFETY: the stream is open.
        let byte = unsafe { libc::fgetc(self.file) };
        if let Ok(byte) = u8::try_from(byte) {
            return Ok(Some(byte));
        }
        let error = io::Error::last_os_error();
        // SAFETY: the stream is open.
        match unsafe { libc::ferror(self.file) } {
            0 => Ok(None),
            _ => Err(self.cleared(error)),
        }
    }

    /// The error, after which a wait that was interrupted can go on.
    fn cleared(&self, error: io::Error) -> io::Error {
        if error.kind() == io::ErrorKind::Interrupted {
            // SAFETY: the stream is open.
            unsafe { libc::clearerr(self.file) };
        }
        error
    }

    fn keep(&self, bytes: &[u8]) {
        let mut head = self.head.borrow_mut();
        let room = HEAD - head.len();
        head.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }
}

impl Read for Feed {
    /// Reads what one read of the stream's own brings, so that packets from a pipe come when they come.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut read = 0;
        if !buffer.is_empty() && self.ahead() == 0 {
            let Some(byte) = self.first()? else { return Ok(0) };
            (buffer[0], read) = (byte, 1);
        }
        let rest = &mut buffer[read..];
        let more = rest.len().min(self.ahead());
        // SAFETY: there is room for so many bytes; so many are in the stream's buffer, so nothing waits.
        read += unsafe { libc::fread(rest.as_mut_ptr().cast(), 1, more, self.file) };
        self.keep(&buffer[..read]);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_the_page_cache_is_what_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("f");
        let file = open(path.to_str().expect("UTF-8"), c"wb").expect("opened");
        let mut expected = Vec::new();
        let (mut data, mut count, mut had_room) = ([0; 100], 0, 0);
        while (expected.len() as i64) < CACHED + 8 * STEP {
            let (number, length) = (expected.len() as u64, count % 100);
            data.fill(number as u8);
            let pieces = [&number.to_ne_bytes()[..], &data[..length]];
            // SAFETY: the stream is open, and the pieces are as long as they are.
            unsafe {
                if put(file, pieces[0], pieces[1]) {
                    had_room += 1;
                } else {
                    for piece in pieces {
                        libc::fwrite(piece.as_ptr().cast(), 1, piece.len(), file);
                    }
                    hurry(file);
                }
            }
            pieces.iter().for_each(|piece| expected.extend_from_slice(piece));
            count += 1;
        }
        // SAFETY: the stream is open.
        unsafe { libc::fclose(file) };
        assert!(std::fs::read(path).expect("read") == expected);
        assert!(had_room * 10 > count * 9, "{had_room} of {count} had room in the buffer");
    }
}
