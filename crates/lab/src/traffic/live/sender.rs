//! The threads that send, and what they did.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::interface::{self, Counters};
use linerate_sys::netns::Namespace;

use super::shares::{Progress, Share};
use super::softirq::SoftirqThreads;
use super::{Load, Report};
use crate::Host;
use crate::host::inside;

/// A load on its way. Dropped before it is finished, it stops.
#[derive(Debug)]
pub struct Sender {
    shares: Vec<Arc<Share>>,
    threads: Vec<JoinHandle<Result<Duration>>>,
    wire: Wire,
    softirqs: SoftirqThreads,
    asked: Option<f64>,
}

impl Sender {
    /// Begins to send from one host to another.
    ///
    /// # Errors
    /// Without root, before Linux 5.18; when a number is beyond what the kernel takes; when one of the
    /// hosts has lost its interface.
    ///
    /// # Panics
    /// When the load names no core.
    pub fn start(from: &Host, to: &Host, load: &Load) -> Result<Self> {
        assert!(!load.cores.is_empty(), "a load needs a core");
        let wire = Wire::new(from, to)?;
        let share = |index| Share::new(load, index, from.interface_index()).map(Arc::new);
        let shares = from.run(|| (0..load.cores.len()).map(share).collect::<Result<Vec<_>>>())?;
        let frame: Arc<[u8]> = load.frame.0.as_slice().into();
        let softirqs = SoftirqThreads::of(&load.cores);
        let start = |(share, core): (&Arc<Share>, &usize)| {
            let (share, frame) = (share.clone(), frame.clone());
            from.spawn_on(*core, move || share.run(&frame))
        };
        let threads = shares.iter().zip(&load.cores).map(start).collect();
        Ok(Self { shares, threads, wire, softirqs, asked: load.rate })
    }

    /// Frames given to the wire so far.
    ///
    /// # Errors
    /// When the process has given up its privileges.
    pub fn sent(&self) -> Result<u64> {
        self.shares.iter().map(|share| share.progress().map(|progress| progress.sent)).sum()
    }

    /// Sends no more.
    ///
    /// # Errors
    /// When the process has given up its privileges.
    pub fn stop(&self) -> Result<()> {
        self.shares.iter().try_for_each(|share| share.stop())
    }

    /// Waits for the last frame, and until the receiving interface has taken it.
    ///
    /// # Errors
    /// When sending failed; when the receiving interface took nothing, as it does without NAPI; when
    /// the frames that it took and lost are not all, or more than those.
    ///
    /// # Panics
    /// When a core may not be used.
    pub fn finish(mut self) -> Result<Report> {
        let mut cpu = Duration::ZERO;
        for thread in self.threads.drain(..) {
            cpu += thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        let shares = self.shares.iter().map(|share| share.progress());
        let shares = shares.collect::<Result<Vec<_>>>()?;
        let sent = shares.iter().map(|share| share.sent).sum();
        let arrived = self.wire.wait_for(sent)?;
        Ok(Report {
            packets: arrived.packets,
            bytes: arrived.bytes,
            lost: arrived.lost,
            elapsed: elapsed(&shares),
            cpu: cpu + self.softirqs.used(),
            asked: self.asked,
        })
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        if !self.threads.is_empty() {
            // Without it the load ends by itself, later.
            let _ = self.stop();
        }
        for thread in self.threads.drain(..) {
            // Nobody asked how it went; its panic has been printed.
            let _ = thread.join();
        }
    }
}

/// From the first frame of any core to the last of any.
fn elapsed(shares: &[Progress]) -> Duration {
    let began = shares.iter().map(|share| share.began).filter(|time| *time > 0).min();
    let ended = shares.iter().map(|share| share.ended).max();
    Duration::from_nanos(began.zip(ended).map_or(0, |(began, ended)| ended.saturating_sub(began)))
}

/// Both ends of the wire, and their counters before.
#[derive(Debug)]
struct Wire {
    from: End,
    to: End,
}

#[derive(Debug)]
struct End {
    namespace: Namespace,
    index: u32,
    before: Counters,
}

/// What became of the frames.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    packets: u64,
    bytes: u64,
    /// Frames that found the receiving interface's queue full. The sender's end counts them; among the
    /// losses of the receiver's are those of an AF_XDP socket, too (`veth_get_stats64` in
    /// drivers/net/veth.c, Linux 6.18).
    lost: u64,
}

/// How long frames may lie in the receiving interface's queue.
const PATIENCE: Duration = Duration::from_secs(10);

impl Wire {
    fn new(from: &Host, to: &Host) -> Result<Self> {
        Ok(Self { from: End::new(from)?, to: End::new(to)? })
    }

    /// What it took since, as soon as that and its losses make up `sent`.
    fn wait_for(&self, sent: u64) -> Result<Arrived> {
        let start = Instant::now();
        loop {
            let since = self.since()?;
            let arrived = since.packets + since.lost;
            if arrived == sent {
                return Ok(since);
            }
            if arrived > sent || arrived == 0 || start.elapsed() > PATIENCE {
                return Err(unbalanced(sent, since));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn since(&self) -> Result<Arrived> {
        let (from, to) = (self.from.now()?, self.to.now()?);
        Ok(Arrived {
            packets: to.received - self.to.before.received,
            bytes: to.received_bytes - self.to.before.received_bytes,
            lost: from.sent_dropped - self.from.before.sent_dropped,
        })
    }
}

impl End {
    fn new(host: &Host) -> Result<Self> {
        let namespace = host.namespace().try_clone()?;
        Ok(Self { namespace, index: host.interface_index(), before: host.counters()? })
    }

    fn now(&self) -> Result<Counters> {
        Ok(inside(&self.namespace, || interface::by_index(self.index))?.counters)
    }
}

fn unbalanced(sent: u64, since: Arrived) -> Error {
    let asked = "count live frames";
    let Arrived { packets, lost, .. } = since;
    if packets + lost == 0 {
        let answered = format!("of {sent} frames the receiving interface took none");
        return Error::new(ErrorKind::Unsupported, asked, answered)
            .advise("it needs an XDP program, or GRO switched on");
    }
    let answered = format!("{sent} sent, {packets} received and {lost} lost");
    Error::new(ErrorKind::Io, asked, answered).advise("keep other traffic off the wire")
}
