//! A profile as a page: bars, a flame graph, what to do next.

use anyhow::Result;
use linerate::profile::cost::Cost;
use linerate::profile::flame::Frame;
use linerate::profile::next;

use super::{flame, report};
use crate::chart::{Stack, stacked};
use crate::components::GROUPS;
use crate::machine::Machine;
use crate::page::Page;

/// The page about what was profiled; without samples there is no flame graph.
pub(super) fn page(subject: &str, cost: &Cost, frames: Option<&Frame>) -> Result<Page> {
    let mut page = Page::new(&format!("What a packet costs: {subject}"));
    let machine = Machine::of_this();
    page.paragraph(&format!("{}. Made on {}.", machine.line(), machine.date));
    page.list(report::remarks(cost).iter().chain(&machine.warnings));
    page.heading("By component");
    page.figure(&bar(subject, cost)?, "A bar of what a packet costs, by component");
    page.table(&["component", "", "ns", "cycles", "%"], &report::rows(cost));
    page.heading("What to do next");
    let steps = next::steps(cost);
    if steps.is_empty() {
        page.paragraph("Nothing stands out: no component takes so much that it is worth a change.");
    } else {
        page.list(steps.iter().map(|step| {
            format!("{:.0} % {}: {}", 100.0 * step.share, step.component.name(), step.change)
        }));
    }
    if let Some(frames) = frames {
        page.heading("Who called whom");
        page.paragraph(
            "Each function stands on its caller, as wide as the time that it and all that it called took. Colours are those \
             of the components above. A pointer that rests on a function shows its share.",
        );
        page.figure(&flame::svg(frames), "A flame graph of the functions on a packet's way");
    }
    Ok(page)
}

fn bar(subject: &str, cost: &Cost) -> Result<String> {
    let is_each = cost.nanoseconds.is_some();
    let part = |(name, group): &(&str, &[_])| {
        let parts = cost.components.iter().filter(|part| group.contains(&part.component));
        let sizes = parts.map(|part| part.nanoseconds.unwrap_or(part.seconds * 1e3));
        ((*name).to_owned(), sizes.sum())
    };
    let stack = Stack { name: subject.to_owned(), parts: GROUPS.iter().map(part).collect() };
    let unit = if is_each { "ns a packet" } else { "ms in all" };
    stacked("", unit, &[stack])
}
