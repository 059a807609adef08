//! Processor time of the kernel's own threads that receive packets, where the sender's does not.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// The threads `ksoftirqd` of some cores: when softirqs are many, the kernel leaves them to these.
#[derive(Debug)]
pub struct SoftirqThreads {
    folders: Vec<PathBuf>,
    before: Duration,
}

impl SoftirqThreads {
    /// Those of `cores`, as far as this process sees them: a PID namespace hides them.
    pub fn of(cores: &[usize]) -> Self {
        let names: Vec<_> = cores.iter().map(|core| format!("ksoftirqd/{core}\n")).collect();
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let folders = processes.map(|process| process.path()).filter(|folder| {
            fs::read_to_string(folder.join("comm")).is_ok_and(|name| names.contains(&name))
        });
        let mut threads = Self { folders: folders.collect(), before: Duration::ZERO };
        threads.before = threads.total();
        threads
    }

    /// What they have used since.
    pub fn used(&self) -> Duration {
        self.total().saturating_sub(self.before)
    }

    /// The first number of `schedstat` is a thread's time in nanoseconds
    /// (Documentation/scheduler/sched-stats.rst, Linux 6.18).
    fn total(&self) -> Duration {
        let nanos = |folder: &PathBuf| -> Option<u64> {
            let text = fs::read_to_string(folder.join("schedstat")).ok()?;
            text.split(' ').next()?.parse().ok()
        };
        Duration::from_nanos(self.folders.iter().filter_map(nanos).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_that_is_not_there_uses_nothing() {
        assert_eq!(SoftirqThreads::of(&[usize::MAX]).used(), Duration::ZERO);
    }
}
