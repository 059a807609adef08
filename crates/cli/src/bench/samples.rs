//! What all processors do while something runs.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use linerate::profile::sampling::{Samples, Sampling, Stacks};

/// How often samples are fetched.
const EVERY: Duration = Duration::from_millis(100);

/// Samples all processors while `work` runs.
///
/// # Errors
/// Those of `work`; where samples are not permitted.
pub(super) fn during<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Samples)> {
    let mut sampling = Sampling::start(Stacks::Kernel)?;
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let fetching = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                thread::sleep(EVERY);
                sampling.collect();
            }
            sampling.finish()
        });
        let done = work();
        is_over.store(true, Ordering::Relaxed);
        let samples = fetching.join().unwrap_or_else(|panic| resume_unwind(panic));
        Ok((done?, samples?))
    })
}
