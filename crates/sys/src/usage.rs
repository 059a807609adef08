//! What a finished child process used, or a thread so far.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// The system's accounting of one child, itself and the children that it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// How it ended.
    pub status: ExitStatus,
    /// Processor time in user mode.
    pub user: Duration,
    /// Processor time in the kernel.
    pub system: Duration,
    /// Largest resident set, in bytes.
    pub max_resident: u64,
}

/// Waits for `child` to end and says what it used (wait4(2)).
///
/// # Errors
/// When the child was waited for already.
pub fn wait(child: Child) -> io::Result<Usage> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    loop {
        // SAFETY: both pointers are to live, writable memory of the types that wait4 fills.
        let got = unsafe { libc::wait4(pid, &mut status, 0, usage.as_mut_ptr()) };
        match got {
            -1 if interrupted() => continue,
            -1 => return Err(io::Error::last_os_error()),
            _ => break,
        }
    }
    // SAFETY: zeroed above, and rusage is valid for all-zero bytes whatever the kernel left out.
    let usage = unsafe { usage.assume_init() };
    Ok(Usage {
        status: ExitStatus::from_raw(status),
        user: duration(usage.ru_utime),
        system: duration(usage.ru_stime),
        max_resident: usage.ru_maxrss.unsigned_abs() * 1024, // getrusage(2): ru_maxrss is in KiB
    })
}

/// Processor time that the calling thread has used, in user mode and in the kernel, softirqs on its
/// back included where the kernel does not account these apart.
pub fn of_this_thread() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is valid and writable during the call; every thread has this clock, so
    // that the call does not fail.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

fn interrupted() -> bool {
    io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
}

fn duration(time: libc::timeval) -> Duration {
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_usec.unsigned_abs() as u32 * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_thread_that_works_uses_time() {
        let before = of_this_thread();
        while of_this_thread() == before {}
    }

    #[test]
    fn a_child_that_works_has_used_something() {
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 3";
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let usage = wait(child).unwrap();
        assert_eq!(usage.status.code(), Some(3));
        assert!(usage.user + usage.system > Duration::ZERO);
        assert!(usage.max_resident > 100_000);
    }
}
