//! Several sinks that share a plan, each on a thread and a core of its own.

use std::iter;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};

use linerate_base::{Error, ErrorKind, Result, Sink};
use linerate_sys::cpu;

use crate::handover::{End, Report};
use crate::run::{Plan, Share, Watch, run_share};

/// A sink for each of a plan's threads.
pub(crate) struct Crew {
    sinks: Vec<Box<dyn Sink + Send>>,
    cores: Vec<usize>,
}

impl Crew {
    /// Of these sinks, on the first cores that the calling thread may use.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with more sinks than cores.
    pub(crate) fn new(sinks: Vec<Box<dyn Sink + Send>>) -> Result<Self> {
        let cores = cores(sinks.len())?;
        Ok(Self { sinks, cores })
    }

    /// Sends until the plan is done, or `watch` says true, which is told of the packets of all: each packet by one of
    /// the sinks.
    ///
    /// # Errors
    /// As [`run`](crate::run()), of the first that has one.
    pub(crate) fn run(&mut self, plan: &Plan<'_>, watch: &Watch<'_>) -> (Report, Result<()>) {
        let step = self.sinks.len() as u64;
        let counts: Vec<_> = iter::repeat_with(AtomicU64::default).take(self.sinks.len()).collect();
        let submitted = || counts.iter().map(|count| count.load(Ordering::Relaxed)).sum::<u64>();
        let send = |sink: &mut dyn Sink, core, first| {
            if let Err(error) = cpu::pin(core) {
                return (Report::default(), Err(error));
            }
            let watch = |count| {
                counts[first as usize].store(count, Ordering::Relaxed);
                watch(submitted())
            };
            run_share(plan, Share { first, step }, sink, &watch)
        };
        let send = &send;
        let members = iter::zip(&mut self.sinks, &self.cores).zip(0..);
        thread::scope(|scope| {
            let threads: Vec<_> = members
                .map(|((sink, core), first)| {
                    let core = *core;
                    scope.spawn(move || send(&mut **sink, core, first))
                })
                .collect();
            all(threads.into_iter().map(join))
        })
    }
}

fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// One report of those of all, and the first error.
fn all(reports: impl Iterator<Item = (Report, Result<()>)>) -> (Report, Result<()>) {
    let (mut sum, mut result) = (Report { end: Some(End::Complete), ..Report::default() }, Ok(()));
    for (report, ended) in reports {
        sum.stats.submitted += report.stats.submitted;
        sum.stats.sent += report.stats.sent;
        sum.stats.sent_bytes += report.stats.sent_bytes;
        sum.stats.refused += report.stats.refused;
        sum.stats.pending += report.stats.pending;
        sum.wire_bits += report.wire_bits;
        sum.elapsed = sum.elapsed.max(report.elapsed);
        sum.lost = sum.lost.max(report.lost);
        sum.gaps.merge(&report.gaps);
        sum.end = match (sum.end, report.end) {
            (Some(End::Complete), end) => end,
            (Some(_), None) => None,
            (end, _) => end,
        };
        result = result.and(ended);
    }
    (sum, result)
}

/// A core for each of several threads; none for one, which runs wherever its caller does.
///
/// # Errors
/// [`ErrorKind::Invalid`] with more threads than cores.
pub(crate) fn cores(threads: usize) -> Result<Vec<usize>> {
    let mut cores = if threads > 1 { cpu::allowed()? } else { Vec::new() };
    if threads > cores.len().max(1) {
        let asked = format!("send with {threads} threads");
        let answered = format!("this process may use {} cores", cores.len());
        return Err(Error::new(ErrorKind::Invalid, asked, answered)
            .advise("a thread that sends needs a core of its own"));
    }
    cores.truncate(threads);
    Ok(cores)
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_base::SinkStats;
    use std::time::Duration;

    fn report(sent: u64, seconds: u64, end: Option<End>) -> Report {
        let stats = SinkStats { submitted: sent, sent, ..SinkStats::default() };
        let elapsed = Duration::from_secs(seconds);
        Report { stats, elapsed, wire_bits: sent * 672, end, ..Report::default() }
    }

    #[test]
    fn sums_are_of_all_and_the_end_is_that_which_was_not_meant() {
        let complete = Some(End::Complete);
        for (one, other, end) in [
            (complete, complete, complete),
            (complete, Some(End::Stopped), Some(End::Stopped)),
            (Some(End::Time), complete, Some(End::Time)),
            (Some(End::Time), None, None),
            (None, Some(End::Time), None),
        ] {
            let reports = [report(5, 2, one), report(7, 1, other)];
            let (sum, result) = all(reports.into_iter().map(|report| (report, Ok(()))));
            assert_eq!(sum, report(12, 2, end));
            result.unwrap();
        }
        let fault = Err(Error::new(ErrorKind::Down, "send", "down"));
        let reports = [(report(1, 1, None), fault), (report(1, 1, None), Ok(()))];
        assert_eq!(all(reports.into_iter()).1.unwrap_err().kind(), ErrorKind::Down);
    }

    #[test]
    fn nobody_gets_a_core_that_is_not_there() {
        assert_eq!(cores(1).unwrap(), [0; 0]);
        assert_eq!(cores(100_000).unwrap_err().kind(), ErrorKind::Invalid);
    }
}
