//! Costs as tables.

use std::fmt::Write as _;

use linerate::profile::cost::{ComponentCost, Cost};

use crate::units::grouped;

/// A line for each component, and what they sum to.
pub(super) fn table(cost: &Cost) -> String {
    let mut text = format!("{:<28} {:>10} {:>10} {:>8}\n", "per packet", "ns", "cycles", "%");
    for part in &cost.components {
        line(&mut text, part.component.name(), part.nanoseconds, part.cycles, part.share);
    }
    let cycles = cost.nanoseconds.zip(cost.cycles_per_nanosecond).map(|(time, rate)| time * rate);
    let share = if cost.components.iter().any(|part| part.seconds > 0.0) { 1.0 } else { 0.0 };
    line(&mut text, "whole", cost.nanoseconds, cycles, share);
    text
}

/// A row for each component, for a page.
pub(super) fn rows(cost: &Cost) -> Vec<Vec<String>> {
    let row = |part: &ComponentCost| {
        let (time, cycles) = (number(part.nanoseconds), number(part.cycles));
        let share = format!("{:.1}", 100.0 * part.share);
        vec![part.component.name().to_owned(), String::new(), time, cycles, share]
    };
    cost.components.iter().map(row).collect()
}

fn line(text: &mut String, name: &str, nanoseconds: Option<f64>, cycles: Option<f64>, share: f64) {
    let (time, cycles, share) = (number(nanoseconds), number(cycles), 100.0 * share);
    let _ = writeln!(text, "{name:<28} {time:>10} {cycles:>10} {share:>8.1}");
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"))
}

/// How well it is known.
pub(super) fn remarks(cost: &Cost) -> Vec<String> {
    let mut remarks = cost.missing.clone();
    let sampled = || {
        let by = if cost.sampled_by == "timer" { "a timer" } else { "the processor's cycles" };
        let (samples, share) = (grouped(cost.samples), 100.0 * cost.overhead);
        format!("; {samples} samples by {by}, which took {share:.2} % of the processors' time")
    };
    let sampled = if cost.samples > 0 { sampled() } else { String::new() };
    remarks.push(format!("{} packets in {:.1} s{sampled}", grouped(cost.packets), cost.seconds));
    if cost.cycles_per_nanosecond.is_some() {
        remarks.push("cycles are those of the time-stamp counter".into());
    }
    if cost.lost_samples > 0 {
        remarks.push(format!("{} samples found no room", grouped(cost.lost_samples)));
    }
    if cost.packets == 0 {
        remarks.push("no packet came: costs are those of waiting".into());
    }
    remarks
}

/// Two profiles side by side.
pub(super) fn compare(before: &Cost, after: &Cost) -> String {
    let mut text =
        format!("{:<28} {:>10} {:>10} {:>8}\n", "ns per packet", "before", "after", "change");
    let of = |parts: &[ComponentCost], n: usize| parts.get(n).and_then(|part| part.nanoseconds);
    for (n, part) in before.components.iter().enumerate() {
        let both = [of(&before.components, n), of(&after.components, n)];
        change(&mut text, part.component.name(), both);
    }
    change(&mut text, "whole", [before.nanoseconds, after.nanoseconds]);
    text
}

fn change(text: &mut String, name: &str, [before, after]: [Option<f64>; 2]) {
    let ratio = before.zip(after).filter(|(before, _)| *before > 0.0);
    let ratio = ratio.map_or_else(
        || "-".to_owned(),
        |(before, after)| format!("{:+.0} %", 100.0 * (after / before - 1.0)),
    );
    let _ = writeln!(text, "{name:<28} {:>10} {:>10} {ratio:>8}", number(before), number(after));
}
