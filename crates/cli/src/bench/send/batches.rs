//! What the size of a batch does: to the rate, to the cost, and to the time that a packet waits.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use linerate::base::Sink;
use linerate::sys::{clock, cpu};
use linerate::transmit::{Backend, Template, Watch};

use super::ground::{Device, Ground};
use super::observe::observe;
use super::packets::{Packets, Protocol};
use super::running::Running;
use super::subject::{Subject, Way};
use super::tables::EXPERIMENT;
use super::trial::{MOST, Trial, open_sink, watch};
use crate::bench::progress::Progress;
use crate::bench::row::{Row, compare};
use crate::bench::runner::Samples;

/// Frames handed over together.
pub(in crate::bench) const SIZES: [usize; 7] = [1, 4, 16, 64, 256, 1024, 4096];

const PACKETS: Packets = Packets { protocol: Protocol::Udp, unique: true };

/// Packets whose delay is looked at.
const LOOKED_AT: u64 = 100_000;

/// Where the time of handing over lies in a frame: at the beginning of the payload.
const STAMP: usize = 42;

/// The rows of all sinks and sizes; ratios are to the single frame.
pub(super) fn rows(ground: &Ground, subjects: &[Subject], time: Duration) -> Result<Vec<Row>> {
    let sinks = subjects.iter().filter_map(|subject| match subject.way {
        Way::Sink(backend) if takes_many(backend) => Some((subject, backend)),
        _ => None,
    });
    let progress = &mut Progress::new(sinks.clone().count() * SIZES.len());
    let mut rows = Vec::new();
    for (subject, backend) in sinks {
        let mut trials = Vec::new();
        let mut delays = Vec::new();
        for batch in SIZES {
            progress.next(&format!("{}, {batch} frames at once", subject.name));
            trials.push(trial(ground, backend, batch, time)?);
            delays.push(delay(ground, backend, batch)?);
        }
        rows.extend(of_subject(&subject.name, &trials, &delays));
    }
    Ok(rows)
}

/// True for sinks to which the size makes a difference that shows.
fn takes_many(backend: Backend) -> bool {
    backend != Backend::Socket
}

fn of_subject(name: &str, trials: &[Trial], delays: &[Delay]) -> Vec<Row> {
    let rows = |figure: &str, unit, values: Vec<f64>| {
        let names = SIZES.iter().map(|batch| format!("{name}, {batch} at once"));
        let figures =
            names.zip(values).map(|(name, value)| (name, Some(Samples::new(vec![value]))));
        let baseline = format!("{name}, 1 at once");
        let case = format!("batch size, {figure}");
        compare(EXPERIMENT, &case, unit, &baseline, &figures.collect::<Vec<_>>())
    };
    let mut all = rows("rate", "packets/s", trials.iter().map(|t| t.rate).collect());
    all.extend(rows("sending core", "ns", trials.iter().map(|t| t.nanos).collect()));
    all.extend(rows("median delay", "ns", delays.iter().map(|d| d.median).collect()));
    all.extend(rows("99 % of delays up to", "ns", delays.iter().map(|d| d.high).collect()));
    all
}

fn trial(ground: &Ground, backend: Backend, batch: usize, time: Duration) -> Result<Trial> {
    let core = ground.sender_core;
    let _drop = ground.drop_all()?;
    let before = ground.taken(Device::Veth)?;
    let running = Running::thread(ground, move |stop| {
        let template = PACKETS.template(Device::Veth)?;
        let mut sink = open_sink(Device::Veth, 0, backend, batch)?;
        cpu::pin(core)?;
        pump(&mut *sink, &template, batch, MOST, false, stop)
    });
    watch(ground, Device::Veth, &mut [running], before, time)
}

/// Nanoseconds from the time when a frame was handed over until the receiving driver saw it.
struct Delay {
    median: f64,
    high: f64,
}

fn delay(ground: &Ground, backend: Backend, batch: usize) -> Result<Delay> {
    let core = ground.sender_core;
    let mut delays = Vec::new();
    let note = |packet: &linerate::base::Packet<'_>| {
        let stamp = packet.data.get(STAMP..STAMP + 8).map(|b| b.try_into().expect("eight bytes"));
        delays.extend(stamp.map(|stamp| packet.time.nanos() - i64::from_ne_bytes(stamp)));
    };
    observe(ground, note, || {
        let sending = ground.sender().spawn(move || {
            let template = PACKETS.template(Device::Veth)?;
            let mut sink = open_sink(Device::Veth, 0, backend, batch)?;
            cpu::pin(core)?;
            pump(&mut *sink, &template, batch, LOOKED_AT, true, &|_| false)
        });
        sending.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    ensure!(!delays.is_empty(), "no packet came");
    delays.sort_unstable();
    let at = |share: f64| delays[((delays.len() - 1) as f64 * share) as usize] as f64;
    Ok(Delay { median: at(0.5), high: at(0.99) })
}

/// Sends as many as it can, so many at once; each with the time at which it was handed over where that is wanted.
fn pump(
    sink: &mut dyn Sink,
    template: &Template,
    batch: usize,
    most: u64,
    stamped: bool,
    watch: &Watch<'_>,
) -> Result<()> {
    let mut number = 0;
    while number < most && !watch(number) {
        let mut slots = sink.acquire(batch)?;
        if slots.room() == 0 {
            thread::yield_now();
        }
        while slots.room() > 0 {
            slots.push(|slot| {
                let length = template.fill(number, slot);
                if stamped {
                    slot[STAMP..STAMP + 8].copy_from_slice(&clock::realtime().to_ne_bytes());
                }
                length
            });
            number += 1;
        }
        sink.submit()?;
    }
    Ok(sink.flush(&mut || false)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_compared_with_the_single_frame() {
        let trials = SIZES.map(|size| Trial { rate: 1e6 * size as f64, nanos: 1e3 / size as f64 });
        let delays = SIZES.map(|size| Delay { median: size as f64, high: 2.0 * size as f64 });
        let rows = of_subject("ring", &trials, &delays);
        let row = |case: &str| rows.iter().find(|r| r.case == case && r.subject.contains(" 64 "));
        assert_eq!(row("batch size, rate").unwrap().ratio, Some(64.0));
        assert_eq!(row("batch size, sending core").unwrap().ratio, Some(64.0));
        assert_eq!(row("batch size, median delay").unwrap().ratio, Some(1.0 / 64.0));
        assert_eq!(rows.len(), 4 * SIZES.len());
    }
}
