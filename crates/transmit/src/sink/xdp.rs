//! AF_XDP: frames that the driver reads from the process's memory, or the kernel copies from there.

use std::io;

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::netlink::{XdpFeatures, xdp_features};
use linerate_sys::xsk::{FrameSize, Outcome, TransmitQueue};

use super::ring::Ring;
use super::wire::Wire;

/// The transmit ring of a queue. What the kernel does not look at in frames is looked at here: those that no device
/// can send vanish there without a word.
#[derive(Debug)]
pub(super) struct XdpRing {
    queue: TransmitQueue,
    /// What the driver does for AF_XDP; `None` where the kernel does not tell.
    driver: Option<XdpFeatures>,
}

impl XdpRing {
    /// On the queue `queue`; `slots` and `longest` are as in [`Config`](super::Config).
    pub(super) fn open(wire: &Wire, queue: u32, slots: usize, longest: usize) -> Result<Self> {
        let size = frame_size(wire, longest)?;
        let queue = TransmitQueue::open(wire.link().index(), queue, size, slots as u32);
        let queue = queue.map_err(|error| match error.kind() {
            ErrorKind::Busy => error.advise(format!(
                "a capture by AF_XDP may hold it: end it, take another queue of {}, or another back end",
                wire.link().name()
            )),
            _ => error,
        })?;
        Ok(Self { queue, driver: xdp_features(wire.link().index())? })
    }

    /// What the user should know.
    pub(super) fn notes(&self) -> Vec<String> {
        let copies = "the kernel copies frames: the driver has no zero-copy";
        let copies = (!self.queue.is_zero_copy()).then(|| copies.to_owned());
        copies.into_iter().chain(self.driver.map(offers)).collect()
    }
}

/// What the driver would do with frames (`struct xsk_tx_metadata` of `linux/if_xdp.h`, Linux 6.8). It is told and not
/// asked for: frames come complete, and when they are due.
fn offers(driver: XdpFeatures) -> String {
    let has = |has: bool| if has { "has" } else { "has no" };
    format!(
        "for AF_XDP the driver {} checksum offload and {} launch times; neither is used",
        has(driver.fills_checksums()),
        has(driver.launches_on_time())
    )
}

/// The smallest frames of the socket that hold those to be sent.
fn frame_size(wire: &Wire, longest: usize) -> Result<FrameSize> {
    let found = [FrameSize::Half, FrameSize::Page]
        .into_iter()
        .find(|size| longest <= size.bytes() as usize);
    found.ok_or_else(|| {
        let most = FrameSize::Page.bytes();
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
        0
    }

    fn acquire(&mut self, most: usize) -> &mut [u8] {
        self.queue.acquire(most)
    }

    fn misfit(&mut self, lengths: &[u32], wire: &Wire) -> Option<(usize, Error)> {
        let stride = self.queue.stride();
        let slots = self.queue.acquire(lengths.len()).chunks(stride);
        wire.misfit(lengths.iter().zip(slots).map(|(length, slot)| &slot[..*length as usize]))
    }

    fn submit(&mut self, lengths: &[u32]) {
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
