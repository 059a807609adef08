//! Readings as a table that is drawn over, as lines, or as JSON.

use std::fmt::{Display, Write as _};
use std::io::{self, IsTerminal, Write as _};
use std::time::{Duration, Instant};

use anyhow::Result;
use linerate::capture::{Reading, Tally};
use serde::Serialize;
use terminal_size::{Height, Width, terminal_size};

use crate::output;
use crate::units::grouped;

/// How readings are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Table,
    Lines,
    Json,
}

/// What is shown of one reading after the other.
pub(super) struct Report {
    form: Form,
    /// `total`, and the filters.
    names: Vec<String>,
    began: Instant,
    /// Time since the beginning, and counts, of the last reading.
    last: (Duration, Vec<Tally>),
    /// Lines of the table that is on the screen.
    drawn: usize,
}

/// What was counted in one interval, or altogether.
struct Row<'a> {
    name: &'a str,
    interval: Tally,
    sum: Tally,
}

#[derive(Serialize)]
struct Record<'a> {
    /// Since the beginning, at the interval's end.
    seconds: f64,
    /// Length of the interval.
    interval: f64,
    packets: u64,
    bytes: u64,
    filters: Vec<FilterRecord<'a>>,
}

#[derive(Serialize)]
struct FilterRecord<'a> {
    filter: &'a str,
    packets: u64,
    bytes: u64,
}

impl Report {
    /// A report on these filters that begins now.
    pub(super) fn new(filters: Vec<String>, json: bool) -> Self {
        let form = match json {
            true => Form::Json,
            false if io::stdout().is_terminal() => Form::Table,
            false => Form::Lines,
        };
        let names: Vec<_> = std::iter::once("total".to_owned()).chain(filters).collect();
        let last = (Duration::ZERO, vec![Tally::default(); names.len()]);
        Self { form, names, began: Instant::now(), last, drawn: 0 }
    }

    /// Shows what was counted since the last reading.
    ///
    /// # Errors
    /// When standard output cannot take it.
    pub(super) fn add(&mut self, reading: &Reading) -> Result<()> {
        let (now, sums) = (self.began.elapsed(), tallies(reading));
        let interval = now.saturating_sub(self.last.0);
        let rows: Vec<_> = self.rows(&sums).collect();
        let text = match self.form {
            Form::Table => table(&rows, interval),
            Form::Lines if self.last.0.is_zero() => heading() + &lines(&rows, now),
            Form::Lines => lines(&rows, now),
            Form::Json => json(&rows, now, interval),
        };
        drop(rows);
        self.last = (now, sums);
        self.show(&text)
    }

    /// Shows the last reading, and the totals where they are not on the screen.
    ///
    /// # Errors
    /// When standard output cannot take it.
    pub(super) fn finish(&mut self, reading: &Reading) -> Result<()> {
        self.add(reading)?;
        match self.form {
            Form::Table => {}
            Form::Lines => self.tell_totals(),
            Form::Json => self.tell_totals_as_json(),
        }
        Ok(())
    }

    /// Says something beside the readings; a table that is on the screen stays there.
    pub(super) fn note(&mut self, text: impl Display) {
        self.drawn = 0;
        output::tell(text);
    }

    /// As one interval from the beginning.
    fn tell_totals_as_json(&self) {
        let (now, sums) = &self.last;
        let rows = self.names.iter().zip(sums);
        let rows: Vec<_> =
            rows.map(|(name, sum)| Row { name, interval: *sum, sum: *sum }).collect();
        // A terminal that is gone is no reason to fail.
        let _ = io::stderr().write_all(json(&rows, *now, *now).as_bytes());
    }

    fn tell_totals(&self) {
        let width = self.names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let width = width.min(LONGEST_NAME);
        for (name, Tally { packets, bytes }) in self.names.iter().zip(&self.last.1) {
            let (packets, bytes) = (grouped(*packets), grouped(*bytes));
            let name = shortened(name);
            output::tell(format_args!("{name:width$}  {packets} packets, {bytes} bytes"));
        }
    }

    fn rows(&self, sums: &[Tally]) -> impl Iterator<Item = Row<'_>> {
        let before = self.last.1.iter();
        self.names.iter().zip(sums.to_vec()).zip(before).map(|((name, sum), before)| Row {
            name,
            interval: sum.since(*before),
            sum,
        })
    }

    /// A table goes over the one before it.
    fn show(&mut self, text: &str) -> Result<()> {
        if self.form == Form::Table && self.drawn > 0 {
            output::text(format_args!("\x1b[{}A\x1b[J", self.drawn))?;
        }
        self.drawn = text.lines().count();
        output::text(text)?;
        Ok(io::stdout().flush()?)
    }
}

