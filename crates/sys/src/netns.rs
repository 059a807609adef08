//! Network namespaces, held by nothing but a file descriptor.
//!
//! A namespace lives as long as a descriptor of it, a thread in it or a socket made in it. None
//! of ours has a name in the file system, so however a process ends, its namespaces, and the
//! interfaces in them, end with it. See namespaces(7) and network_namespaces(7).

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::panic::resume_unwind;
use std::thread;

use linerate_base::{Error, Result};

/// A network namespace, kept alive by this value.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// The namespace that the calling thread is in.
    ///
    /// # Errors
    /// When `/proc` is not mounted.
    pub fn current() -> Result<Self> {
        let path = "/proc/thread-self/ns/net";
        File::open(path).map(Self).map_err(|e| Error::system(format!("open {path}"), e))
    }

    /// A new namespace with nothing in it but a loopback interface that is down.
    ///
    /// The calling thread stays where it is.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN, or when `user.max_net_namespaces` is reached.
    pub fn create() -> Result<Self> {
        thread::scope(|scope| {
            let maker = scope.spawn(|| leave().and_then(|()| Self::current()));
            maker.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// Moves the calling thread, and no other, into this namespace.
    ///
    /// Threads and child processes that it starts from then on begin there.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN.
    pub fn enter(&self) -> Result<()> {
        set(self.as_fd()).map_err(|e| Error::system("enter a network namespace", e))
    }

    /// The number by which the kernel knows it, as in the link `/proc/self/ns/net`; unique among
    /// those alive.
    ///
    /// # Errors
    /// When the system does not answer fstat(2).
    pub fn id(&self) -> Result<u64> {
        let metadata = self.0.metadata();
        let metadata = metadata.map_err(|e| Error::system("identify a network namespace", e))?;
        Ok(metadata.ino())
    }

    /// A second hold on the same namespace.
    ///
    /// # Errors
    /// When descriptors ran out.
    pub fn try_clone(&self) -> Result<Self> {
        let copy = self.0.try_clone();
        copy.map(Self).map_err(|e| Error::system("hold a network namespace", e))
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Puts the calling thread into a new namespace.
fn leave() -> Result<()> {
    // SAFETY: unshare(2) takes no pointer; it changes only the calling thread.
    let result = unsafe { libc::unshare(libc::CLONE_NEWNET) };
    if result == 0 {
        return Ok(());
    }
    let error = Error::system("create a network namespace", io::Error::last_os_error());
    Err(error.advise("it needs root, or a user namespace that allows it"))
}

/// setns(2), which is safe to call between fork and exec too.
pub(crate) fn set(namespace: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the descriptor is open for the call, and setns(2) takes no pointer.
    let result = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
