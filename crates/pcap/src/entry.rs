//! What every function of the library does at the boundary.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Defines functions of the library: `fn name(arguments) -> result, fault => { body }`. Where the body panics, which
/// is a mistake of ours, the caller gets the fault.
macro_rules! entry {
    ($($(#[$note:meta])* fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty, $fault:expr => $body:block)+) => {$(
        $(#[$note])*
        ///
        /// # Safety
        /// Each pointer is null or what the manual page of this name asks for, and valid during the call.
        #[unsafe(no_mangle)]
        #[allow(unused_unsafe, reason = "some functions follow no pointer")]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: the caller keeps to the contract above, and what the body calls asks for no more.
            $crate::entry::guard($fault, || unsafe { $body })
        }
    )+};
}

pub(crate) use entry;

/// What `body` gives, or `fault` where it panics: nothing may unwind into a C program.
pub(crate) fn guard<T>(fault: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(fault)
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