/// The most characters of a filter that are shown; all of them only in JSON.
const LONGEST_NAME: usize = 60;

fn shortened(name: &str) -> String {
    if name.chars().count() <= LONGEST_NAME {
        return name.into();
    }
    name.chars().take(LONGEST_NAME - 3).chain("...".chars()).collect()
}

fn tallies(reading: &Reading) -> Vec<Tally> {
    std::iter::once(reading.total).chain(reading.filters.iter().copied()).collect()
}

/// As many rows, and as much of each, as fit on the screen: lines that wrap or scroll away cannot be
/// drawn over.
fn table(rows: &[Row<'_>], interval: Duration) -> String {
    let (Width(width), Height(height)) = terminal_size().unwrap_or((Width(80), Height(24)));
    let room = usize::from(height).saturating_sub(3).max(1);
    let mut text =
        format!("{:>13} {:>12} {:>16} {:>19}  filter\n", "packets/s", "Mbit/s", "packets", "bytes");
    let seconds = interval.as_secs_f64().max(1e-9);
    for Row { name, interval, sum } in rows.iter().take(room) {
        let rate = grouped((interval.packets as f64 / seconds).round() as u64);
        let megabits = interval.bytes as f64 * 8e-6 / seconds;
        let (packets, bytes) = (grouped(sum.packets), grouped(sum.bytes));
        let name = shortened(name);
        let _ = writeln!(text, "{rate:>13} {megabits:>12.3} {packets:>16} {bytes:>19}  {name}");
    }
    if let Some(hidden @ 1..) = rows.len().checked_sub(room) {
        let _ = writeln!(text, "and {hidden} more, for which the screen is too small");
    }
    let fitted =
        |line: &str| line.chars().take(usize::from(width)).chain(['\n']).collect::<String>();
    text.lines().map(fitted).collect()
}

/// What is above the first lines.
fn heading() -> String {
    format!("{:>10} {:>12} {:>15}  filter\n", "seconds", "packets", "bytes")
}

/// What each interval had, so that a column's sum is the total.
fn lines(rows: &[Row<'_>], now: Duration) -> String {
    let mut text = String::new();
    for Row { name, interval: Tally { packets, bytes }, .. } in rows {
        let (seconds, name) = (now.as_secs_f64(), shortened(name));
        let _ = writeln!(text, "{seconds:10.3} {packets:>12} {bytes:>15}  {name}");
    }
    text
}

/// # Panics
/// Without a row: the first is the total.
fn json(rows: &[Row<'_>], now: Duration, interval: Duration) -> String {
    let (total, filters) = (rows[0].interval, &rows[1..]);
    let record = Record {
        seconds: now.as_secs_f64(),
        interval: interval.as_secs_f64(),
        packets: total.packets,
        bytes: total.bytes,
        filters: filters
            .iter()
            .map(|Row { name, interval: Tally { packets, bytes }, .. }| FilterRecord {
                filter: name,
                packets: *packets,
                bytes: *bytes,
            })
            .collect(),
    };
    serde_json::to_string(&record).expect("a record has text keys only") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> [Row<'static>; 2] {
        let tally = |packets| Tally { packets, bytes: 100 * packets };
        [
            Row { name: "total", interval: tally(3000), sum: tally(1_234_567) },
            Row { name: "tcp port 80", interval: tally(1), sum: tally(2) },
        ]
    }

    #[test]
    fn a_table_has_rates_and_sums() {
        let text = table(&rows(), Duration::from_millis(500));
        let expected = "    packets/s       Mbit/s          packets               bytes  filter\n\
                        \u{20}       6,000        4.800        1,234,567         123,456,700  total\n\
                        \u{20}           2        0.002                2                 200  tcp port 80\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn lines_have_the_counts_of_an_interval() {
        let expected = "   seconds      packets           bytes  filter\n\
                        \u{20}    2.500         3000          300000  total\n\
                        \u{20}    2.500            1             100  tcp port 80\n";
        assert_eq!(heading() + &lines(&rows(), Duration::from_millis(2500)), expected);
    }

    #[test]
    fn of_a_long_filter_the_beginning_is_shown() {
        assert_eq!(shortened(&"x".repeat(60)), "x".repeat(60));
        assert_eq!(shortened(&"x".repeat(100_000)), format!("{}...", "x".repeat(57)));
    }

    #[test]
    fn an_interval_is_one_object() {
        let text = json(&rows(), Duration::from_millis(2500), Duration::from_millis(500));
        let expected = "{\"seconds\":2.5,\"interval\":0.5,\"packets\":3000,\"bytes\":300000,\
            \"filters\":[{\"filter\":\"tcp port 80\",\"packets\":1,\"bytes\":100}]}\n";
        assert_eq!(text, expected);
    }
}
