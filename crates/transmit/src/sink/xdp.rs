//! AF_XDP: frames that the driver reads from the process's memory, or the kernel copies from there.

use std::io;

use linerate_base::{Error, ErrorKind, Result, Timestamp};
use linerate_sys::clock::CardClock;
use linerate_sys::ethtool::card_clock;
use linerate_sys::netlink::{XdpFeatures, xdp_features};
use linerate_sys::xsk::{FrameSize, Offloads, Outcome, TransmitQueue};

use super::ring::Ring;
use super::wire::Wire;

/// The transmit ring of a queue. What the kernel does not look at in frames is looked at here: those that no device
/// can send vanish there without a word.
#[derive(Debug)]
pub(super) struct XdpRing {
    queue: TransmitQueue,
    offloads: Offloads,
    /// By which the card launches frames, where it does.
    clock: Option<CardClock>,
    notes: Vec<String>,
}

/// A card launches frames so long after they are due, in nanoseconds. What is handed over late by no more leaves in
/// time all the same; what is handed over to a queue that is not set for launch times leaves as it comes.
const DELAY: i64 = 1_000_000;

impl XdpRing {
    /// On the queue `queue`; `slots` and `longest` are as in [`Config`](super::Config), `wanted` is what the driver shall
    /// do where it can.
    pub(super) fn open(
        wire: &Wire,
        queue: u32,
        slots: usize,
        longest: usize,
        wanted: Offloads,
    ) -> Result<Self> {
        let driver = xdp_features(wire.link().index())?;
        let (has, mut notes) = (driver.unwrap_or_default(), Vec::new());
        let clock = match wanted.launches && has.launches_on_time() {
            true => clock(wire).map_err(|error| notes.push(no_launches(&error))).ok(),
            false => None,
        };
        let offloads = Offloads {
            checksum: wanted.checksum.filter(|_| has.fills_checksums()),
            launches: clock.is_some(),
        };
        let size = frame_size(wire, longest, offloads.room())?;
        let queue = TransmitQueue::open(wire.link().index(), queue, size, slots as u32, offloads);
        let queue = queue.map_err(|error| match error.kind() {
            ErrorKind::Busy => error.advise(format!(
                "a capture by AF_XDP may hold it: end it, take another queue of {}, or another back end",
                wire.link().name()
            )),
            _ => error,
        })?;
        if !queue.is_zero_copy() {
            notes.push("the kernel copies frames: the driver has no zero-copy".to_owned());
        }
        notes.extend(driver.map(|driver| offers(driver, offloads)));
        Ok(Self { queue, offloads, clock, notes })
    }

    /// What the driver does with frames.
    pub(super) fn offloads(&self) -> Offloads {
        self.offloads
    }

    /// What the user should know.
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// The clock that the card launches frames by.
fn clock(wire: &Wire) -> Result<CardClock> {
    let name = wire.link().name();
    let number = card_clock(name)?.ok_or_else(|| {
        let asked = format!("read the clock of {name}");
        Error::new(ErrorKind::Unsupported, asked, "the network card has none")
    })?;
    CardClock::open(number)
}

fn no_launches(error: &Error) -> String {
    format!("without launch times, by which the card keeps gaps: {error}")
}

/// What the driver has, and whether it is used.
fn offers(driver: XdpFeatures, used: Offloads) -> String {
    let state = |has, is_used| match (has, is_used) {
        (true, true) => "used",
        (true, false) => "not used",
        (false, _) => "not offered by the driver",
    };
    format!(
        "offloads of AF_XDP: checksums {}, launch times {}",
        state(driver.fills_checksums(), used.checksum.is_some()),
        state(driver.launches_on_time(), used.launches)
    )
}

/// The smallest frames of the socket that hold those to be sent, behind `head` bytes.
fn frame_size(wire: &Wire, longest: usize, head: usize) -> Result<FrameSize> {
    let found = [FrameSize::Half, FrameSize::Page]
        .into_iter()
        .find(|size| head + longest <= size.bytes() as usize);
    found.ok_or_else(|| {
        let most = FrameSize::Page.bytes() as usize - head;
        let answered =
            format!("AF_XDP takes frames of up to {most} bytes, and there are some of {longest}");
        Error::new(ErrorKind::Unsupported, wire.asked(), answered)
            .advise("send smaller packets, or use the back end ring")
    })
}

impl Ring for XdpRing {
    fn stride(&self) -> usize {
        self.queue.stride()
    }

    fn head(&self) -> usize {
        self.queue.head()
    }

    fn acquire(&mut self, most: usize) -> &mut [u8] {
        self.queue.acquire(most)
    }

    fn misfit(&mut self, lengths: &[u32], wire: &Wire) -> Option<(usize, Error)> {
        let (stride, head) = (self.queue.stride(), self.queue.head());
        let slots = self.queue.acquire(lengths.len()).chunks(stride);
        wire.misfit(
            lengths.iter().zip(slots).map(|(length, slot)| &slot[head..][..*length as usize]),
        )
    }

    fn submit(&mut self, lengths: &[u32], dates: &[Timestamp]) {
        if let Some(clock) = &mut self.clock {
            for (place, due) in dates.iter().enumerate() {
                let launch = clock.at(due.nanos()) + DELAY;
                self.queue.launch(place, launch.cast_unsigned());
            }
        }
        self.queue.submit(lengths);
    }

    fn kick(&mut self) -> io::Result<()> {
        self.queue.kick()
    }

    fn complete(&mut self, tell: &mut dyn FnMut(Outcome)) {
        while let Some(outcome) = self.queue.complete() {
            tell(outcome);
        }
    }

    fn withdraw(&mut self) -> usize {
        self.queue.withdraw()
    }
}
