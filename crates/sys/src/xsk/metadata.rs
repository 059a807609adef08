//! What a driver is asked to do with a frame: `struct xsk_tx_metadata` of `linux/if_xdp.h`, which lies before it.
//!
//! Checksums since Linux 6.8, launch times since 6.15; Documentation/networking/xsk-tx-metadata.rst.

use std::ops::Range;

/// What the driver, or the kernel where it copies, is asked to do with every frame of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offloads {
    /// It completes a checksum.
    pub checksum: Option<PartialChecksum>,
    /// It keeps a frame until [its time](super::TransmitQueue::launch).
    pub launches: bool,
}

/// A checksum (RFC 1071) in whose place stands the sum of the pseudo-header. The sum of all from `start` on is added, and
/// the complement of that put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialChecksum {
    /// The first byte that is summed up, from the beginning of the frame.
    pub start: u16,
    /// Where the checksum stands, from there.
    pub offset: u16,
}

/// Bytes that lie before a frame for which something is asked.
const LENGTH: usize = 24;

const FLAGS: Range<usize> = 0..8;
const CHECKSUM_START: Range<usize> = 8..10;
const CHECKSUM_OFFSET: Range<usize> = 10..12;
const LAUNCH_TIME: Range<usize> = 16..LENGTH;

/// `XDP_TXMD_FLAGS_LAUNCH_TIME`, Linux 6.15.
const FLAG_LAUNCH_TIME: u64 = 1 << 2;

impl Offloads {
    /// Bytes that lie before each frame.
    pub fn room(self) -> usize {
        if self == Self::default() { 0 } else { LENGTH }
    }

    /// `options` of `struct xdp_desc`.
    pub(super) fn options(self) -> u32 {
        if self == Self::default() { 0 } else { libc::XDP_TX_METADATA }
    }

    /// Writes to the beginning of a slot what holds for all its frames.
    pub(super) fn write(self, slot: &mut [u8]) {
        if self == Self::default() {
            return;
        }
        let checksum = self.checksum.map_or(0, |_| libc::XDP_TXMD_FLAGS_CHECKSUM.into());
        let launch = if self.launches { FLAG_LAUNCH_TIME } else { 0 };
        let PartialChecksum { start, offset } =
            self.checksum.unwrap_or(PartialChecksum { start: 0, offset: 0 });
        slot[..LENGTH].fill(0);
        slot[FLAGS].copy_from_slice(&u64::to_ne_bytes(checksum | launch));
        slot[CHECKSUM_START].copy_from_slice(&start.to_ne_bytes());
        slot[CHECKSUM_OFFSET].copy_from_slice(&offset.to_ne_bytes());
    }

    /// The shortest frame of which a driver can do what is asked.
    pub(super) fn shortest(self) -> u32 {
        self.checksum.map_or(1, |sum| u32::from(sum.start) + u32::from(sum.offset) + 2)
    }
}

/// Writes to the beginning of a slot when its frame is to leave.
pub(super) fn write_launch(slot: &mut [u8], nanos: u64) {
    slot[LAUNCH_TIME].copy_from_slice(&nanos.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(offloads: Offloads) -> Vec<u8> {
        let mut slot = vec![0xee; 32];
        offloads.write(&mut slot);
        slot
    }

    /// The words of the metadata as the header has them, on a processor of either byte order.
    fn words(flags: u64, start: u16, offset: u16, launch: u64) -> Vec<u8> {
        let mut bytes = flags.to_ne_bytes().to_vec();
        bytes.extend([start.to_ne_bytes(), offset.to_ne_bytes(), [0; 2], [0; 2]].concat());
        bytes.extend(launch.to_ne_bytes());
        bytes.extend([0xee; 8]);
        bytes
    }

    #[test]
    fn what_is_asked_stands_where_the_kernel_looks_for_it() {
        let checksum = Some(PartialChecksum { start: 34, offset: 6 });
        assert_eq!(written(Offloads { checksum, launches: false }), words(2, 34, 6, 0));
        let mut slot = written(Offloads { checksum, launches: true });
        write_launch(&mut slot, 0x0123_4567_89ab_cdef);
        assert_eq!(slot, words(6, 34, 6, 0x0123_4567_89ab_cdef));
        assert_eq!(written(Offloads { checksum: None, launches: true }), words(4, 0, 0, 0));
    }

    #[test]
    fn without_a_question_nothing_is_written() {
        let nothing = Offloads::default();
        assert_eq!(written(nothing), [0xee; 32]);
        assert_eq!((nothing.room(), nothing.options(), nothing.shortest()), (0, 0, 1));
        let checksum = Some(PartialChecksum { start: 34, offset: 16 });
        let both = Offloads { checksum, launches: true };
        assert_eq!((both.room(), both.options(), both.shortest()), (24, 2, 52));
    }
}
