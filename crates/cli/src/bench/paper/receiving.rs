//! P3, 4.2: packets received by one core, and by two.

use anyhow::Result;

use super::findings::Findings;
use super::{Conditions, approaches, figures};
use crate::bench::capture::can_begin;
use crate::bench::capture::stage::Stage;
use crate::bench::capture::subject::ours;
use crate::bench::progress::Progress;
use crate::bench::row::Row;
use crate::chart::bars;

const EXPERIMENT: &str = "P3.receive";
const SIZE: usize = 60;
const BUFFER: u64 = 16;

/// Flags of a way to capture, and whether the host's stack gets the packets.
type Way = (&'static str, &'static [&'static str], bool);

const RING: Way = ("ring (TPACKET_V3)", &["--backend", "ring"], true);
const EXCLUSIVE: Way =
    ("tap-xdp exclusive", &["--backend", "tap-xdp", "--exclusive", "--force"], false);
const WAYS: [Way; 4] = [
    RING,
    ("tap", &["--backend", "tap"], true),
    ("xdp (AF_XDP, copy mode)", &["--backend", "xdp", "--force"], false),
    EXCLUSIVE,
];

pub(super) const SHARED: &str = "60 B, each core sends, receives and captures, no loss up to";

pub(super) fn run(conditions: &Conditions) -> Result<Findings> {
    let subjects = WAYS.map(|(name, flags, passes)| ours(name, flags, passes, BUFFER, "/dev/null"));
    let rows = approaches::limits(conditions, subjects.into(), &[SIZE], BUFFER, RING.0)?;
    let title = "P3, 4.2: highest rate without loss, one core that captures";
    let one = chart(title, &rows)?;
    let shared = shared(conditions)?;
    let title = "P3, 4.2: highest rate without loss, cores that send, receive and capture";
    let both = chart(title, &shared)?;
    Findings::of(EXPERIMENT, [rows, shared].concat(), &figures::RECEIVING)
        .remark(
            "Packets come over a veth pair; one core sends and receives in the kernel, another one captures. Ratios are to the \
             packet ring, as the paper's are to PF_RING. Where no rate failed, the sender came to its own limit.",
        )
        .remark(
            "The paper's several cores were four, with a port each. Here each of one core or two does everything by a queue of \
             its own: it sends, receives in the kernel, and has a thread that captures (--threads). Ratios are to the packet \
             ring with one of them. A sender that keeps a rate waits by looking at the clock, which takes the time from the \
             other work of its core.",
        )
        .chart(Ok(one), "Highest rates without loss by back end, as bars")?
        .chart(Ok(both), "Highest rates without loss by back end and number of cores, as bars")
}

fn chart(title: &str, rows: &[Row]) -> Result<String> {
    let groups: Vec<_> = rows.iter().map(|row| (row.subject.clone(), vec![row.value])).collect();
    bars(title, "packets/s", &groups, &["here"])
}

/// One core that does everything, and two.
fn shared(conditions: &Conditions) -> Result<Vec<Row>> {
    let called = |name: &str, cores: usize| {
        format!("{name}, {cores} core{}", if cores == 1 { "" } else { "s" })
    };
    let progress = &mut Progress::new(2 * 2 * 2);
    let mut found = Vec::new();
    for cores in [1, 2] {
        let (stage, threads) = (Stage::shared(cores)?, cores.to_string());
        let subject = |(name, flags, passes): Way| {
            let flags = [flags, &["--threads", &threads]].concat();
            ours(&called(name, cores), &flags, passes, BUFFER, "/dev/null")
        };
        let mut subjects = vec![subject(RING), subject(EXCLUSIVE)];
        subjects.retain(|subject| can_begin(&stage, subject));
        found.extend(approaches::found(conditions, &stage, &subjects, SIZE, BUFFER, progress)?);
    }
    Ok(approaches::between(SHARED, &called(RING.0, 1), &found))
}
