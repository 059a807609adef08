//! One who sends, watched for a while in the middle of it.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use linerate::base::Sink;
use linerate::lab::traffic::live::SoftirqThreads;
use linerate::sys::cpu;
use linerate::transmit::pacing::{Pace, Rate};
use linerate::transmit::sink::{self, Config, Offloads};
use linerate::transmit::{Backend, Plan, Sender, run};

use super::ground::{Device, Ground};
use super::packets::{Packets, SIZE};
use super::raw_ip::RawIpSink;
use super::running::Running;
use super::subject::{Subject, Way};
use crate::bench::processor;

/// What was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trial {
    /// Frames that came, a second.
    pub(super) rate: f64,
    /// Nanoseconds of processor time of the sender and of what receives on its core, for each.
    pub(super) nanos: f64,
}

/// No trial lasts longer than this, and no more packets are sent, whatever goes wrong.
pub(super) const LONGEST: Duration = Duration::from_secs(20);
pub(super) const MOST: u64 = 400_000_000;

/// From the first frame until it counts.
const WARM_UP: Duration = Duration::from_millis(100);

/// Within this time a program starts to send.
const PATIENCE: Duration = Duration::from_secs(15);

/// Frames that can wait for a socket.
const SLOTS: usize = 512;

/// Watches a subject for `time`; the receiving host drops what comes.
pub(super) fn of(
    ground: &Ground,
    subject: &Subject,
    packets: Packets,
    device: Device,
    time: Duration,
) -> Result<Trial> {
    let _drop = ground.drop_all()?;
    let before = ground.taken(device)?;
    let running = start(ground, ground.sender_core, subject.way, packets, device)?;
    watch(ground, device, &mut [running], before, time)
}

/// Has one begin to send from a core; a peer begins on the sender's.
pub(super) fn start(
    ground: &Ground,
    core: usize,
    way: Way,
    packets: Packets,
    device: Device,
) -> Result<Running> {
    let queue = ground.queue_of(core);
    match way {
        Way::Peer(peer) => Running::program(ground, peer, packets, device),
        way => Ok(Running::thread(ground, move |stop| {
            let template = packets.template(device)?;
            let pace = Pace::new(Rate::Unlimited);
            let plan = Plan {
                template: &template,
                pace,
                count: Some(MOST),
                duration: Some(LONGEST),
                threads: 1,
            };
            let mut sink: Box<dyn Sink> = match way {
                Way::Sink(backend) => open_sink(device, queue, backend, SLOTS)?,
                Way::RawIp { together } => Box::new(RawIpSink::open(SLOTS, together)?),
                Way::Template | Way::Peer(_) => {
                    cpu::pin(core)?;
                    let mut sender = Sender::open(&plan, device.name(), Some(Backend::Live), 0)?;
                    return Ok(sender.run(&plan, stop).1?);
                }
            };
            cpu::pin(core)?;
            Ok(run(&plan, &mut sink, stop).1?)
        })),
    }
}

/// A sink of ours. The one that needs a core for itself takes the last one that the thread may use.
pub(super) fn open_sink(
    device: Device,
    queue: u32,
    backend: Backend,
    slots: usize,
) -> Result<Box<dyn Sink + Send>> {
    let interface = device.name().to_owned();
    let (backend, offloads) = (Some(backend), Offloads::default());
    let config = Config {
        interface,
        backend,
        queue,
        slots,
        longest: SIZE,
        offloads,
        mark: None,
        alike: None,
    };
    Ok(sink::open(&config)?.sink)
}

/// Lets all begin, watches them for `time` and ends them.
pub(super) fn watch(
    ground: &Ground,
    device: Device,
    running: &mut [Running],
    before: u64,
    time: Duration,
) -> Result<Trial> {
    let began = Instant::now();
    while ground.taken(device)? == before {
        running.iter_mut().try_for_each(Running::check)?;
        ensure!(began.elapsed() < PATIENCE, "nothing came within {} s", PATIENCE.as_secs());
        thread::sleep(Duration::from_millis(2));
    }
    thread::sleep(WARM_UP);
    let softirqs = SoftirqThreads::of(&[ground.sender_core, ground.other_core]);
    let first = Reading::new(ground, device, running, &softirqs)?;
    thread::sleep(time);
    let last = Reading::new(ground, device, running, &softirqs)?;
    running.iter_mut().try_for_each(Running::end)?;
    let packets = last.taken.saturating_sub(first.taken).max(1) as f64;
    Ok(Trial {
        rate: packets / (last.at - first.at).as_secs_f64(),
        nanos: last.used.saturating_sub(first.used).as_nanos() as f64 / packets,
    })
}

struct Reading {
    at: Instant,
    taken: u64,
    used: Duration,
}

impl Reading {
    fn new(
        ground: &Ground,
        device: Device,
        running: &[Running],
        softirqs: &SoftirqThreads,
    ) -> Result<Self> {
        // Threads are all of one process.
        let processes: BTreeSet<_> = running.iter().map(Running::process).collect();
        let used = processes.into_iter().map(processor::of_process).sum::<Result<Duration>>()?;
        let (taken, at) = (ground.taken(device)?, Instant::now());
        Ok(Self { at, taken, used: used + softirqs.used() })
    }
}
