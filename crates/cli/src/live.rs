//! The live line: rates and drops, on a terminal, while a capture runs or packets are sent.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use linerate::base::Stats;
use linerate::capture::disk::Stalls;

use terminal_size::{Width, terminal_size_of};

use crate::units::{grouped, roughly};

/// How often it is to be drawn anew.
pub(crate) const EVERY: Duration = Duration::from_millis(500);

/// A line on standard error that is overwritten as the counters move; off a terminal it is a clock
/// that shows nothing.
pub(crate) struct LiveLine {
    visible: bool,
    began: Instant,
    shown: Instant,
    delivered: u64,
    drawn: bool,
}

impl LiveLine {
    /// A live line, visible where it is `wanted` and standard error is a terminal.
    pub(crate) fn new(wanted: bool) -> Self {
        let now = Instant::now();
        let visible = wanted && io::stderr().is_terminal();
        Self { visible, began: now, shown: now, delivered: 0, drawn: false }
    }

    /// False where it shows nothing.
    pub(crate) fn is_visible(&self) -> bool {
        self.visible
    }

    /// Draws the counters and the rate since the last time. A terminal that is gone is no reason
    /// to end a capture, so write errors are passed over.
    pub(crate) fn draw(&mut self, stats: &Stats, stalls: Stalls) {
        self.show(stats.delivered, |rate, elapsed| line(stats, stalls, rate, elapsed));
    }

    /// True when it is to be drawn anew.
    pub(crate) fn is_due(&self) -> bool {
        self.shown.elapsed() >= EVERY
    }

    /// Draws what `text` says of the rate since the last time and of the time since the beginning.
    pub(crate) fn show(&mut self, packets: u64, text: impl FnOnce(u64, Duration) -> String) {
        if self.visible {
            let span = self.shown.elapsed().as_secs_f64();
            let rate = packets.saturating_sub(self.delivered) as f64 / span;
            let text = fitted(text(rate as u64, self.began.elapsed()));
            let _ = write!(io::stderr(), "\r\x1b[K{text}");
        }
        self.delivered = packets;
        self.shown = Instant::now();
        self.drawn = self.visible;
    }

    /// Clears the line for other output.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// Cut to the terminal's width: a line that wraps cannot be overwritten.
fn fitted(mut line: String) -> String {
    if let Some((Width(width), _)) = terminal_size_of(io::stderr()) {
        line.truncate(usize::from(width).saturating_sub(1)); // it is all ASCII
    }
    line
}

/// How every line begins.
pub(crate) fn packets(packets: u64, rate: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    format!("{minutes}:{seconds:02}  {} packets  {}/s", grouped(packets), grouped(rate))
}

/// How a line ends of what goes through many targets: how long `left` more take, where `sent` took as long as it did, at the rate
/// of now or, in a pause, at that of all.
pub(crate) fn ahead(left: u64, sent: u64, rate: u64, elapsed: Duration) -> String {
    let average = sent as f64 / elapsed.as_secs_f64();
    match left as f64 / average.max(rate as f64) {
        0.0 => "waiting for answers".into(),
        seconds if seconds.is_finite() => format!("{} left", roughly(seconds)),
        _ => "waiting to begin".into(),
    }
}

fn line(stats: &Stats, stalls: Stalls, rate: u64, elapsed: Duration) -> String {
    let mut text = packets(stats.delivered, rate, elapsed);
    if stats.dropped > 0 {
        text += &format!("  {} dropped", grouped(stats.dropped));
    }
    if let Some(lost @ 1..) = stats.interface_dropped {
        text += &format!("  {} lost by the interface", grouped(lost));
    }
    if stalls.count > 0 {
        text += &format!("  disk waited for {:.1} s", stalls.time.as_secs_f64());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_ahead_is_that_of_now_or_of_all() {
        let at = |left, sent, rate| ahead(left, sent, rate, Duration::from_secs(10));
        assert_eq!(at(5_000, 1_000, 50), "50 s left");
        assert_eq!(at(5_000, 1_000, 500), "10 s left");
        assert_eq!(at(0, 1_000, 500), "waiting for answers");
        assert_eq!(at(5_000, 0, 0), "waiting to begin");
    }

    #[test]
    fn the_line_tells_rate_drops_and_time() {
        let stats =
            Stats { delivered: 12_345, dropped: 6, interface_dropped: Some(7), ..Stats::default() };
        let stalls = Stalls { count: 3, time: Duration::from_millis(450) };
        assert_eq!(
            line(&stats, stalls, 1000, Duration::from_secs(65)),
            "1:05  12,345 packets  1,000/s  6 dropped  7 lost by the interface  disk waited for 0.5 s"
        );
    }
}
