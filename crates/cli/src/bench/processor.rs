//! Processor time that others use.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

/// What all threads of a process have used, and those of all processes that it started and that still run.
///
/// # Errors
/// When the process is gone.
pub(super) fn of_process(id: u32) -> Result<Duration> {
    let folder = format!("/proc/{id}/task");
    let mut used = Duration::ZERO;
    for task in fs::read_dir(&folder).with_context(|| format!("list {folder}"))? {
        let task = task?.path();
        used += of_thread(&task);
        let children = fs::read_to_string(task.join("children")).unwrap_or_default();
        let children = children.split_whitespace().filter_map(|word| word.parse().ok());
        // One that has just ended is missing in both readings.
        used += children.filter_map(|child| of_process(child).ok()).sum::<Duration>();
    }
    Ok(used)
}

/// What a thread has used, by its folder in `/proc`: the first number of its `schedstat`, in nanoseconds
/// (Documentation/scheduler/sched-stats.rst, Linux 6.18). Nothing when it has ended.
fn of_thread(folder: &Path) -> Duration {
    let text = fs::read_to_string(folder.join("schedstat")).unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|word| word.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Instant;

    use linerate::lab::Child;

    use super::*;

    #[test]
    fn what_a_program_starts_counts_with_it() {
        let script = "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; sleep 60' & wait";
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let program = Child::start(command).unwrap();
        let began = Instant::now();
        while of_process(program.id()).unwrap() < Duration::from_millis(20) {
            assert!(began.elapsed() < Duration::from_secs(60), "the loop takes longer than that");
        }
        assert!(of_process(u32::MAX).is_err());
    }
}
