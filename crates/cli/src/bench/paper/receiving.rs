//! P3, 4.2: packets received by one core.

use anyhow::Result;

use super::findings::{Findings, missing};
use super::{Conditions, approaches, figures};
use crate::bench::capture::subject::ours;
use crate::chart::bars;

const EXPERIMENT: &str = "P3.receive";
const BUFFER: u64 = 16;
pub(super) const FOUR_CORES: &str = "60 B, no loss up to, four cores";

pub(super) fn run(conditions: &Conditions) -> Result<Findings> {
    let ways: [(&str, &[&str], bool); 4] = [
        ("ring (TPACKET_V3)", &["--backend", "ring"], true),
        ("tap", &["--backend", "tap"], true),
        ("xdp (AF_XDP, copy mode)", &["--backend", "xdp", "--force"], false),
        ("tap-xdp exclusive", &["--backend", "tap-xdp", "--exclusive", "--force"], false),
    ];
    let subjects = ways.map(|(name, flags, passes)| ours(name, flags, passes, BUFFER, "/dev/null"));
    let mut rows = approaches::limits(conditions, subjects.into(), &[60], BUFFER, ways[0].0)?;
    let groups: Vec<_> = rows.iter().map(|row| (row.subject.clone(), vec![row.value])).collect();
    for subject in ["ring, 4 cores", "tap-xdp exclusive, 4 cores"] {
        rows.push(missing(FOUR_CORES, subject, "packets/s"));
    }
    let title = "P3, 4.2: highest rate without loss, one core that captures";
    let svg = bars(title, "packets/s", &groups, &["here"]);
    Findings::of(EXPERIMENT, rows, &figures::RECEIVING)
        .remark(
            "Packets come over a veth pair; one core sends and receives in the kernel, another one captures. Ratios are to the \
             packet ring, as the paper's are to PF_RING. Where no rate failed, the sender came to its own limit. Receiving by \
             four cores is missing: this lab has two, one of which sends.",
        )
        .chart(svg, "Highest rates without loss by back end, as bars")
}
