//! What a capture has done, told where `LINERATE_REPORT` names a file: `linerate with --report` reads it.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use linerate::base::Stats;
use linerate::capture::{Capture, Config, Interrupt};

use super::at_exit::{Gate, Inside};

/// Names the file to which each capture adds a line at its end.
const REPORT: &str = "LINERATE_REPORT";

/// Where a capture will tell what it has done. The file is opened at the beginning, as a program may give up its
/// privileges.
#[derive(Debug)]
pub(super) struct Report {
    file: File,
    interface: String,
    interrupt: Interrupt,
    pub(super) gate: Gate,
    /// The process that tells: that which has begun to capture, or its child that has asked for packets last.
    process: AtomicU32,
    is_told: AtomicBool,
}

impl Report {
    /// As the environment asks; `None` where nobody does.
    pub(super) fn asked(config: &Config) -> Option<Self> {
        let path = env::var_os(REPORT).filter(|path| !path.is_empty())?;
        Some(Self {
            file: OpenOptions::new().append(true).create(true).open(path).ok()?,
            interface: config.interface.clone(),
            interrupt: config.interrupt.clone(),
            gate: Gate::default(),
            process: process::id().into(),
            is_told: false.into(),
        })
    }

    /// Lets the thread, and so its process, to the packets.
    pub(super) fn enter(&self) -> Inside<'_> {
        self.process.store(process::id(), Ordering::Relaxed);
        self.gate.enter()
    }

    /// Whether the capture is this process's, and not that of one that has forked.
    pub(super) fn is_this_process(&self) -> bool {
        self.process.load(Ordering::Relaxed) == process::id()
    }

    /// Has the wait for packets return, and those after it.
    pub(super) fn end_waits(&self) {
        self.interrupt.trigger();
    }

    /// Adds the line, once.
    pub(super) fn tell(&self, way: &str, stats: &Stats, sent: u64) {
        self.write(&line(&self.interface, way, stats, sent));
    }

    /// Adds a line that says why there is no such one.
    pub(super) fn tell_that_it_is_unknown(&self) {
        let why = "not known what was captured: a thread was at work when the program ended";
        self.write(&format!("{}: {why}\n", self.interface));
    }

    fn write(&self, line: &str) {
        if self.is_this_process() && !self.is_told.swap(true, Ordering::Relaxed) {
            // There is nobody to tell that there is nobody to tell.
            let _ = (&self.file).write_all(line.as_bytes());
        }
    }
}

/// How packets are captured.
pub(super) fn way(capture: &Capture) -> String {
    match capture.hook {
        Some(hook) => format!("the back end {} ({})", capture.backend, hook.name()),
        None => format!("the back end {}", capture.backend),
    }
}

fn line(interface: &str, way: &str, stats: &Stats, sent: u64) -> String {
    let Stats { delivered, pending, filtered, dropped, .. } = stats;
    let captured = delivered + pending;
    let filtered = match stats.filtered_uncounted {
        true => "those filtered out not counted".into(),
        false => format!("{filtered} filtered out"),
    };
    format!(
        "{interface}: {captured} packets captured, {dropped} dropped, {filtered}, {sent} sent, by {way}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_became_of_all_packets() {
        let mut stats = Stats {
            seen: 10,
            delivered: 4,
            pending: 1,
            filtered: 3,
            dropped: 2,
            ..Stats::default()
        };
        let way = "the back end tap (TCX)";
        assert_eq!(
            line("eth0", way, &stats, 7),
            "eth0: 5 packets captured, 2 dropped, 3 filtered out, 7 sent, by the back end tap (TCX)\n"
        );
        stats.filtered_uncounted = true;
        assert!(line("eth0", way, &stats, 0).contains("those filtered out not counted"));
    }
}
