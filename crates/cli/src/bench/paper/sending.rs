//! P3, 4.1 and 4.4: packets sent, by one core and by two, and by the size of a batch.

use anyhow::Result;

use super::findings::Findings;
use super::{Conditions, figures};
use crate::bench::row::Row;
use crate::bench::send::batches::SIZES;
use crate::bench::send::subject::{FRAMES, RING};
use crate::bench::send::{Effort, rates_by_batch, rates_by_cores, syn_rates};
use crate::chart::{Axis, Line, Scale, bars, lines};

/// The rates of everybody.
pub(super) fn rates(conditions: &Conditions) -> Result<Findings> {
    const EXPERIMENT: &str = "P3.send";
    let effort = Effort::new(conditions.quick);
    let rows = syn_rates(effort)?;
    let rates: Vec<_> = rows.iter().filter(|row| row.unit == "packets/s").collect();
    let mut groups: Vec<(String, Vec<Option<f64>>)> = Vec::new();
    for row in &rates {
        match groups.iter_mut().find(|(subject, _)| *subject == row.subject) {
            Some((_, values)) => values.push(row.value),
            None => groups.push((row.subject.clone(), vec![row.value])),
        }
    }
    groups.iter_mut().for_each(|(_, values)| values.truncate(2));
    let series = ["one destination", "unique destinations"];
    let svg = bars("P3, 4.1: SYN packets by one core", "packets/s", &groups, &series);
    let one = Findings::of(EXPERIMENT, rows, &figures::SENDING)
        .remark(
            "Ours go over a veth pair to a host that drops them, whose receiving half runs on the sender's core, too; the paper's \
             went to a gigabit card, which ends at 1,488,095 packets a second. `raw IP sendto` stands where the paper has \
             Winsock. Live frames of user space take two cores.",
        )
        .chart(svg, "Packets a second by each way to send, as bars")?;
    let rows = rates_by_cores(effort)?;
    let several = Findings::of(EXPERIMENT, rows, &figures::CORES);
    let groups: Vec<_> =
        several.rows.iter().map(|row| (row.subject.clone(), vec![row.value])).collect();
    let svg = bars("P3, 4.1: one core and two", "packets/s", &groups, &["here"]);
    Ok(one.and(several.chart(svg, "Packets a second by one core and by two, as bars")?).remark(
        "The paper's four cores have a port each; ours are two, with a queue each of one wire.",
    ))
}

/// Rates and delays by the size of a batch.
pub(super) fn batches(conditions: &Conditions) -> Result<Findings> {
    const EXPERIMENT: &str = "P3.batch";
    let rows = rates_by_batch(Effort::new(conditions.quick))?;
    let names = ["AF_PACKET sendmmsg (mmsg)", RING, "AF_XDP (xdp)", FRAMES];
    let chart = |title: &str, case: &str, label: &str| {
        let shown: Vec<_> = names.iter().map(|name| line(&rows, case, name)).collect();
        let x = Axis { label: "packets of a batch".into(), scale: Scale::Logarithmic };
        let y = Axis { label: label.into(), scale: Scale::Logarithmic };
        lines(title, &x, &y, &shown)
    };
    let rates = chart("P3, 4.1: rate by the size of a batch", "batch size, rate", "packets/s");
    let delays =
        chart("P3, 4.4: delay by the size of a batch", "batch size, median delay", "ns, median");
    Findings::of(EXPERIMENT, rows, &[] as &[figures::Figure])
        .remark(
            "The paper: below 50 packets far from the best, the full rate from 128 to 1,024, less again for very large batches. \
             The delay is that of one packet from the hand-over until the receiving driver saw it, while as many are sent as can be.",
        )
        .chart(rates, "Packets a second against the size of a batch, as lines")?
        .chart(delays, "Nanoseconds of delay against the size of a batch, as lines")
}

fn line(rows: &[Row], case: &str, name: &str) -> Line {
    let point = |size: &usize| {
        let subject = format!("{name}, {size} at once");
        let row = rows.iter().find(|row| row.case == case && row.subject == subject)?;
        Some((*size as f64, row.value?))
    };
    Line { name: name.to_owned(), points: SIZES.iter().filter_map(point).collect() }
}
