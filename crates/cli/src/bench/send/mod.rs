//! `linerate bench send`: what each way of sending costs, and how fast and how exactly it goes.
//!
//! - [`packets`]: what is sent
//! - [`ground`]: where it goes
//! - [`subject`]: who sends: our back ends, [`raw_ip`] sockets as applications have them, [`peer`]s
//! - [`running`]: one who is sending, on the sender's core
//! - [`trial`]: what is seen of it meanwhile; [`tables`]: that as rows
//! - [`batches`], [`queues`], [`pacing`], [`coverage`]: further figures of our own ways; [`observe`]: the receiving
//!   host looks at every packet for these
//!
//! `docs/benchmarks.md` says how each figure comes about.

pub(super) mod batches;
mod choice;
mod coverage;
mod ground;
mod observe;
mod pacing;
mod packets;
mod peer;
mod queues;
mod raw_ip;
mod running;
pub(super) mod subject;
mod tables;
mod trial;

use std::time::Duration;

use anyhow::Result;

use super::progress::Progress;
use super::row::Row;
use super::runner::in_turn;
use crate::args::BenchArgs;
use choice::{Choice, Part};
use ground::{Device, Ground};
use packets::Packets;
use subject::Subject;

/// How much is measured.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// Trials of each subject.
    repeats: usize,
    /// Length of a trial.
    time: Duration,
    /// For how long a rate is kept.
    pacing: Duration,
    quick: bool,
}

impl Effort {
    pub(super) fn new(quick: bool) -> Self {
        let (repeats, [time, pacing]) = if quick { (1, [200, 1000]) } else { (3, [500, 10_000]) };
        let [time, pacing] = [time, pacing].map(Duration::from_millis);
        Self { repeats, time, pacing, quick }
    }

    /// What packets go where: to the wire, and some to where they are forgotten.
    fn cases(self) -> Vec<(Packets, Device)> {
        let [_, udp, one_syn, syn] = Packets::ALL;
        let wired = if self.quick { vec![one_syn, syn] } else { Packets::ALL.to_vec() };
        let wired = wired.into_iter().map(|packets| (packets, Device::Veth));
        let forgotten = if self.quick { vec![syn] } else { vec![udp, syn] };
        wired.chain(forgotten.into_iter().map(|packets| (packets, Device::Ifb))).collect()
    }
}

pub(super) fn run(args: &BenchArgs) -> Result<Vec<Row>> {
    let (effort, choice) = (Effort::new(args.quick), Choice::new(&args.only));
    let subjects = subject::all();
    args.check_only(
        Part::NAMES.into_iter().chain(subjects.iter().map(|subject| &subject.name[..])),
    )?;
    let ground = Ground::new(1)?;
    let mut rows = Vec::new();
    if choice.has(Part::Rates) {
        rows.extend(rates(&ground, &choice.subjects(subjects), effort, effort.cases())?);
    }
    let ours = choice.own(subject::ours().collect());
    if choice.has(Part::Batches) {
        rows.extend(batches::rows(&ground, &ours, effort.time)?);
    }
    if choice.has(Part::Queues) {
        rows.extend(queues::rows(&ours, effort)?);
    }
    if choice.has(Part::Pacing) {
        rows.extend(pacing::rows(&ground, &ours, effort.pacing)?);
    }
    if choice.has(Part::Coverage) {
        rows.extend(coverage::rows(&ground)?);
    }
    Ok(rows)
}

/// SYN packets over the wire, by applications' sockets and by ours: to one destination, and each to another.
pub(super) fn syn_rates(effort: Effort) -> Result<Vec<Row>> {
    let subjects: Vec<_> = subject::applications().chain(subject::ours()).collect();
    let [.., one, unique] = Packets::ALL;
    rates(&Ground::new(1)?, &subjects, effort, vec![(one, Device::Veth), (unique, Device::Veth)])
}

/// By one core and by two, each with a queue of its own.
pub(super) fn rates_by_cores(effort: Effort) -> Result<Vec<Row>> {
    queues::rows(&subject::ours().collect::<Vec<_>>(), effort)
}

/// By the number of packets that are handed over together.
pub(super) fn rates_by_batch(effort: Effort) -> Result<Vec<Row>> {
    batches::rows(&Ground::new(1)?, &subject::ours().collect::<Vec<_>>(), effort.time)
}

/// The rate and the cost of everybody, at their highest.
fn rates(
    ground: &Ground,
    subjects: &[Subject],
    effort: Effort,
    cases: Vec<(Packets, Device)>,
) -> Result<Vec<Row>> {
    let takers = |(packets, device)| {
        let can_send = move |subject: &&Subject| subject.can_send(packets, device);
        subjects.iter().filter(can_send).collect::<Vec<_>>()
    };
    let steps = cases.iter().map(|case| takers(*case).len()).sum();
    let mut progress = Progress::new(steps);
    let mut rows = Vec::new();
    for (packets, device) in cases {
        let mut subjects = takers((packets, device));
        let case = format!("{}, {}", packets.text(), device.text());
        let name = |subject: &&Subject| format!("{case}, {}", subject.name);
        let trials = in_turn(&mut subjects, effort.repeats, &mut progress, name, |_, subject| {
            trial::of(ground, subject, packets, device, effort.time)
        })?;
        let mut table = tables::of_case(&case, &subjects, &trials);
        tables::add_settings(&mut table, &subjects, |peer| {
            peer.line(ground.sender_core, packets, device, "".as_ref())
        });
        rows.extend(table);
    }
    Ok(rows)
}
