//! What becomes of the buffer that was asked for.

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::xsk::FrameSize;

use crate::Backend;

/// The frames of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) size: FrameSize,
    /// For each queue.
    pub(super) frames: u32,
    /// Of all sources.
    pub(super) queues: u32,
    /// True when no source can have more frames than these, although there is buffer left.
    is_cut: bool,
}

/// What a frame holds beside the MTU: an Ethernet header and two VLAN tags.
const HEADERS: u32 = 14 + 2 * 4;

/// Fewer, and a driver that takes frames in advance would have none left to fill.
const FEWEST: u64 = 256;

/// The most memory of a source, for offsets of 32 bits.
const MOST: u64 = (1 << 32) - (1 << 21);

impl Plan {
    /// For `queues` queues of an interface with this MTU, in turn to `sources` sources.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] when a packet does not fit into a page.
    pub(super) fn new(buffer: u64, mtu: u32, queues: u32, sources: u32) -> Result<Self> {
        let size = frame_size(mtu)?;
        let frames_of =
            |bytes: u64, queues: u32| bytes / (u64::from(size.bytes()) * u64::from(queues));
        let asked = frames_of(buffer, queues);
        let most = frames_of(MOST, queues.div_ceil(sources));
        let frames = asked.min(most).max(FEWEST) as u32;
        Ok(Self { size, frames, queues, is_cut: asked > most })
    }

    /// Bytes of all frames.
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.size.bytes()) * u64::from(self.frames) * u64::from(self.queues)
    }

    /// The plan, as its user reads it.
    pub(super) fn note(&self) -> String {
        let Self { size, frames, queues, is_cut } = *self;
        let plural = if queues == 1 { "queue" } else { "queues" };
        let (kib, bytes) = (self.bytes() >> 10, size.bytes());
        let most = if is_cut { ", the most for so many threads" } else { "" };
        format!(
            "{queues} {plural} with {frames} frames of {bytes} bytes each, {kib} KiB in all{most}"
        )
    }
}

/// The frames for packets of an interface with this MTU.
///
/// # Errors
/// As [`Plan::new`].
pub(crate) fn frame_size(mtu: u32) -> Result<FrameSize> {
    FrameSize::for_packets(mtu.saturating_add(HEADERS)).ok_or_else(|| jumbo(mtu))
}

fn jumbo(mtu: u32) -> Error {
    let most = FrameSize::Page.longest_packet() - HEADERS;
    let asked = format!("capture packets of an MTU of {mtu} by the back end {}", Backend::Xdp);
    Error::new(ErrorKind::Unsupported, asked, format!("it takes an MTU of {most} at most"))
        .advise(format!("--backend {} takes packets of any length", Backend::Tap))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(buffer: u64, mtu: u32, queues: u32) -> Plan {
        Plan::new(buffer, mtu, queues, 1).unwrap()
    }

    #[test]
    fn the_usual_buffer_makes_32_ki_frames() {
        let usual = plan(64 << 20, 1500, 1);
        assert_eq!((usual.size, usual.frames), (FrameSize::Half, 32 << 10));
        assert_eq!(usual.note(), "1 queue with 32768 frames of 2048 bytes each, 65536 KiB in all");
        assert_eq!(
            plan(64 << 20, 3000, 4).note(),
            "4 queues with 4096 frames of 4096 bytes each, 65536 KiB in all"
        );
    }

    #[test]
    fn no_buffer_is_too_small_or_too_large() {
        assert_eq!(plan(0, 1500, 2).frames, 256);
        for queues in [1, 3, 64] {
            let largest = plan(u64::MAX, 1500, queues);
            assert!(largest.bytes() < 1 << 32 && largest.bytes() > 4_000_000_000);
            assert!(largest.note().ends_with("KiB in all, the most for so many threads"));
        }
    }

    #[test]
    fn every_queue_has_as_many_frames_whosever_it_is() {
        for (queues, sources) in [(2, 2), (3, 2), (4, 3)] {
            let shared = Plan::new(64 << 20, 1500, queues, sources).unwrap();
            assert_eq!(shared, plan(64 << 20, 1500, queues));
        }
        // The sources' memories are apart: each may be as large as offsets reach.
        let two = Plan::new(u64::MAX, 1500, 2, 2).unwrap();
        assert_eq!(two.frames, plan(u64::MAX, 1500, 1).frames);
        let uneven = Plan::new(u64::MAX, 1500, 3, 2).unwrap();
        assert_eq!(uneven.frames, plan(u64::MAX, 1500, 2).frames);
    }

    #[test]
    fn jumbo_frames_are_refused_with_the_name_of_a_back_end_that_takes_them() {
        assert_eq!(plan(0, 3818, 1).size, FrameSize::Page);
        let error = Plan::new(0, 9000, 1, 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.answered().contains("3818") && error.advice().unwrap().contains("tap"));
    }
}
