//! What a capture has done, told where `LINERATE_REPORT` names a file: `linerate with --report` reads it.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::Write;

use linerate::base::Stats;
use linerate::capture::Capture;

/// Names the file to which each capture adds a line at its end.
const REPORT: &str = "LINERATE_REPORT";

/// Where a capture will tell what it has done. The file is opened at the beginning, as a program may give up its
/// privileges.
#[derive(Debug)]
pub(crate) struct Report(File);

impl Report {
    /// Of the environment; `None` where nobody asks.
    pub(crate) fn asked() -> Option<Self> {
        let path = env::var_os(REPORT).filter(|path| !path.is_empty())?;
        OpenOptions::new().append(true).create(true).open(path).ok().map(Self)
    }

    /// Adds the line.
    pub(crate) fn tell(&mut self, interface: &str, way: &str, stats: &Stats, sent: u64) {
        let line = line(interface, way, stats, sent);
        // There is nobody to tell that there is nobody to tell.
        let _ = self.0.write_all(line.as_bytes());
    }
}

/// How packets are captured.
pub(crate) fn way(capture: &Capture) -> String {
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
