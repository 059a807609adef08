//! What a README shows: each figure of a paper's system beside ours.

use std::fmt::Write as _;

use super::Done;
use super::report::{range, told};
use crate::bench::row::Row;
use crate::chart::short;

/// A table in Markdown. Rows of the systems that others are compared with are left out: their ratio is 1.
pub(super) fn markdown(done: &[Done]) -> String {
    let mut text = "| experiment | | the paper's | ratio | here | ratio |\n| --- | --- | --- | --- | --- | --- |\n".to_owned();
    for done in done {
        for row in &done.findings.rows {
            let line = line(done.experiment.names[0], row).unwrap_or_default();
            text.push_str(&line);
        }
    }
    text
}

/// `None` where no paper's figure stands beside the row, or one that is its own baseline.
fn line(experiment: &str, row: &Row) -> Option<String> {
    let paper = row.paper.as_ref().filter(|paper| paper.ratio != Some((1.0, 1.0)))?;
    let unit = row.unit;
    let here = row.value.map_or_else(|| "missing".to_owned(), |v| format!("{} {unit}", short(v)));
    let ratio = row.ratio.map_or_else(String::new, |ratio| format!("{ratio:.1} x"));
    let theirs = paper.ratio.map_or_else(String::new, |ratio| format!("{} x", range(ratio)));
    let mut line = String::new();
    let _ = writeln!(
        line,
        "| {experiment} | {} | {} | {theirs} | {}: {here} | {ratio} |",
        row.case,
        told(paper),
        row.subject
    );
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::super::findings::missing;
    use super::*;
    use crate::bench::row::Paper;

    #[test]
    fn ours_stands_beside_the_papers_and_baselines_are_left_out() {
        let paper = |value, ratio| Paper {
            system: "zero-copy",
            value: Some(value),
            unit: "packets/s",
            ratio: Some((ratio, ratio)),
        };
        let mut row = missing("60 B", "tap", "packets/s");
        assert_eq!(line("P4.table1", &row), None);
        (row.value, row.ratio) = (Some(6e6), Some(1.54));
        row.paper = Some(paper(947_252.0, 7.12));
        let told = "| P4.table1 | 60 B | 947 k packets/s (zero-copy) | 7.12 x | tap: 6 M packets/s | 1.5 x |\n";
        assert_eq!(line("P4.table1", &row).as_deref(), Some(told));
        row.paper = Some(paper(132_979.0, 1.0));
        assert_eq!(line("P4.table1", &row), None);
    }
}
