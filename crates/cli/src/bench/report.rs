//! Rows as a table for people, or one JSON object a line.

use std::fmt::Write as _;

use anyhow::Result;

use super::row::{Paper, Row};
use crate::{machine, output};

/// Prints the rows on standard output.
///
/// # Errors
/// When standard output cannot take them.
pub(crate) fn print(rows: &[Row], json: bool) -> Result<()> {
    let text = if json { lines(rows)? } else { table(rows) };
    output::text(text)
}

/// One JSON object a line.
///
/// # Errors
/// None that can be expected.
pub(crate) fn lines<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Result<String> {
    let mut text = String::new();
    for row in rows {
        text += &serde_json::to_string(row)?;
        text.push('\n');
    }
    Ok(text)
}

fn table(rows: &[Row]) -> String {
    let mut text = format!("{}\n\n", machine::describe());
    let widths = Widths::of(rows);
    let heads = ["experiment", "case", "subject", "median", "min .. max", "unit", "ratio"];
    let _ = writeln!(text, "{}", widths.line(heads));
    for row in rows {
        let _ = writeln!(text, "{}", line(&widths, row));
    }
    text + &settings(rows)
}

/// How the subjects were started, each once.
fn settings(rows: &[Row]) -> String {
    let told = rows.iter().filter_map(|row| Some((&row.subject, row.settings.as_ref()?)));
    let mut lines: Vec<_> = told.map(|(subject, text)| format!("{subject}: {text}\n")).collect();
    lines.sort();
    lines.dedup();
    if lines.is_empty() { String::new() } else { format!("\n{}", lines.concat()) }
}

/// Of the columns with words, the widest in each.
struct Widths([usize; 3]);

impl Widths {
    fn of(rows: &[Row]) -> Self {
        let words = |row: &Row| [row.experiment.len(), row.case.len(), row.subject.len()];
        Self(rows.iter().map(words).fold([10, 26, 36], |widest, row| {
            [widest[0].max(row[0]), widest[1].max(row[1]), widest[2].max(row[2])]
        }))
    }

    fn line(&self, [experiment, case, subject, value, spread, unit, ratio]: [&str; 7]) -> String {
        let [a, b, c] = self.0;
        format!(
            "{experiment:<a$} {case:<b$} {subject:<c$} {value:>12} {spread:>25} {unit:<8} {ratio:>8}"
        )
    }
}

fn line(widths: &Widths, row: &Row) -> String {
    let value = row.value.map_or("missing".into(), figure);
    let spread =
        row.spread.map_or(String::new(), |(a, b)| format!("{} .. {}", figure(a), figure(b)));
    let ratio = row.ratio.map_or(String::new(), |ratio| format!("{ratio:.2} x"));
    let words = [row.experiment, &row.case, &row.subject, &value, &spread, row.unit, &ratio];
    widths.line(words) + &row.paper.as_ref().map_or(String::new(), beside)
}

/// What a paper has.
fn beside(paper: &Paper) -> String {
    let value = paper.value.map(|value| format!("{} {}", figure(value), paper.unit));
    let ratio = paper.ratio.map(|(low, high)| match low == high {
        true => format!("{low:.2} x"),
        false => format!("{low:.1} to {high:.1} x"),
    });
    let told: Vec<_> = [value, ratio].into_iter().flatten().collect();
    format!("   paper: {} ({})", told.join(", "), paper.system)
}

/// Three or more significant digits, without an exponent.
fn figure(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        0.1.. => format!("{value:.3}"),
        0.0 => "0".into(),
        _ => format!("{value:.5}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_peer_is_named_as_missing() {
        let row = Row {
            experiment: "read",
            case: "1 GB".into(),
            subject: "tcpdump".into(),
            value: None,
            spread: None,
            confidence: None,
            unit: "s",
            baseline: None,
            ratio: None,
            settings: None,
            paper: None,
        };
        let text = table(&[row]);
        assert!(text.contains("tcpdump") && text.contains("missing"), "{text}");
    }

    #[test]
    fn a_papers_figure_stands_behind_ours() {
        let paper = |value, ratio| Paper { system: "NPF", value, unit: "cycles", ratio };
        let told = [paper(Some(270.0), Some((6.6, 6.6))), paper(None, Some((3.1, 5.0)))];
        let told = told.map(|paper| beside(&paper));
        assert_eq!(told, ["   paper: 270 cycles, 6.60 x (NPF)", "   paper: 3.1 to 5.0 x (NPF)"]);
    }

    #[test]
    fn figures_keep_three_digits() {
        assert_eq!(
            [figure(1234.5), figure(12.34), figure(0.01234), figure(0.0)],
            ["1234", "12.3", "0.01234", "0"]
        );
    }
}
