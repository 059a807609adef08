//! What is done to columns, in plain Rust: for every processor, and the pattern for its faster likes.
//!
//! Tests send packets on by chunk: those of whom they hold one way, those of whom they do not the other. Who lacks the
//! field goes nowhere.

use std::array;

use linerate_filter::plan::{BinaryOperator, Comparison, apply};

use crate::bits::Bits;
use crate::join::Either;
use crate::lanes::{Arrivals, CHUNK, CHUNKS, Chunks, Fork, LANES, Lanes, Mask, each, ones};
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
        if let Some(bytes) = self.region.get(at..).and_then(<[u8]>::first_chunk) {
            return u32::from_be_bytes(*bytes);
        }
        let mut bytes = [0; 4];
        if let Some(rest) = self.region.get(at..) {
            bytes[..rest.len()].copy_from_slice(rest);
        }
        u32::from_be_bytes(bytes)
    }
}

/// A column and who has a number in it; `None` stands for all.
pub(crate) type Known<'a> = (&'a Lanes, Option<&'a Mask>);

/// The packets of a chunk that are in a mask.
#[inline(always)]
pub(crate) fn of(mask: Option<&Mask>, chunk: usize) -> u16 {
    mask.map_or(u16::MAX, |mask| mask.0[chunk])
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

/// Looks a column up.
pub(crate) fn test(
    lookup: &Lookup,
    lanes: &Lanes,
    present: Option<&Mask>,
    active: &Arrivals,
    fork: &mut Fork<'_>,
) {
    match lookup {
        Lookup::Equal { mask, constant } => {
            select(lanes, present, active, |lane| lane & mask == *constant, fork);
        }
        Lookup::Within { mask, low, span } => {
            let holds = |lane: u32| (lane & mask).wrapping_sub(*low) <= *span;
            select(lanes, present, active, holds, fork);
        }
        other => select(lanes, present, active, |lane| other.holds(lane), fork),
    }
}

fn select(
    lanes: &Lanes,
    present: Option<&Mask>,
    active: &Arrivals,
    holds: impl Fn(u32) -> bool,
    fork: &mut Fork<'_>,
) {
    for chunk in each(active.chunks) {
        let there = active.packets.0[chunk] & of(present, chunk);
        let holds = bits(|lane| holds(lanes[chunk][lane]));
        fork.send(chunk, there & holds, there & !holds);
    }
}

/// Looks both halves of a window up, where one suffices.
#[inline(always)]
pub(crate) fn either(
    either: &Either,
    lanes: &Lanes,
    present: [Option<&Mask>; 2],
    active: &Arrivals,
    fork: &mut Fork<'_>,
) {
    for chunk in each(active.chunks) {
        let is_among = |half: u32| either.constants.iter().any(|c| u32::from(*c) == half);
        let upper = bits(|lane| is_among(lanes[chunk][lane] >> 16));
        let lower = bits(|lane| is_among(lanes[chunk][lane] & 0xffff));
        let there = present.map(|present| of(present, chunk));
        let (holds, fails) = either.judge(upper, lower, there, active.packets.0[chunk]);
        fork.send(chunk, holds, fails);
    }
}

/// Compares two columns.
#[inline(always)]
pub(crate) fn compare(
    how: Comparison,
    [(left, one), (right, other)]: [Known<'_>; 2],
    active: &Arrivals,
    fork: &mut Fork<'_>,
) {
    for chunk in each(active.chunks) {
        let there = active.packets.0[chunk] & of(one, chunk) & of(other, chunk);
        let holds = bits(|lane| how.holds(left[chunk][lane], right[chunk][lane]));
        fork.send(chunk, there & holds, there & !holds);
    }
}

#[inline(always)]
fn bits(holds: impl Fn(usize) -> bool) -> u16 {
    (0..CHUNK).fold(0, |bits, lane| bits | u16::from(holds(lane)) << lane)
}

/// Takes some bits of a column.
#[inline(always)]
pub(crate) fn extract(bits: Bits, lanes: &Lanes, chunks: Chunks, out: &mut Lanes) {
    for chunk in each(chunks) {
        out[chunk] = lanes[chunk].map(|lane| bits.number(lane));
    }
}

/// Makes a column of two, with 0 where there is no such number.
#[inline(always)]
pub(crate) fn combine(
    operator: BinaryOperator,
    left: &Lanes,
    right: &Lanes,
    chunks: Chunks,
    out: &mut Lanes,
) {
    for chunk in each(chunks) {
        out[chunk] = array::from_fn(|lane| {
            apply(operator, left[chunk][lane], right[chunk][lane]).unwrap_or(0)
        });
    }
}

/// Puts the chosen lanes side by side, with zeroes behind them to the end of their last chunk.
pub(crate) fn compress(lanes: &Lanes, chosen: &Arrivals, out: &mut Lanes) {
    let out = out.0.as_flattened_mut();
    let mut next = 0;
    for chunk in each(chosen.chunks) {
        for lane in ones(chosen.packets.0[chunk]) {
            out[next] = lanes[chunk][lane];
            next += 1;
        }
    }
    out[next..next.next_multiple_of(CHUNK)].fill(0);
}

/// Of the chosen packets those whose number among them is in `dense`.
pub(crate) fn spread(dense: &Mask, chosen: &Arrivals) -> Mask {
    let mut out = Mask([0; CHUNKS]);
    let mut number = 0;
    for chunk in each(chosen.chunks) {
        for lane in ones(chosen.packets.0[chunk]) {
            out.0[chunk] |= (dense.0[number / CHUNK % CHUNKS] >> (number % CHUNK) & 1) << lane;
            number += 1;
        }
    }
    debug_assert!(number <= LANES);
    out
}
