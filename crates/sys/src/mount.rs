//! Mounts that nobody else sees: each lives in a mount namespace of its own and ends with the
//! last thread or process in it. See mount_namespaces(7).

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use linerate_base::{Error, ErrorKind, Result};

/// A file system to be mounted where only one thread, or one child process, sees it.
///
/// Everything is prepared when it is made, so that mounting needs system calls only.
#[derive(Clone, Debug)]
pub struct PrivateMount {
    kind: &'static CStr,
    folder: CString,
    options: CString,
}

impl PrivateMount {
    /// A file system in memory with room for `bytes`, rounded up to whole pages, at `folder`.
    ///
    /// # Errors
    /// When the path holds a zero byte.
    pub fn tmpfs(folder: &Path, bytes: u64) -> Result<Self> {
        let options = CString::new(format!("size={bytes}")).expect("digits hold no zero byte");
        Ok(Self { kind: c"tmpfs", folder: c_path(folder)?, options })
    }

    /// A file system in memory, without a limit and without direct writes (O_DIRECT), at `folder`.
    ///
    /// # Errors
    /// When the path holds a zero byte.
    pub fn ramfs(folder: &Path) -> Result<Self> {
        Ok(Self { kind: c"ramfs", folder: c_path(folder)?, options: CString::default() })
    }

    /// `/sys` as the network namespace shows it that the mounting thread is in.
    pub fn sysfs() -> Self {
        Self { kind: c"sysfs", folder: c"/sys".to_owned(), options: CString::default() }
    }

    /// Moves the calling thread into a new mount namespace and mounts there.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN, or when the folder is not there.
    pub fn mount(&self) -> Result<()> {
        self.apply().map_err(|e| {
            let folder = self.folder.to_string_lossy();
            Error::system(format!("mount a private {} at {folder}", self.kind.to_string_lossy()), e)
        })
    }

    /// Has the child process begin in a new mount namespace, with this mounted.
    pub fn mount_in(self, command: &mut Command) {
        // SAFETY: the step makes system calls only, on strings that it owns.
        unsafe { command.pre_exec(move || self.apply()) };
    }

    fn apply(&self) -> io::Result<()> {
        // SAFETY: unshare(2) takes no pointer; it changes only the calling thread.
        check(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
        // What is mounted from here on must not reach the namespace that this one is a copy of.
        mount(c"none", c"/", c"", libc::MS_REC | libc::MS_PRIVATE, c"")?;
        mount(self.kind, &self.folder, self.kind, 0, &self.options)
    }
}

fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|e| {
        Error::new(ErrorKind::Invalid, format!("mount at {}", path.display()), e.to_string())
    })
}

fn mount(
    source: &CStr,
    target: &CStr,
    kind: &CStr,
    flags: libc::c_ulong,
    options: &CStr,
) -> io::Result<()> {
    // SAFETY: every pointer is to a string that ends in zero and outlives the call.
    check(unsafe {
        libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, options.as_ptr().cast())
    })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
