//! The `ring` back end: a `TPACKET_V3` ring, one block a batch, no copy and no system call per packet.

use std::time::Duration;

use linerate_base::{Descriptor, Error, ErrorKind, Result};
use linerate_sys::packet_ring::{Geometry, RxRing};
use linerate_sys::packet_socket::PacketSocket;

use super::Intake;
use super::block::Walk;
use super::framer::{Framer, VLAN_TAG};
use super::port::Port;
use crate::{Config, HOLD};

/// In immediate mode a block waits for more packets as short as the kernel takes.
const AT_ONCE: Duration = Duration::from_millis(1);

/// The largest block. The application is woken for each: with 1514-byte packets at half a million a
/// second the reader took about 170, 95 and 65 ns a packet with blocks of 256 KiB, 512 KiB and 1 MiB.
const BLOCK: u64 = 1 << 20;

/// The largest packet, with its header in the ring and what the kernel needs in a block.
const LARGEST: u64 = (64 << 10) + 512;

/// As many blocks as there should be, so that the one which is read is a small part of the buffer.
const MANY: u64 = 16;

/// Fewer blocks and the kernel would wait for the application at every block.
const FEWEST: u64 = 4;

/// The ring for a buffer of `buffer` bytes, no larger unless that is too small for packets of which
/// `snaplen` bytes are kept. A block waits for more packets for as long as `hold`: the shorter that is, the smaller are
/// blocks, for they are used up sooner by time than by packets.
pub(crate) fn geometry(buffer: u64, snaplen: u32, hold: Duration) -> Geometry {
    let least = (u64::from(snaplen) + 512).min(LARGEST).next_power_of_two().max(4096);
    let millis = hold.min(HOLD).as_millis() as u64;
    let share = (buffer / MANY / HOLD.as_millis() as u64).saturating_mul(millis).max(1);
    let block = (1 << share.ilog2()).clamp(least, BLOCK);
    let blocks = (buffer / block).clamp(FEWEST, u32::MAX.into());
    Geometry { block_bytes: block as u32, blocks: blocks as u32, retire: hold.max(AT_ONCE) }
}

/// How long a block waits for more packets.
pub(crate) fn hold(config: &Config) -> Duration {
    if config.immediate { AT_ONCE } else { config.hold }
}

/// Takes packets from a ring.
#[derive(Debug)]
pub(crate) struct RingIntake {
    ring: RxRing,
    framer: Framer,
    descriptors: Vec<Descriptor>,
    unstamped: u64,
}

impl RingIntake {
    /// Gives `socket`, which is not bound yet, a ring.
    ///
    /// Before a packet without link-layer header the kernel leaves 28 bytes, enough for any cooked
    /// header; before others it may leave none, so room for a VLAN tag is reserved (`tpacket_rcv` in
    /// net/packet/af_packet.c, Linux 6.18).
    ///
    /// # Errors
    /// [`ErrorKind::Exhausted`] when there is no memory for it, [`ErrorKind::Unsupported`] when the
    /// kernel has no such rings.
    pub(crate) fn new(socket: &PacketSocket, geometry: &Geometry, framer: Framer) -> Result<Self> {
        let ring = socket
            .reserve(VLAN_TAG as u32)
            .and_then(|()| RxRing::new(socket, geometry))
            .map_err(|e| refused(geometry, e))?;
        Ok(Self { ring, framer, descriptors: Vec::new(), unstamped: 0 })
    }
}

fn refused(geometry: &Geometry, error: std::io::Error) -> Error {
    let asked = format!(
        "allocate a capture ring of {} KiB in {} blocks",
        geometry.bytes() >> 10,
        geometry.blocks
    );
    match Error::system(asked, error) {
        e if e.kind() == ErrorKind::Exhausted => e.advise("lower --buffer"),
        e => e.as_kind(ErrorKind::Unsupported),
    }
}

impl Intake for RingIntake {
    fn fetch(&mut self, port: &mut Port) -> Result<usize> {
        self.ring.release();
        self.descriptors.clear();
        let Some(block) = self.ring.acquire() else { return Ok(0) };
        let name_of = |index| port.socket().device_name(index).unwrap_or_default();
        let mut walk = Walk::new(block)?;
        self.descriptors.reserve(walk.most(block));
        while let Some(found) = walk.next(block)? {
            let finished = self.framer.finish(block, &found, &name_of);
            self.descriptors.push(finished.ok_or_else(no_room)?);
            self.unstamped += u64::from(!found.by_card);
        }
        Ok(self.descriptors.len())
    }

    fn region(&self) -> &[u8] {
        self.ring.acquired()
    }

    fn descriptors(&self) -> &[Descriptor] {
        &self.descriptors
    }

    fn framer(&self) -> &Framer {
        &self.framer
    }

    fn unstamped(&self) -> u64 {
        self.unstamped
    }
}

#[cold]
fn no_room() -> Error {
    let asked = "read a block of the capture ring";
    Error::new(ErrorKind::Malformed, asked, "a packet has no room for its header")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_SNAPLEN;

    fn sizes(buffer: u64, snaplen: u32) -> (u32, u32) {
        let geometry = geometry(buffer, snaplen, HOLD);
        (geometry.block_bytes, geometry.blocks)
    }

    #[test]
    fn blocks_hold_the_largest_packet_and_sum_up_to_the_buffer() {
        assert_eq!(sizes(64 << 20, MAX_SNAPLEN), (1 << 20, 64));
        assert_eq!(sizes(2 << 20, MAX_SNAPLEN), (128 << 10, 16));
        assert_eq!(sizes(512 << 10, MAX_SNAPLEN), (128 << 10, 4));
        assert_eq!(sizes(0, MAX_SNAPLEN), (128 << 10, 4));
        assert_eq!(sizes(64 << 10, 96), (4096, 16));
        assert_eq!(sizes(1, 0), (4096, 4));
    }

    #[test]
    fn immediate_delivery_takes_many_small_blocks() {
        let geometry = geometry(64 << 20, MAX_SNAPLEN, AT_ONCE);
        assert_eq!((geometry.block_bytes, geometry.blocks), (128 << 10, 512));
        assert_eq!(geometry.retire, AT_ONCE);
    }

    #[test]
    fn packets_that_wait_for_less_time_wait_in_smaller_blocks() {
        let millis = |millis| geometry(256 << 20, 96, Duration::from_millis(millis));
        let sizes = [1, 10, 100, 500].map(|hold| millis(hold).block_bytes >> 10);
        assert_eq!(sizes, [128, 1024, 1024, 1024]);
        assert_eq!(millis(10).retire, Duration::from_millis(10));
    }

    #[test]
    fn no_size_overflows() {
        for buffer in [u64::MAX, 1 << 40, (1 << 20) + 1] {
            let (block, blocks) = sizes(buffer, u32::MAX);
            assert!(block.is_power_of_two() && u64::from(block) * u64::from(blocks) <= buffer);
        }
    }
}
