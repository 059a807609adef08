//! `linerate bench filter`: what a filter costs a packet, by each of our engines and by libpcap's interpreter.
//!
//! - [`filters`]: the filters
//! - [`packets`]: what they are run over
//! - [`engines`]: who runs them
//! - [`kernel`]: the kernel

pub(super) mod engines;
mod filters;
pub(super) mod kernel;
pub(super) mod packets;

use std::cell::Cell;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use linerate::base::{Batch, LinkType};
use linerate::exec::Engine;
use linerate::filter::{self, Filter, Hermetic, Options};
use linerate::sys::libpcap::Libpcap;

use super::progress::Progress;
use super::row::{Row, compare};
use super::runner::{Subject, measure};
use crate::args::BenchArgs;
use engines::{PEER, Runner, VECTOR, theirs};
use filters::Case;
use kernel::{FRAGMENT, KERNEL};
use packets::{Packets, Place, Traffic};

/// Packets that are handed over at a time.
const BATCH: usize = 1024;

pub(super) fn run(args: &BenchArgs) -> Result<Vec<Row>> {
    args.check_only(engines::names().chain([KERNEL, FRAGMENT].map(String::from)))?;
    let libpcap = Libpcap::load().ok();
    let cases = filters::all();
    let effort = Effort::new(args.quick, args.repeats());
    let places: &[Place] = if args.quick { &[Place::L2] } else { &Place::ALL };
    let runners = engines::names().filter(|name| wanted(args, name)).count();
    let compilers = [VECTOR, PEER].into_iter().filter(|name| wanted(args, name)).count();
    let kernels = [KERNEL, FRAGMENT].into_iter().filter(|name| wanted(args, name)).count();
    let steps = cases.len() * (compilers + places.len() * Traffic::ALL.len() * runners + kernels);
    let empty = compiled(&Case { name: String::new(), text: String::new() })?;
    let progress = &mut Progress::new(steps);
    let mut rows = Vec::new();
    for case in &cases {
        rows.extend(compiling(args, case, libpcap, progress)?);
    }
    for place in places {
        for traffic in Traffic::ALL {
            let what = format!("{traffic} packets, {place}");
            let packets = Packets::new(*place, traffic);
            let packet = packets.batch().iter().next().filter(|_| is_for_kernel(*place, traffic));
            for case in &cases {
                let filter = compiled(case)?;
                let kernels = packet.map(|packet| {
                    [
                        kernel::socket(&filter, &empty, &packet),
                        kernel::tap(&filter, &empty, &packet),
                    ]
                });
                let mut kernels: Vec<_> = kernels.into_iter().flatten().collect();
                kernels.retain(|subject| wanted(args, &subject.name));
                let wanted = |name: &str| wanted(args, name);
                rows.extend(running(&effort, wanted, case, &packets, &what, kernels, progress)?);
            }
        }
    }
    Ok(rows)
}

/// Test runs have one packet, which is in the nearest cache.
fn is_for_kernel(place: Place, traffic: Traffic) -> bool {
    matches!(place, Place::L2) && traffic == Traffic::Steady
}

/// What all others are compared with always takes part.
fn wanted(args: &BenchArgs, name: &str) -> bool {
    name == PEER || args.wants(name)
}

fn compiled(case: &Case) -> Result<Filter> {
    let options = Options::new(LinkType::ETHERNET, &Hermetic);
    filter::compile(&case.text, &options).map_err(|e| anyhow::anyhow!("{e}"))
}

/// From the text to what can be run.
fn compiling(
    args: &BenchArgs,
    case: &Case,
    libpcap: Option<Libpcap>,
    progress: &mut Progress,
) -> Result<Vec<Row>> {
    let ours = || {
        std::hint::black_box(Engine::new(&compiled(case)?));
        Ok(())
    };
    // Where libpcap would take seconds, nobody waits for it.
    let peer = libpcap.filter(|_| !case.is_long());
    let peer = peer.map(|libpcap| {
        move || {
            std::hint::black_box(theirs(libpcap, &case.text)?);
            Ok(())
        }
    });
    let mut subjects = vec![
        Subject { name: VECTOR.into(), run: Some(Box::new(move || microseconds(ours))) },
        Subject {
            name: PEER.into(),
            run: peer.map(|theirs| Box::new(move || microseconds(theirs)) as _),
        },
    ];
    subjects.retain(|subject| wanted(args, &subject.name));
    let name = format!("{}, compiling", case.name);
    let results = measure(&name, subjects, args.repeats(), progress)?;
    Ok(compare("filter", &name, "us", PEER, &results))
}

/// The mean over a millisecond or more.
pub(super) fn microseconds(mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let (began, mut times) = (Instant::now(), 0_u32);
    while times == 0 || began.elapsed() < Duration::from_millis(1) {
        work()?;
        times += 1;
    }
    Ok(began.elapsed().as_secs_f64() * 1e6 / f64::from(times))
}

