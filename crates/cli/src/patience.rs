//! A word while something takes long.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// What takes longer needs a word.
pub(crate) const SOON: Duration = Duration::from_secs(1);

/// Does the work, and calls `tell`, once, where that takes longer than `soon`. When it returns, the thread that
/// looks at the clock is gone.
pub(crate) fn with_a_word<T>(
    soon: Duration,
    tell: impl FnOnce() + Send,
    work: impl FnOnce() -> T,
) -> T {
    let (done, end) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let clock = move || {
            if end.recv_timeout(soon) == Err(RecvTimeoutError::Timeout) {
                tell();
            }
        };
        // Where no thread can be had, the work is done without a word.
        let _ = thread::Builder::new().name("patience".into()).spawn_scoped(scope, clock);
        let result = work();
        drop(done);
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_comes_while_the_work_is_done_and_only_then() {
        let (say, told) = mpsc::channel();
        let tell = move || say.send("it takes long").unwrap();
        assert_eq!(with_a_word(Duration::ZERO, tell, || told.recv()), Ok("it takes long"));
        with_a_word(Duration::MAX, || panic!("nothing took that long"), || {});
    }
}
