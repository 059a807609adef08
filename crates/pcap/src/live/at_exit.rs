//! The end of a program that has not closed its captures: they tell what they have done all the same.
//!
//! Other threads may be at work then, and the end may come from a signal handler in the middle of a wait. So whoever is
//! about to change a source enters a [`Gate`], which the end of the program closes: it has waits return, and counts once
//! nobody is inside any more but itself.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::report::Report;
use super::source::Live;
use crate::entry::caught;

/// How long the end of a program waits for threads inside at the most.
const PATIENCE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(1);

/// Lets threads to a source as long as the program runs.
#[derive(Debug, Default)]
pub(super) struct Gate {
    is_closed: AtomicBool,
    inside: AtomicUsize,
    /// Who went in last.
    thread: AtomicUsize,
}

/// Somebody is inside.
pub(super) struct Inside<'a>(&'a Gate);

impl Gate {
    /// Goes in; where the program ends just now, afterwards.
    pub(super) fn enter(&self) -> Inside<'_> {
        loop {
            self.inside.fetch_add(1, Ordering::SeqCst);
            let inside = Inside(self);
            if !self.is_closed.load(Ordering::SeqCst) {
                self.thread.store(this_thread(), Ordering::Relaxed);
                return inside;
            }
            drop(inside);
            thread::sleep(PAUSE);
        }
    }

    /// Does `work` while nobody is inside but this thread, further down on its stack; gives false where others stay.
    fn alone(&self, work: impl FnOnce()) -> bool {
        self.is_closed.store(true, Ordering::SeqCst);
        let begun = Instant::now();
        let is_alone = loop {
            match self.inside.load(Ordering::SeqCst) {
                0 => break true,
                1 if self.thread.load(Ordering::Relaxed) == this_thread() => break true,
                _ if begun.elapsed() > PATIENCE => break false,
                _ => thread::sleep(PAUSE),
            }
        };
        if is_alone {
            work();
        }
        self.is_closed.store(false, Ordering::SeqCst);
        is_alone
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

fn this_thread() -> usize {
    // SAFETY: it takes nothing and always has an answer.
    unsafe { libc::pthread_self() as usize }
}

/// A capture that has to tell, and where.
struct Entry(*mut Live, Arc<Report>);

// SAFETY: the pointer is followed by the end of the program only, in the gate of the capture.
unsafe impl Send for Entry {}

/// Captures that have a report and are not closed.
static OPEN: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

fn open() -> MutexGuard<'static, Vec<Entry>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers a capture, which stays where it is until it is forgotten.
pub(super) fn remember(live: &mut Live, report: Arc<Report>) {
    open().push(Entry(live, report));
}

/// Forgets a capture that is closed, once nobody looks at it.
pub(super) fn forget(report: &Arc<Report>) {
    open().retain(|Entry(_, other)| !Arc::ptr_eq(other, report));
}

/// Has all captures tell that are open, each at most once.
extern "C" fn tell() {
    caught((), || {
        // Whoever holds it is a thread that opens or closes a capture; of a fork's child it may be gone.
        let begun = Instant::now();
        let open = loop {
            match OPEN.try_lock() {
                Ok(open) => break open,
                Err(_) if begun.elapsed() > PATIENCE => return,
                Err(_) => thread::sleep(PAUSE),
            }
        };
        open.iter().filter(|Entry(_, report)| report.is_this_process()).for_each(tell_of);
    });
}

fn tell_of(Entry(live, report): &Entry) {
    report.end_waits();
    // SAFETY: the capture is not forgotten, so it is there; nobody else is in its gate, and so changes what is counted,
    // but for the packets that another thread sends meanwhile.
    if !report.gate.alone(|| unsafe { (**live).tell() }) {
        report.tell_that_it_is_unknown();
    }
}

/// The loader calls it when the program ends, after all that the program has asked for (atexit(3)), or gives the library
/// back (dlclose(3)).
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = tell;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_waits_for_others_and_others_for_work() {
        let gate = Gate::default();
        let (mut has_worked, is_inside) = (false, AtomicBool::new(false));
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                let inside = gate.enter();
                is_inside.store(true, Ordering::SeqCst);
                while !gate.is_closed.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
                drop(inside);
                // The work is done, or the gate still closed.
                drop(gate.enter());
            });
            while !is_inside.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            assert!(gate.alone(|| has_worked = true));
            other.join().unwrap();
        });
        assert!(has_worked);
    }

    #[test]
    fn work_may_interrupt_its_own_thread_and_no_other() {
        let gate = Gate::default();
        let inside = gate.enter();
        assert!(gate.alone(|| {}));
        thread::scope(|scope| {
            let other = scope.spawn(|| gate.alone(|| unreachable!("somebody is inside")));
            assert!(!other.join().unwrap());
        });
        drop(inside);
    }
}
