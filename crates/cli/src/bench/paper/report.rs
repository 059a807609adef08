//! The page.

use super::Done;
use crate::bench::row::{Paper, Row};
use crate::chart::short;
use crate::machine::Machine;
use crate::page::Page;

/// Everything, with charts.
pub(super) fn page(machine: &Machine, is_quick: bool, done: &[Done]) -> Page {
    let mut page = Page::new("linerate beside the papers that it follows");
    page.paragraph(&format!("{}. Made on {}.", machine.line(), machine.date));
    page.paragraph(
        "Each experiment of the papers was made again, in a lab of two network namespaces on one veth pair. Machines of twenty \
         years lie between their figures and these; so each has its ratio to the same kind of baseline beside it: more \
         than 1 is better than that. `Interval` is from the smallest to the largest run, and the true median lies in it with \
         the probability that stands behind.",
    );
    if is_quick {
        page.paragraph("Made with --quick: few and short runs, a first impression.");
    }
    for warning in &machine.warnings {
        page.paragraph(warning);
    }
    for done in done {
        section(&mut page, done);
    }
    page
}

fn section(page: &mut Page, done: &Done) {
    page.heading(&format!("{}: {}", done.experiment.name(), done.experiment.title));
    done.findings.remarks.iter().for_each(|remark| page.paragraph(remark));
    for (svg, words) in &done.findings.charts {
        page.figure(svg, words);
    }
    let heads = ["what", "who", "here", "interval", "unit", "ratio", "the paper's", "its ratio"];
    let rows: Vec<_> = done.findings.rows.iter().map(line).collect();
    page.table(&heads, &rows);
    if !done.findings.points.is_empty() {
        let points = done.findings.points.iter().map(|row| line(row)[..5].to_vec());
        page.folded("The points of the charts", &heads[..5], &points.collect::<Vec<_>>());
    }
    page.paragraph(&format!("Took {} s.", done.took.as_secs()));
}

fn line(row: &Row) -> Vec<String> {
    let value = row.value.map_or_else(|| "missing".to_owned(), short);
    // Of one run there is no interval, unless it was a search.
    let spread = row.spread.filter(|(low, high)| row.confidence.is_some() || low < high);
    let spread = spread.map_or_else(String::new, |(low, high)| {
        let sure = row.confidence.map_or_else(String::new, |c| format!(" ({:.0} %)", 100.0 * c));
        format!("{} .. {}{sure}", short(low), short(high))
    });
    let ratio = row.ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
    let paper = row.paper.as_ref();
    vec![
        row.case.clone(),
        row.subject.clone(),
        value,
        spread,
        row.unit.to_owned(),
        ratio,
        paper.map_or_else(String::new, told),
        paper.and_then(|paper| paper.ratio).map_or_else(String::new, range),
    ]
}

pub(super) fn told(paper: &Paper) -> String {
    match paper.value {
        Some(value) => format!("{} {} ({})", short(value), paper.unit, paper.system),
        None => paper.system.to_owned(),
    }
}

pub(super) fn range((low, high): (f64, f64)) -> String {
    if low == high { format!("{low:.2}") } else { format!("{low:.1} to {high:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_here_stands_beside_the_papers_figure() {
        let mut row = super::super::findings::missing("TCP", "user space", "connections/s");
        let ratio = Some((15.0, 15.0));
        row.paper = Some(Paper {
            system: "IRLstack",
            value: Some(250_000.0),
            unit: "connections/s",
            ratio,
        });
        let cells = line(&row);
        assert_eq!(cells[2], "missing");
        assert_eq!(cells[6..], ["250 k connections/s (IRLstack)", "15.00"]);
        assert_eq!(range((3.1, 5.0)), "3.1 to 5.0");
    }
}
