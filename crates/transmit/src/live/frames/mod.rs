//! Live frames of the user's: the process fills a ring, a program on a core of its own empties it into the driver.
//!
//! The program runs as long as there are frames, and a second more; then its thread sleeps, and the first frame after
//! that waits for some 12 ms until it runs again. What the device has no room for nobody tells the program: the device's
//! own count of lost frames tells, and includes those of other senders.

mod alike;
mod program;
mod runner;

use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use linerate_base::{Error, ErrorKind, Result, Sink, SinkStats, Slots};
use linerate_bpf::extended::Instruction;
use linerate_sys::bpf::{Map, MapSpec, Program, ProgramKind, ProgramSpec};
use linerate_sys::cpu;
use linerate_sys::frame_ring::{FrameRing, Geometry, layout};

pub use self::alike::Alike;

use self::program::Setup;
use self::runner::{BATCH, Shared};
use super::device::Device;
use super::stamp::LONGEST;
use crate::link::asked;

/// Sends any frames by a program in the kernel.
#[derive(Debug)]
pub(crate) struct FramesSink {
    ring: FrameRing,
    /// Where frames are written that are alike, of which the ring gets a part.
    whole: Option<Whole>,
    lengths: Vec<u32>,
    shared: Arc<Shared>,
    runner: Option<JoinHandle<()>>,
    /// Bytes of the frames in the ring, and of those that were taken from it.
    bytes: u64,
    /// Frames that did not stay in the ring.
    refused: u64,
}

/// Frames that are alike, before they go into the ring.
#[derive(Debug)]
struct Whole {
    alike: Alike,
    region: Vec<u8>,
}

impl Whole {
    /// So many are written at a time, at most.
    const MOST: usize = 64;

    fn new(alike: Alike) -> Self {
        let region = vec![0; Self::MOST * alike.frame().len()];
        Self { alike, region }
    }

    /// Puts what varies of the frames of these lengths into the ring's next slots. Tells of the first one that is longer or
    /// shorter than they all are.
    fn pack(&self, ring: &mut FrameRing, lengths: &[u32]) -> Option<(usize, Error)> {
        let (stride, usual) = (ring.geometry().stride(), self.alike.frame().len());
        let slots = ring.acquire(lengths.len()).chunks_mut(stride);
        for (frame, slot) in self.region.chunks(usual).zip(slots) {
            self.alike.pack(frame, &mut slot[layout::FRAME..]);
        }
        let place = lengths.iter().position(|length| *length as usize != usual)?;
        let answered = format!("a frame of {} bytes is not like the others", lengths[place]);
        Some((place, Error::new(ErrorKind::Invalid, "send frames that are alike", answered)))
    }
}

const NAME: &str = "linerate_frames";

/// How long to wait for room before none is lent.
const PATIENCE: Duration = Duration::from_micros(50);

/// Pauses of the processor, of some 50 ns, from one look at the program's count to the next: each look takes the count's
/// cache line from the program, which writes to it for every frame.
const SPINS: u32 = 32;

/// How long to wait at a time for frames to leave.
const PAUSE: Duration = Duration::from_micros(50);

impl FramesSink {
    /// A ring of at least `slots` frames with up to `longest` bytes, for the interface called `name` of the calling
    /// thread's namespace; of frames that are `alike` it holds what varies. The program will run on the last core that the
    /// calling thread may use.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] when the device takes no redirected frames, or frames are longer than a page holds;
    /// [`ErrorKind::Permission`] without CAP_BPF and CAP_NET_ADMIN; [`ErrorKind::NotFound`] without the interface,
    /// [`ErrorKind::Down`] when it is down; [`ErrorKind::Invalid`] when frames that are alike exceed its MTU.
    pub(crate) fn open(
        name: &str,
        slots: usize,
        longest: usize,
        alike: Option<Alike>,
    ) -> Result<Self> {
        if longest > LONGEST {
            let answered = format!("a frame of {longest} bytes is longer than {LONGEST}");
            return Err(Error::new(ErrorKind::Unsupported, asked(name), answered)
                .advise("the kernel keeps a live frame in one page; `--backend ring` sends it"));
        }
        let device = Device::find(name)?;
        let wire = Map::new(&MapSpec::device_map(NAME, 1))?;
        wire.insert(&[0; 4], &device.index().to_ne_bytes())?;
        if let Some((_, error)) =
            alike.as_ref().and_then(|all| device.misfit([all.frame()].into_iter()))
        {
            return Err(error);
        }
        let geometry = match &alike {
            None => Geometry::new(slots, longest),
            Some(alike) => Geometry::packed(slots, alike.frame().len(), alike.packed()),
        };
        let map = FrameRing::make(&geometry, NAME)?;
        let program = load(&geometry, alike.as_ref(), &map, &wire)?;
        let ring = FrameRing::map(map.as_fd(), &geometry)?;
        let shared = Arc::new(Shared::new(ring.counts().clone(), device));
        let core = cpu::allowed()?.last().copied();
        let frame = vec![0; alike.as_ref().map_or(geometry.room(), |all| all.frame().len())];
        let (known, work) = (shared.clone(), move |known: &Shared| {
            runner::run(known, &program, &frame, core);
        });
        let started = thread::Builder::new().name("live-frames".into()).spawn(move || work(&known));
        let runner = Some(started.map_err(|e| Error::system(asked(name), e))?);
        let whole = alike.map(Whole::new);
        Ok(Self { ring, whole, lengths: Vec::new(), shared, runner, bytes: 0, refused: 0 })
    }

