//! Waking a thread out of a system call, and having it run soon after it wakes.

use std::io;
use std::mem::{size_of, zeroed};
use std::ptr::null_mut;

/// The signal that is sent: nobody uses it, and without a handler it does nothing (signal(7)).
const SIGNAL: libc::c_int = libc::SIGURG;

/// A thread of this process that waits in the kernel at times, and is to be woken from outside.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    id: libc::pid_t,
}

impl Thread {
    /// The calling thread.
    ///
    /// # Errors
    /// When the system refuses a handler.
    pub fn current() -> io::Result<Self> {
        // SAFETY: all zeroes are a valid sigaction: no flags, an empty mask.
        let mut action: libc::sigaction = unsafe { zeroed() };
        action.sa_flags = libc::SA_RESTART;
        action.sa_sigaction = ignore as *const () as usize;
        // SAFETY: the action is valid and lives through the call; its handler does nothing, which is allowed at any
        // time.
        if unsafe { libc::sigaction(SIGNAL, &raw const action, null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: gettid(2) takes nothing and always succeeds.
        Ok(Self { id: unsafe { libc::gettid() } })
    }

    /// Has a system call that the thread is in end with `EINTR`, if it is one that does and does not begin anew by
    /// itself. A thread that has ended is not woken.
    pub fn interrupt(self) {
        // SAFETY: tgkill(2) takes three integers. The signal has a handler that does nothing, and goes to this process
        // only.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), self.id, SIGNAL) };
    }
}

/// Asks for short turns of the processor: a thread that wakes up then interrupts others in the middle of
/// their longer turns (sched_setattr(2), slices of one's own; Linux 6.12). Elsewhere nothing changes.
pub fn run_soon() {
    /// The shortest there is, nanoseconds.
    const TURN: u64 = 100_000;
    let size = size_of::<libc::sched_attr>() as u32;
    // SAFETY: a sched_attr is plain integers, for which zeroes are valid.
    let mut attributes: libc::sched_attr = unsafe { zeroed() };
    // SAFETY: 0 is the calling thread; the structure is writable and of the size that is told.
    let read = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    if read == 0 {
        attributes.sched_runtime = TURN;
        // SAFETY: 0 is the calling thread; the structure lives through the call and tells its size.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    }
}

extern "C" fn ignore(_: libc::c_int) {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_wait_that_is_interrupted_ends() {
        let (sender, receiver) = mpsc::channel();
        let waiting = std::thread::spawn(move || {
            sender.send(Thread::current().unwrap()).unwrap();
            // SAFETY: poll(2) of no descriptor reads no memory; it waits for a signal.
            unsafe { libc::poll(null_mut(), 0, -1) };
            io::Error::last_os_error().raw_os_error()
        });
        let thread = receiver.recv().unwrap();
        while !waiting.is_finished() {
            thread.interrupt();
            std::thread::yield_now();
        }
        assert_eq!(waiting.join().unwrap(), Some(libc::EINTR));
    }
}
