//! Why packets are lost.

use std::collections::HashMap;
use std::time::Duration;

use linerate_sys::task::{self, Doing};
use serde::Serialize;

/// Why packets are lost, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The card's ring was full.
    CardOverrun,
    /// The interface's queue was full: the kernel does not take packets as fast as they come.
    QueueOverrun,
    /// The filter in the kernel takes most of the time.
    SlowFilter,
    /// A CPU's backlog was full.
    BacklogOverrun,
    /// The packets are for somebody else.
    WrongDestination,
    /// The host's stack had no room.
    NoRoom,
    /// The process that should take them has been stopped.
    StoppedReader,
    /// The process that should take them waits for what it writes to.
    SlowStorage,
    /// The process that should take them has no processor time left.
    BusyReader,
    /// The buffer is too small for what comes at once.
    SmallBuffer,
}

/// What a process was seen doing, over and over.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    looks: u32,
    stopped: u32,
    writing: u32,
    /// What it was seen writing to, and how often.
    files: HashMap<String, u32>,
    /// Processor time at the first look and at the last.
    used: Option<(Duration, Duration)>,
    elapsed: Duration,
}

impl Activity {
    /// Looks once. A process that is gone is left as it was.
    pub(super) fn look(&mut self, process: u32, elapsed: Duration) {
        let (Ok(threads), Ok((user, system))) = (task::doing(process), task::used(process)) else {
            return;
        };
        let used = user + system;
        self.looks += 1;
        self.elapsed = elapsed;
        self.used = Some((self.used.map_or(used, |(first, _)| first), used));
        if threads.contains(&Doing::Stopped) {
            self.stopped += 1;
        }
        let written = threads.iter().find_map(|doing| match doing {
            Doing::Writing(descriptor) => Some(*descriptor),
            _ => None,
        });
        if let Some(descriptor) = written {
            self.writing += 1;
            let file = descriptor.and_then(|descriptor| task::file(process, descriptor));
            *self.files.entry(file.unwrap_or_else(|| "storage".into())).or_default() += 1;
        }
    }

    /// The part of the looks at which it had been stopped.
    pub fn stopped(&self) -> f64 {
        self.share(self.stopped)
    }

    /// The part of the looks at which one of its threads waited for what it writes to.
    pub fn writing(&self) -> f64 {
        self.share(self.writing)
    }

    /// Processors that it kept busy.
    pub fn busy(&self) -> f64 {
        let used = self.used.map_or(Duration::ZERO, |(first, last)| last.saturating_sub(first));
        used.as_secs_f64() / self.elapsed.as_secs_f64().max(1e-3)
    }

    /// What it was seen writing to most.
    pub fn file(&self) -> &str {
        let most = self.files.iter().max_by_key(|(_, count)| **count);
        most.map_or("storage", |(file, _)| file)
    }

    /// Why it does not take its packets.
    pub(super) fn cause(&self) -> Cause {
        const OFTEN: f64 = 0.3;
        const ALL_THE_TIME: f64 = 0.8;
        if self.stopped() > OFTEN {
            Cause::StoppedReader
        } else if self.writing() > OFTEN {
            Cause::SlowStorage
        } else if self.busy() > ALL_THE_TIME {
            Cause::BusyReader
        } else {
            Cause::SmallBuffer
        }
    }

    fn share(&self, count: u32) -> f64 {
        f64::from(count) / f64::from(self.looks.max(1))
    }
}

#[cfg(test)]
impl Activity {
    /// One that was seen so often of ten times, and kept so many processors busy.
    pub(super) fn seen(stopped: u32, writing: u32, busy: f64) -> Self {
        Self {
            looks: 10,
            stopped,
            writing,
            files: HashMap::from([("/disk/f.pcap".to_owned(), writing)]),
            used: Some((Duration::ZERO, Duration::from_secs_f64(busy))),
            elapsed: Duration::from_secs(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_what_it_was_seen_doing() {
        let cause = |stopped, writing, busy| Activity::seen(stopped, writing, busy).cause();
        assert_eq!(cause(9, 9, 1.0), Cause::StoppedReader);
        assert_eq!(cause(0, 5, 1.0), Cause::SlowStorage);
        assert_eq!(cause(0, 1, 0.95), Cause::BusyReader);
        assert_eq!(cause(0, 0, 0.2), Cause::SmallBuffer);
        assert_eq!(Activity::default().cause(), Cause::SmallBuffer);
    }

    #[test]
    fn a_process_that_works_is_seen_working() {
        let mut activity = Activity::default();
        let own = std::process::id();
        activity.look(own, Duration::from_millis(1));
        activity.look(u32::MAX, Duration::from_millis(1));
        assert_eq!((activity.looks, activity.stopped), (1, 0));
    }
}
