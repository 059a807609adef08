//! What every function of the library does at the boundary.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// Defines functions of the library: `fn name(arguments) -> result, fault => { body }`. Where the body panics, which
/// is a mistake of ours, the caller gets the fault. Nor is a thread cancelled (pthread_cancel(3)) in the body, whose
/// frames that would unwind.
///
/// The body of `=> quick { body }` sees to the latter itself, where it does what takes time.
///
/// A body of `=> again { body }` says by a `ControlFlow` whether it is to run once more; in between a thread may be
/// cancelled.
macro_rules! entry {
    ($($(#[$note:meta])* fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty, $fault:expr => $($how:ident)? $body:block)+) => {$(
        $(#[$note])*
        ///
        /// # Safety
        /// Each pointer is null or what the manual page of this name asks for, and valid during the call.
        #[unsafe(no_mangle)]
        #[allow(unused_unsafe, unused_mut, reason = "some functions follow no pointer and change no argument")]
        pub unsafe extern "C-unwind" fn $name($(mut $argument: $type),*) -> $result {
            $crate::entry::run!($($how)? $fault, $body)
        }
    )+};
}

/// The body of such a function.
macro_rules! run {
    (again $fault:expr, $body:block) => {
        loop {
            let fault = std::ops::ControlFlow::Break($fault);
            // SAFETY: the caller keeps to the contract of the function, and what the body calls asks for no more.
            match $crate::entry::guard(fault, || unsafe { $body }) {
                std::ops::ControlFlow::Break(result) => break result,
                std::ops::ControlFlow::Continue(()) => $crate::entry::end_if_cancelled(),
            }
        }
    };
    (quick $fault:expr, $body:block) => {
        // SAFETY: as above.
        $crate::entry::caught($fault, || unsafe { $body })
    };
    ($fault:expr, $body:block) => {
        // SAFETY: as above.
        $crate::entry::guard($fault, || unsafe { $body })
    };
}

pub(crate) use {entry, run};

unsafe extern "C-unwind" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    fn pthread_testcancel();
}

/// `PTHREAD_CANCEL_DISABLE` of `pthread.h`.
const CANCEL_DISABLE: c_int = 1;

/// What `body` gives, or `fault` where it panics: nothing may unwind into a C program. It is a part of its caller: after a
/// system call the processor guesses each return wrong, as the kernel's own have taken the place of those it knew.
#[inline(always)]
pub(crate) fn caught<T>(fault: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(fault)
}

/// The same in which no thread is cancelled.
pub(crate) fn guard<T>(fault: T, body: impl FnOnce() -> T) -> T {
    uncancelled(|| caught(fault, body))
}

/// Does what may take time, in which a thread could be cancelled.
pub(crate) fn uncancelled<T>(work: impl FnOnce() -> T) -> T {
    let _state = Uncancelled::begin();
    work()
}

/// As long as it is held the thread is not cancelled; it has the state from before.
struct Uncancelled(c_int);

impl Uncancelled {
    fn begin() -> Self {
        let mut before = 0;
        // SAFETY: the state is one that there is, and what it was goes to a number.
        unsafe { pthread_setcancelstate(CANCEL_DISABLE, &raw mut before) };
        Self(before)
    }
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        // SAFETY: the state is the one that was there.
        unsafe { pthread_setcancelstate(self.0, ptr::null_mut()) };
    }
}

/// Ends the thread where another one has cancelled it. Frames that this unwinds must have nothing to drop.
pub(crate) fn end_if_cancelled() {
    // SAFETY: the one frame above this one is that of an exported function between two runs of its body.
    unsafe { pthread_testcancel() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_at_the_boundary() {
        assert_eq!(guard(-1, || panic!("on purpose")), -1);
        assert_eq!(guard(-1, || 7), 7);
    }
}
