//! What is done to columns, in plain Rust: for every processor, and the pattern for its faster likes.

use std::array;

use linerate_filter::plan::{BinaryOperator, Comparison, apply};

use crate::bits::Bits;
use crate::lanes::{CHUNK, Chunks, Lanes, Mask, each};
use crate::lookup::Lookup;

/// Where in memory the numbers of a column are, four bytes each in network order.
#[derive(Clone, Copy)]
pub(crate) struct Windows<'a> {
    /// At most 2 GiB.
    pub(crate) region: &'a [u8],
    /// Where each packet begins in it.
    pub(crate) starts: &'a Lanes,
    /// What is added, by packet.
    pub(crate) base: Option<&'a Lanes>,
    /// What is added for all.
    pub(crate) offset: u32,
}

impl Windows<'_> {
    /// The window of one packet; bytes outside the region read as zero.
    pub(crate) fn get(&self, chunk: usize, lane: usize) -> u32 {
        let base = self.base.map_or(0, |base| base[chunk][lane]);
        let at = self.starts[chunk][lane].wrapping_add(base).wrapping_add(self.offset) as usize;
        let mut bytes = [0; 4];
        if let Some(rest) = self.region.get(at..) {
            let there = rest.len().min(4);
            bytes[..there].copy_from_slice(&rest[..there]);
        }
        u32::from_be_bytes(bytes)
    }
}

/// Loads a column. What it gives for packets that have no such bytes is of no meaning.
pub(crate) fn gather(windows: &Windows<'_>, chunks: Chunks, out: &mut Lanes) {
    for chunk in each(chunks) {
        out[chunk] = array::from_fn(|lane| windows.get(chunk, lane));
    }
}

/// Which packets have bytes up to `base + end`.
#[inline(always)]
pub(crate) fn within(
    captured: &Lanes,
    base: Option<&Lanes>,
    end: u32,
    chunks: Chunks,
    out: &mut Mask,
) {
    for chunk in each(chunks) {
        out.0[chunk] = bits(|lane| {
            let before = base.map_or(0, |base| base[chunk][lane]);
            captured[chunk][lane].checked_sub(end).is_some_and(|room| before <= room)
        });
    }
}

/// The packets among `active` that pass.
pub(crate) fn test(lookup: &Lookup, lanes: &Lanes, active: &Mask) -> Mask {
    match lookup {
        Lookup::Equal { mask, constant } => select(lanes, active, |lane| lane & mask == *constant),
        Lookup::Within { mask, low, span } => {
            select(lanes, active, |lane| (lane & mask).wrapping_sub(*low) <= *span)
        }
        other => select(lanes, active, |lane| other.holds(lane)),
    }
}

/// The packets among `active` of which `how` is true.
pub(crate) fn compare(how: Comparison, left: &Lanes, right: &Lanes, active: &Mask) -> Mask {
    Mask(array::from_fn(|chunk| match active.0[chunk] {
        0 => 0,
        some => some & bits(|lane| how.holds(left[chunk][lane], right[chunk][lane])),
    }))
}

fn select(lanes: &Lanes, active: &Mask, holds: impl Fn(u32) -> bool) -> Mask {
    Mask(array::from_fn(|chunk| match active.0[chunk] {
        0 => 0,
        some => some & bits(|lane| holds(lanes[chunk][lane])),
    }))
}

#[inline(always)]
fn bits(holds: impl Fn(usize) -> bool) -> u16 {
    (0..CHUNK).fold(0, |bits, lane| bits | u16::from(holds(lane)) << lane)
}

/// Takes some bits of a column.
#[inline(always)]
pub(crate) fn extract(bits: Bits, lanes: &Lanes, chunks: Chunks, out: &mut Lanes) {
    for chunk in each(chunks) {
        out[chunk] = lanes[chunk].map(|lane| (lane >> bits.right & bits.mask) << bits.left);
    }
}

/// Makes a column of two; `out` says for which packets it could.
pub(crate) fn combine(
    operator: BinaryOperator,
    left: &Lanes,
    right: &Lanes,
    chunks: Chunks,
    (out, made): (&mut Lanes, &mut Mask),
) {
    for chunk in each(chunks) {
        made.0[chunk] =
            bits(|lane| apply(operator, left[chunk][lane], right[chunk][lane]).is_some());
        out[chunk] = array::from_fn(|lane| {
            apply(operator, left[chunk][lane], right[chunk][lane]).unwrap_or(0)
        });
    }
}
