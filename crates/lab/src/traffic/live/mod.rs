//! Frames as fast as a core can send them, or at an exact rate: through the kernel's live frames.
//!
//! An XDP program numbers the frames and redirects them to the host's wire
//! (`BPF_PROG_TEST_RUN` with `BPF_F_TEST_XDP_LIVE_FRAMES`, Linux 5.18): no system call and no socket
//! buffer per frame. The program itself keeps the rate, the number and the time, so a load ends
//! whatever becomes of who started it.
//!
//! The receiving interface takes such frames only while it has NAPI: an XDP program, or GRO switched
//! on ([`Plan::offload`](crate::Plan::offload)). It is polled on the sender's core, as a real card is
//! polled on the core of its interrupt. Nothing else may be on the wire while frames are counted.

mod program;
mod sender;
mod shares;
mod softirq;

use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use super::Flow;
use crate::Host;

pub use sender::Sender;
pub use softirq::SoftirqThreads;

/// What is to be sent.
#[derive(Clone, Debug)]
pub struct Load {
    /// What each frame is like.
    pub frame: Frame,
    /// Number of frames.
    pub count: u64,
    /// Frames a second, of all cores together; `None`: as many as they can.
    pub rate: Option<f64>,
    /// After this time no more is sent. The clock starts with the first frame.
    pub limit: Duration,
    /// The cores that send, an equal share each, and nothing else meanwhile. A wire with several
    /// queues uses that of the core's number, modulo their count.
    pub cores: Vec<usize>,
}

impl Load {
    /// So many frames as fast as core 0 can, for 10 seconds at most.
    pub fn new(frame: Frame, count: u64) -> Self {
        Self { frame, count, rate: None, limit: Duration::from_secs(10), cores: vec![0] }
    }
}

/// What became of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// Frames that the receiving interface took.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Frames that found the receiving interface's queue full: no capture could see them.
    pub lost: u64,
    /// From the first frame to the last.
    pub elapsed: Duration,
    /// Processor time of the sending threads, waiting for the next frame included, and of the kernel's
    /// own that receive on these cores.
    pub cpu: Duration,
    /// The rate asked for, frames a second.
    pub asked: Option<f64>,
}

impl Report {
    /// Frames that the receiving interface took, a second.
    pub fn rate(&self) -> f64 {
        self.packets as f64 / self.elapsed.as_secs_f64()
    }
}

/// A UDP datagram over IPv4 without a checksum, from source ports 1024 to 2047 in turn. Its payload
/// begins with the frame's [number](super::payload).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame(Vec<u8>);

impl Frame {
    /// Limits of the size, in bytes without the check sequence. The kernel keeps a live frame in one
    /// page, with the structures that belong to it.
    pub const SIZES: RangeInclusive<usize> = 60..=3072;

    /// A frame of `size` bytes, without the check sequence, from one host to a port of another.
    ///
    /// # Panics
    /// When the size is outside [`SIZES`](Self::SIZES).
    pub fn udp(from: &Host, to: &Host, port: u16, size: usize) -> Self {
        assert!(Self::SIZES.contains(&size), "frames have {:?} bytes", Self::SIZES);
        let mut frame = Flow::ipv4(from, to, 0, port).frame(&vec![0; size - program::NUMBER_AT]);
        // RFC 768: a checksum of zero is none.
        frame[UDP_CHECKSUM].fill(0);
        Self(frame)
    }

    /// As [`udp`](Self::udp), between two stations that are not on this wire, as a mirror port
    /// carries it: the receiving host's stack passes over it, and nobody answers.
    ///
    /// # Panics
    /// As for [`udp`](Self::udp).
    pub fn mirrored(from: &Host, to: &Host, size: usize) -> Self {
        let Self(mut frame) = Self::udp(from, to, 9, size);
        frame[..MIRRORED.len()].copy_from_slice(&MIRRORED);
        Self(frame)
    }
}

/// The link-layer addresses of [mirrored](Frame::mirrored) frames, which they begin with.
pub const MIRRORED: [u8; 12] = [2, 0, 0, 0, 9, 1, 2, 0, 0, 0, 9, 2];
/// Where the UDP checksum lies in a frame.
const UDP_CHECKSUM: Range<usize> = 40..42;