    fn is_running(&self) -> bool {
        self.shared.is_running.load(Ordering::Acquire)
    }

    fn wake(&self) {
        if let Some(runner) = &self.runner {
            runner.thread().unpark();
        }
    }

    /// Tells of a fault, and takes back what has not been sent.
    fn check(&mut self) -> Result<()> {
        if self.is_running() {
            return Ok(());
        }
        let shared = self.shared.clone();
        let mut fault = shared.fault();
        if fault.is_some() {
            self.bytes -= self.ring.pending_bytes();
            self.refused += self.ring.withdraw();
        }
        fault.take().map_or(Ok(()), Err)
    }

    /// Publishes those of the filled slots that come before the first one that cannot be sent.
    fn publish(&mut self) -> Result<()> {
        let lengths = std::mem::take(&mut self.lengths);
        let fault = match &self.whole {
            Some(whole) => whole.pack(&mut self.ring, &lengths),
            None => self.misfit(&lengths),
        };
        let good = fault.as_ref().map_or(lengths.len(), |(place, _)| *place);
        self.ring.publish(&lengths[..good]);
        self.bytes += lengths[..good].iter().copied().map(u64::from).sum::<u64>();
        self.refused += (lengths.len() - good) as u64;
        self.lengths = lengths;
        self.lengths.clear();
        fault.map_or(Ok(()), |(_, error)| Err(error))
    }

    /// The first of the frames in the ring's next slots that the device does not send, and why.
    fn misfit(&mut self, lengths: &[u32]) -> Option<(usize, Error)> {
        let stride = self.ring.geometry().stride();
        let slots = self.ring.acquire(lengths.len()).chunks(stride);
        let frames = lengths.iter().zip(slots);
        let frames = frames.map(|(length, slot)| &slot[layout::FRAME..][..*length as usize]);
        self.shared.device.misfit(frames)
    }

    /// Frames that have been taken from the ring and were lost.
    fn lost(&self, taken: u64) -> u64 {
        (self.shared.counts.refused() + self.shared.device.dropped()).min(taken)
    }
}

fn load(geometry: &Geometry, alike: Option<&Alike>, ring: &Map, wire: &Map) -> Result<Program> {
    let setup =
        Setup { geometry, alike, ring: ring.as_fd().as_raw_fd(), wire: wire.as_fd().as_raw_fd() };
    let words: Vec<_> = program::assemble(&setup).iter().map(Instruction::encode).collect();
    Ok(Program::load(&ProgramSpec::new(ProgramKind::Xdp, &words, NAME))?)
}

impl Sink for FramesSink {
    fn acquire(&mut self, most: usize) -> Result<Slots<'_>> {
        self.check()?;
        // Of a full ring a quarter is waited for, so that the program's cache line is not asked for each frame.
        let enough = most.min(self.ring.geometry().slots() / 4).max(1);
        let start = Instant::now();
        while self.ring.free(enough) < enough && start.elapsed() < PATIENCE {
            (0..SPINS).for_each(|_| std::hint::spin_loop());
        }
        let stride = self.ring.geometry().stride();
        let room = self.ring.acquire(most);
        Ok(match &mut self.whole {
            None => Slots::new(room, stride, layout::FRAME, &mut self.lengths),
            Some(Whole { alike, region }) => {
                let (length, count) = (alike.frame().len(), room.len() / stride);
                let region = &mut region[..length * count.min(Whole::MOST)];
                Slots::new(region, length, 0, &mut self.lengths)
            }
        })
    }

    fn submit(&mut self) -> Result<()> {
        if let Err(error) = self.check() {
            self.refused += self.lengths.drain(..).len() as u64;
            return Err(error);
        }
        let published = self.publish();
        self.ring.settle();
        if !self.is_running() {
            self.wake();
        }
        published
    }

    fn flush(&mut self, _: &mut dyn FnMut() -> bool) -> Result<()> {
        let counts = self.shared.counts.clone();
        while counts.pending() > 0 {
            self.check()?;
            thread::sleep(PAUSE);
        }
        // The last frame goes to the driver when its batch ends, at the latest after so many further runs.
        let empty = counts.empty();
        while self.is_running() && counts.empty() < empty + u64::from(BATCH) {
            thread::sleep(PAUSE);
        }
        self.check()
    }

    fn stats(&self) -> SinkStats {
        let pending_bytes = self.ring.pending_bytes();
        let (taken, pending) = (self.shared.counts.taken(), self.shared.counts.pending());
        let lost = self.lost(taken);
        // Which frames the device lost nobody knows: their bytes are counted in proportion.
        let taken_bytes = u128::from(self.bytes - pending_bytes);
        let sent_bytes = taken_bytes * u128::from(taken - lost) / u128::from(taken.max(1));
        SinkStats {
            submitted: taken + pending + self.refused,
            sent: taken - lost,
            sent_bytes: sent_bytes as u64,
            refused: self.refused + lost,
            pending,
        }
    }
}

impl Drop for FramesSink {
    fn drop(&mut self) {
        self.shared.is_closing.store(true, Ordering::Relaxed);
        self.wake();
        if let Some(runner) = self.runner.take() {
            // Its panic has been printed.
            let _ = runner.join();
        }
    }
}
