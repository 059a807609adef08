//! Disks with faults: file systems in memory that nobody else sees.

use std::panic::resume_unwind;
use std::path::Path;
use std::process::Command;
use std::thread;

use linerate_base::Result;
use linerate_sys::mount::PrivateMount;

/// Runs `work` on a thread that finds at `folder` an empty disk with room for `bytes`, rounded
/// up to whole pages. Threads and programs that it starts find it there too; it ends with them.
///
/// # Errors
/// Without root, or when the folder is not there.
///
/// # Panics
/// When `work` does, with the same payload.
pub fn with_small_disk<T: Send>(
    folder: &Path,
    bytes: u64,
    work: impl FnOnce() -> T + Send,
) -> Result<T> {
    on_thread(&PrivateMount::tmpfs(folder, bytes)?, work)
}

/// As [`with_small_disk`], but the disk takes no direct writes (O_DIRECT) and never fills up.
///
/// # Errors
/// Without root, or when the folder is not there.
///
/// # Panics
/// When `work` does, with the same payload.
pub fn with_indirect_disk<T: Send>(folder: &Path, work: impl FnOnce() -> T + Send) -> Result<T> {
    on_thread(&PrivateMount::ramfs(folder)?, work)
}

fn on_thread<T: Send>(disk: &PrivateMount, work: impl FnOnce() -> T + Send) -> Result<T> {
    let mounted = || disk.mount().map(|()| work());
    thread::scope(|scope| scope.spawn(mounted).join()).unwrap_or_else(|panic| resume_unwind(panic))
}

/// Has the program find at `folder` an empty disk with room for `bytes`, rounded up to whole
/// pages; it ends with the program.
///
/// # Errors
/// When the path holds a zero byte.
pub fn give_small_disk(command: &mut Command, folder: &Path, bytes: u64) -> Result<()> {
    PrivateMount::tmpfs(folder, bytes)?.mount_in(command);
    Ok(())
}