/// How much is measured.
pub(super) struct Effort {
    libpcap: Option<Libpcap>,
    repeats: usize,
    /// Of a run.
    time: Duration,
}

impl Effort {
    pub(super) fn new(quick: bool, repeats: usize) -> Self {
        let time = Duration::from_millis(if quick { 2 } else { 5 });
        Self { libpcap: Libpcap::load().ok(), repeats, time }
    }
}

/// What a filter costs packets of one connection, in the nearest cache that holds some thousands: by each engine, and by
/// the kernel.
///
/// # Errors
/// When engines do not agree on the packets.
pub(super) fn steadily(
    effort: &Effort,
    name: &str,
    text: &str,
    progress: &mut Progress,
) -> Result<Vec<Row>> {
    let case = Case { name: name.into(), text: text.into() };
    let packets = Packets::new(Place::L2, Traffic::Steady);
    let empty = compiled(&Case { name: String::new(), text: String::new() })?;
    let filter = compiled(&case)?;
    let packet = packets.batch().iter().next();
    let kernel = packet.map(|packet| kernel::socket(&filter, &empty, &packet));
    let others = kernel.into_iter().collect();
    running(effort, |_| true, &case, &packets, "steady packets", others, progress)
}

fn running(
    effort: &Effort,
    wanted: impl Fn(&str) -> bool,
    case: &Case,
    packets: &Packets,
    what: &str,
    others: Vec<Subject<'_>>,
    progress: &mut Progress,
) -> Result<Vec<Row>> {
    let filter = compiled(case)?;
    let batch = packets.batch();
    let mut runners = engines::all(&filter, case, effort.libpcap)?;
    runners.retain(|runner| wanted(&runner.name));
    agree(&mut runners, &batch, case)?;
    let course = &Course::new(batch);
    let subjects = runners.into_iter().map(|mut runner| Subject {
        name: runner.name.clone(),
        run: runner.keeps.take().map(|mut keeps| {
            Box::new(move || Ok(course.nanoseconds(effort.time, &mut keeps)))
                as Box<dyn FnMut() -> Result<f64> + '_>
        }),
    });
    let name = format!("{}, {what}", case.name);
    let results = measure(&name, subjects.chain(others).collect(), effort.repeats, progress)?;
    Ok(compare("filter", &name, "ns", PEER, &results))
}

/// Fails where two engines do not keep as many packets.
fn agree(runners: &mut [Runner<'_>], batch: &Batch<'_>, case: &Case) -> Result<()> {
    let first = batch.truncate(8 * BATCH);
    let mut counts = Vec::new();
    for runner in runners {
        counts.extend(runner.keeps.as_mut().map(|keeps| (runner.name.clone(), keeps(&first))));
    }
    let agree = counts.windows(2).all(|pair| pair[0].1 == pair[1].1);
    ensure!(agree, "filter `{}`: engines keep {counts:?} packets", case.text);
    Ok(())
}

/// Packets in a circle, so that each run goes on where the last one ended.
pub(super) struct Course<'a> {
    batch: Batch<'a>,
    at: Cell<usize>,
}

impl<'a> Course<'a> {
    pub(super) fn new(batch: Batch<'a>) -> Self {
        Self { batch, at: Cell::new(0) }
    }

    fn next(&self) -> Batch<'a> {
        let at = self.at.get();
        let end = (at + BATCH).min(self.batch.len());
        self.at.set(if end == self.batch.len() { 0 } else { end });
        self.batch.slice(at..end)
    }

    /// The mean time of a packet.
    pub(super) fn nanoseconds(
        &self,
        time: Duration,
        keeps: &mut dyn FnMut(&Batch<'_>) -> usize,
    ) -> f64 {
        let (began, mut packets) = (Instant::now(), 0);
        loop {
            let batch = self.next();
            packets += batch.len();
            std::hint::black_box(keeps(&batch));
            let elapsed = began.elapsed();
            if elapsed >= time {
                return elapsed.as_secs_f64() * 1e9 / packets as f64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_compiles_and_engines_agree_on_it() {
        for traffic in Traffic::ALL {
            let packets = Packets::new(Place::L2, traffic);
            for case in filters::all() {
                let filter = compiled(&case).unwrap();
                let mut runners = engines::all(&filter, &case, None).unwrap();
                agree(&mut runners, &packets.batch(), &case).unwrap();
            }
        }
    }

    #[test]
    fn a_course_comes_round() {
        let packets = Packets::new(Place::L2, Traffic::Mixed);
        let course = Course::new(packets.batch());
        let batches = packets.batch().len() / BATCH;
        let seen: usize = (0..batches).map(|_| course.next().len()).sum();
        assert_eq!((seen, course.at.get()), (packets.batch().len(), 0));
    }
}
