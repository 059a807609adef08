//! One queue with one core, and two with two.

use anyhow::Result;
use linerate::transmit::Backend;

use super::Effort;
use super::ground::{Device, Ground};
use super::packets::{Packets, Protocol};
use super::subject::{Subject, Way};
use super::tables::EXPERIMENT;
use super::trial::{Trial, start, watch};
use crate::bench::progress::Progress;
use crate::bench::row::{Row, compare};
use crate::bench::runner::{Samples, in_turn};

const PACKETS: Packets = Packets { protocol: Protocol::Udp, unique: true };

const ONE: &str = "1 queue, 1 core";
const TWO: &str = "2 queues, 2 cores";

/// The rows of our own subjects, on a wire with two queues.
pub(super) fn rows(subjects: &[Subject], effort: Effort) -> Result<Vec<Row>> {
    // One that has two cores for one queue has none left for another.
    let subjects: Vec<_> =
        subjects.iter().filter(|subject| subject.way != Way::Sink(Backend::Live)).collect();
    let progress = &mut Progress::new(2 * subjects.len());
    let ground = Ground::new(2)?;
    let mut rows = Vec::new();
    for subject in subjects {
        let cores = [ground.sender_core, ground.other_core];
        let mut crews = [(ONE, &cores[..1]), (TWO, &cores[..])];
        let name = |(crew, _): &(&str, &[usize])| format!("{}, {crew}", subject.name);
        let trials = in_turn(&mut crews, effort.repeats, progress, name, |_, (_, cores)| {
            trial(&ground, subject, cores, effort)
        })?;
        let figures = crews.iter().zip(&trials).map(|(crew, trials)| {
            let rates = trials.iter().map(|trial| trial.rate).collect();
            (name(crew), Some(Samples::new(rates)))
        });
        let baseline = name(&crews[0]);
        let figures: Vec<_> = figures.collect();
        rows.extend(compare(EXPERIMENT, "queues", "packets/s", &baseline, &figures));
    }
    Ok(rows)
}

/// Each core sends by itself; a wire with several queues takes what comes from a core by the queue of its number.
fn trial(ground: &Ground, subject: &Subject, cores: &[usize], effort: Effort) -> Result<Trial> {
    let _drop = ground.drop_all()?;
    let before = ground.taken(Device::Veth)?;
    let running = cores.iter().map(|core| start(ground, *core, subject.way, PACKETS, Device::Veth));
    let mut running = running.collect::<Result<Vec<_>>>()?;
    watch(ground, Device::Veth, &mut running, before, effort.time)
}
