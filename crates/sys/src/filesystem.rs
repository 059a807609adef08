//! What file system a folder is on, and what room it has (statfs(2)).

use std::ffi::CString;
use std::io;
use std::mem::zeroed;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A file system, as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Bytes that an ordinary user may still write.
    pub available: u64,
    /// It keeps its files in memory (tmpfs, ramfs).
    pub is_memory: bool,
}

/// The file system that `path` is on.
///
/// # Errors
/// When there is no such path, or it cannot be reached.
pub fn of(path: &Path) -> io::Result<FileSystem> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: a statfs is numbers, for which all zeroes is valid.
    let mut found: libc::statfs = unsafe { zeroed() };
    // SAFETY: the path ends in zero, and both outlive the call.
    if unsafe { libc::statfs(path.as_ptr(), &raw mut found) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let is_memory = [libc::TMPFS_MAGIC, RAMFS_MAGIC].contains(&found.f_type);
    Ok(FileSystem { available: found.f_bavail * found.f_bsize as u64, is_memory })
}

/// `linux/magic.h`, Linux 6.18.
const RAMFS_MAGIC: libc::c_long = 0x858458f6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_are_told_apart() {
        assert!(!of(Path::new("/proc")).unwrap().is_memory);
        let memory = of(Path::new("/dev/shm")).unwrap();
        assert!(memory.is_memory && memory.available > 0);
        assert!(of(Path::new("/no/such/folder")).is_err());
    }
}
