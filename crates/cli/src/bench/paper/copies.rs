//! P1, Figures 5 and 8: what copying a byte costs, by the sizes of packets and of the buffer.
//!
//! A copy's cost is the difference between packets captured whole and the same packets captured with their first bytes
//! only: of the sending core for the first copy, of the reader's for the second.

use anyhow::Result;

use super::findings::{Figures, Findings, by_case};
use super::{Conditions, figures};
use crate::bench::capture::measure::Overload;
use crate::bench::capture::stage::Stage;
use crate::bench::capture::subject::{Subject, ours};
use crate::bench::profile::trials::Trials;
use crate::bench::progress::Progress;
use crate::bench::row::compare;
use crate::chart::{Axis, Line, Scale, lines};

const EXPERIMENT: &str = "P1.fig5";
const SIZES: [usize; 3] = [128, 512, 1514];
/// Bytes of a packet that are captured where no more than that is wanted.
const FIRST: usize = 32;
/// Back ends and their buffers in MiB.
const WAYS: [(&str, u64); 5] = [("ring", 4), ("ring", 64), ("tap", 4), ("tap", 64), ("socket", 64)];

const FIRST_COPY: &str = "first copy";
const SECOND_COPY: &str = "second copy";

pub(super) fn run(conditions: &Conditions) -> Result<Findings> {
    let stage = Stage::new()?;
    let progress = &mut Progress::new(SIZES.len() * 2 * WAYS.len());
    let mut rows = Vec::new();
    for size in SIZES {
        let (mut first, mut second) = (Figures::new(), Figures::new());
        for (backend, buffer) in WAYS {
            let subjects = vec![way(backend, buffer, FIRST), way(backend, buffer, size)];
            let names = [FIRST, size].map(|bytes| name(backend, buffer, bytes));
            let effort = conditions.effort(buffer);
            let trials = Trials::make(&stage, subjects, size, &effort, progress)?;
            let each = (size - FIRST) as f64 / conditions.cycles;
            let beyond =
                |figure: fn(&Overload) -> f64| trials.beyond(&names[1], &names[0], each, figure);
            let told = format!("{backend}, {buffer} MiB");
            match backend {
                // Its queue holds the packet itself: nothing is copied before it is received.
                "socket" => second.push((told, beyond(|o| o.consumer.unwrap_or(0.0)))),
                _ => first.push((told, beyond(|o| o.sender))),
            }
        }
        let case = |copy: &str| format!("{copy}, {size} B");
        rows.extend(compare(EXPERIMENT, &case(FIRST_COPY), "cycles/byte", "ring, 64 MiB", &first));
        rows.extend(compare(EXPERIMENT, &case(SECOND_COPY), "cycles/byte", "", &second));
    }
    let line = |copy: &str, backend: &str, buffer: u64| {
        let cases = SIZES.map(|size| format!("{copy}, {size} B"));
        let costs = by_case(&rows, &cases, &format!("{backend}, {buffer} MiB"));
        let points = SIZES.iter().zip(costs).filter_map(|(x, y)| Some((*x as f64, y?)));
        Line { name: format!("{copy}: {backend}, {buffer} MiB"), points: points.collect() }
    };
    let shown = WAYS.map(|(backend, buffer)| {
        line(if backend == "socket" { SECOND_COPY } else { FIRST_COPY }, backend, buffer)
    });
    let x = Axis { label: "bytes of a packet".into(), scale: Scale::Linear };
    let y = Axis { label: "cycles a byte".into(), scale: Scale::Linear };
    let svg = lines("P1, Figures 5 and 8: cost of copies", &x, &y, &shown);
    let remark = "The tap and TPACKET_V3 (ring) copy once, into memory that the reader shares; a socket's packets are copied \
                  once when they are received. No way here copies twice, as the paper's did. Packets of up to 128 bytes a tap's \
                  program copies by itself. Less than nothing means less than the spread of the trials.";
    Findings::of(EXPERIMENT, rows, &figures::COPIES)
        .remark(remark)
        .chart(svg, "Cycles for each byte copied, against the size of packets, as lines")
}

fn name(backend: &str, buffer: u64, bytes: usize) -> String {
    format!("{backend}, {buffer} MiB, -s {bytes}")
}

fn way(backend: &str, buffer: u64, bytes: usize) -> Subject {
    let flags = ["--backend", backend, "-s", &bytes.to_string()];
    ours(&name(backend, buffer, bytes), &flags, true, buffer, "/dev/null")
}
