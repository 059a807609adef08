//! AF_XDP: frames that the driver reads from the process's memory, or the kernel copies from there.

use std::io;

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::netlink::{XdpFeatures, xdp_features};
use linerate_sys::xsk::{FrameSize, Outcome, TransmitQueue};

use super::ring::Ring;
use super::wire::{EMSGSIZE, Wire};

/// The transmit ring of a queue. What the kernel does not look at in frames is looked at here: those that no device
/// can send vanish there without a word.
#[derive(Debug)]
pub(super) struct XdpRing {
    queue: TransmitQueue,
    /// What the driver does for AF_XDP; `None` where the kernel does not tell.
    driver: Option<XdpFeatures>,
}

const ETHERNET_HEADER: usize = 14;
/// A VLAN tag counts in no MTU (IEEE 802.1Q, G.2.2).
const TAG: (&[u8], usize) = (&[0x81, 0x00], 4);

/// errno(3): what packet sockets answer to frames without a whole header.
const EINVAL: i32 = 22;

impl XdpRing {
    /// On the queue `queue`; `slots` and `longest` are as in [`Config`](super::Config).
    pub(super) fn open(wire: &Wire, queue: u32, slots: usize, longest: usize) -> Result<Self> {
        let size = frame_size(wire, longest)?;
        let queue = TransmitQueue::open(wire.index(), queue, size, slots as u32);
        let queue = queue.map_err(|error| match error.kind() {
            ErrorKind::Busy => error.advise(format!(
                "a capture by AF_XDP may hold it: end it, take another queue of {}, or another back end",
                wire.name()
            )),
            _ => error,
        })?;
        Ok(Self { queue, driver: xdp_features(wire.index())? })
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

    fn misfit(&mut self, lengths: &[u32], mtu: u32) -> Option<(usize, i32)> {
        let stride = self.queue.stride();
        let slots = self.queue.acquire(lengths.len()).chunks(stride);
        let frames = lengths.iter().zip(slots).map(|(length, slot)| &slot[..*length as usize]);
        frames.enumerate().find_map(|(index, frame)| fault(frame, mtu).map(|error| (index, error)))
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

fn fault(frame: &[u8], mtu: u32) -> Option<i32> {
    if frame.len() < ETHERNET_HEADER {
        return Some(EINVAL);
    }
    let tag = if frame[12..].starts_with(TAG.0) { TAG.1 } else { 0 };
    (frame.len() > mtu as usize + ETHERNET_HEADER + tag).then_some(EMSGSIZE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_no_device_sends_are_told_apart() {
        let tagged = [&[0; 12][..], &[0x81, 0], &[0; 1504]].concat();
        assert_eq!(fault(&tagged, 1500), None);
        assert_eq!(fault(&[0; 1514], 1500), None);
        assert_eq!(fault(&[0; 1515], 1500), Some(EMSGSIZE));
        assert_eq!((fault(&[0; 13], 1500), fault(&[], 1500)), (Some(EINVAL), Some(EINVAL)));
    }
}
