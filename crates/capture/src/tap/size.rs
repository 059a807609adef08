//! How large the rings are.

use linerate_sys::tap_ring::{Geometry, layout};

use super::walk;

/// Records that a ring holds at least: one that is being read, and some that come meanwhile.
const FEWEST: u64 = 4;

/// The verifier does not let a program reach farther into a value of a map (`BPF_MAX_VAR_OFF`,
/// `linux/bpf_verifier.h`).
const LARGEST: u64 = 1 << 29;

/// A batch tells by 32 bits where a packet is.
const REGION: u64 = 1 << 32;

/// `rings` rings in `buffer` bytes, no larger in sum unless that is too small for packets of which `snaplen`
/// bytes are kept, and no larger than there can be.
pub(crate) fn geometry(buffer: u64, rings: usize, snaplen: u32) -> Geometry {
    let record = walk::size(snaplen) as u64;
    let fixed = layout::DATA as u64 + record;
    let most = LARGEST.min(REGION / rings as u64) - PAGE;
    let share = (buffer / rings as u64).clamp(fixed + FEWEST * record, most);
    let data = (share - share % PAGE).max(fixed + FEWEST * record) - fixed;
    Geometry {
        rings: rings as u32,
        data: (data - data % layout::ALIGNMENT as u64) as u32,
        record: record as u32,
    }
}

/// Rings lie on pages.
const PAGE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_SNAPLEN;

    #[test]
    fn rings_sum_up_to_the_buffer() {
        for (buffer, rings, snaplen) in [(64 << 20, 2, MAX_SNAPLEN), (8 << 20, 1, 96)] {
            assert_eq!(geometry(buffer, rings, snaplen).bytes() as u64, buffer);
        }
        let odd = geometry(10_000_001, 3, 1514);
        assert!(odd.bytes() <= 10_000_001 && odd.bytes() > 9_980_000);
    }

    #[test]
    fn the_smallest_ring_holds_some_packets() {
        let small = geometry(0, 2, MAX_SNAPLEN);
        assert_eq!(small.data, 4 * 262_168);
        assert_eq!(geometry(1, 1, 60).data, 4 * 88);
    }

    #[test]
    fn no_size_exceeds_what_program_and_batch_can_reach() {
        for rings in [1, 2, 7, 64, 1000] {
            let large = geometry(u64::MAX, rings, MAX_SNAPLEN);
            assert!(large.ring_bytes() < 1 << 29, "{rings}");
            assert!(large.bytes() < 1 << 32, "{rings}: {large:?}");
            assert!(large.data.is_multiple_of(8));
        }
    }
}
