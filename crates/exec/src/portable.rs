//! What is done to columns, in plain Rust: for every processor, and the pattern for its faster likes.
//!
//! Tests give a mask, which says something of the chunks that were asked for and nothing of others.

use std::array;

use linerate_base::Descriptor;
use linerate_filter::plan::{BinaryOperator, Comparison, apply};

use crate::bits::Bits;
use crate::lanes::{CHUNK, Chunks, Lanes, Mask, QUAD, each};
use crate::lookup::Lookup;
use crate::program::ColumnId;
use crate::vector::Rows;

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

/// Notes where packets are.
pub(crate) fn note(packets: &[Descriptor], from: u32, rows: &mut Rows) {
    let (starts, captured) = (rows.starts.0.as_flattened_mut(), rows.captured.0.as_flattened_mut());
    rows.shortest = u32::MAX;
    for ((start, bytes), packet) in starts.iter_mut().zip(captured.iter_mut()).zip(packets) {
        (*start, *bytes) = (packet.offset.wrapping_sub(from), packet.captured);
        rows.shortest = packet.captured.min(rows.shortest);
    }
    starts[packets.len()..].fill(0);
    captured[packets.len()..].fill(0);
}

/// Loads a column. What it gives for packets that have no such bytes is of no meaning.
pub(crate) fn gather(windows: &Windows<'_>, chunks: Chunks, out: &mut Lanes) {
    for chunk in each(chunks) {
        out[chunk] = array::from_fn(|lane| windows.get(chunk, lane));
    }
}

/// Loads the columns of a quad, whose first window is `windows`, into those of `out` that `columns` names.
pub(crate) fn gather_quad(
    windows: &Windows<'_>,
    columns: &[Option<ColumnId>; QUAD],
    chunks: Chunks,
    out: &mut [Lanes],
) {
    for (windows, column) in side_by_side(windows, columns) {
        gather(&windows, chunks, &mut out[column]);
    }
}

/// The windows of a quad's columns.
pub(crate) fn side_by_side<'a>(
    first: &Windows<'a>,
    columns: &[Option<ColumnId>; QUAD],
) -> impl Iterator<Item = (Windows<'a>, ColumnId)> {
    let offsets = (first.offset..).step_by(4);
    let windows = offsets.map(|offset| Windows { offset, ..*first });
    windows.zip(columns).filter_map(|(windows, column)| Some((windows, (*column)?)))
}

/// A number for those who passed, and another for the others: each a constant, added to lanes where there are any.
pub(crate) struct Choice<'a> {
    pub(crate) passed: (Option<&'a Lanes>, u32),
    pub(crate) others: (Option<&'a Lanes>, u32),
}

/// Makes a column of choices.
pub(crate) fn choose(choice: &Choice<'_>, passed: &Mask, chunks: Chunks, out: &mut Lanes) {
    for chunk in each(chunks) {
        out[chunk] = array::from_fn(|lane| {
            let has_passed = passed.chunk(chunk) >> lane & 1 == 1;
            let (base, plus) = if has_passed { choice.passed } else { choice.others };
            base.map_or(0, |base| base[chunk][lane]).wrapping_add(plus)
        });
    }
}

/// Which packets have bytes up to `base + end`.
#[inline(always)]
pub(crate) fn within(captured: &Lanes, base: Option<&Lanes>, end: u32, chunks: Chunks) -> Mask {
    Mask::by_chunk(chunks, |chunk| {
        bits(|lane| {
            let before = base.map_or(0, |base| base[chunk][lane]);
            captured[chunk][lane].checked_sub(end).is_some_and(|room| before <= room)
        })
    })
}

/// Which numbers pass.
pub(crate) fn test(lookup: &Lookup, lanes: &Lanes, chunks: Chunks) -> Mask {
    match lookup {
        Lookup::Equal { mask, constant } => select(lanes, chunks, |lane| lane & mask == *constant),
        Lookup::Within { mask, low, span } => {
            select(lanes, chunks, |lane| (lane & mask).wrapping_sub(*low) <= *span)
        }
        other => select(lanes, chunks, |lane| other.holds(lane)),
    }
}

#[inline(always)]
fn select(lanes: &Lanes, chunks: Chunks, holds: impl Fn(u32) -> bool) -> Mask {
    Mask::by_chunk(chunks, |chunk| bits(|lane| holds(lanes[chunk][lane])))
}

/// Of which numbers the upper and the lower half is one of the constants.
#[inline(always)]
pub(crate) fn halves(constants: &[u16], lanes: &Lanes, chunks: Chunks) -> [Mask; 2] {
    let is_among = |half: u32| constants.iter().any(|constant| u32::from(*constant) == half);
    [16, 0].map(|right| select(lanes, chunks, |lane| is_among(lane >> right & 0xffff)))
}

/// Which numbers of the left compare so with those of the right.
#[inline(always)]
pub(crate) fn compare(how: Comparison, left: &Lanes, right: &Lanes, chunks: Chunks) -> Mask {
    Mask::by_chunk(chunks, |chunk| bits(|lane| how.holds(left[chunk][lane], right[chunk][lane])))
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

/// Makes each number the value that belongs to the count of bounds that are not above it. Bounds ascend, and there is
/// one value more than there are bounds.
pub(crate) fn look_up(bounds: &[u32], values: &[u32], chunks: Chunks, lanes: &mut Lanes) {
    for chunk in each(chunks) {
        for lane in &mut lanes[chunk] {
            *lane = values[bounds.partition_point(|bound| bound <= lane)];
        }
    }
}

/// Rows of bits, and which of them each packet has.
#[derive(Clone, Copy)]
pub(crate) struct BitRows<'a> {
    pub(crate) words: &'a [u64],
    pub(crate) numbers: &'a Lanes,
}

impl<'a> BitRows<'a> {
    /// That of a packet, where rows are so wide.
    #[inline(always)]
    pub(crate) fn of(&self, packet: usize, width: usize) -> &'a [u64] {
        &self.words[self.numbers.of(packet) as usize * width..][..width]
    }
}

/// Adds to a packet's words, the first `width` of `stride`, what is in all of its rows.
pub(crate) fn intersect(
    rows: &[BitRows<'_>],
    width: usize,
    packets: Mask,
    out: &mut [u64],
    stride: usize,
) {
    for packet in packets.iter() {
        let of = rows.iter().map(|rows| rows.of(packet, width));
        for (at, out) in out[packet * stride..][..width].iter_mut().enumerate() {
            *out |= of.clone().fold(u64::MAX, |all, row| all & row[at]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Level;
    use crate::lanes::LANES;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use linerate_filter::plan::Check;

    /// Numbers that are often the same, and such as are at the ends of what can be said.
    fn number() -> impl Strategy<Value = u32> {
        let ends = prop::sample::select(vec![0x7fff_ffff, 0x8000_0000, u32::MAX]);
        prop_oneof![4 => 0..8_u32, 2 => (0..4_u32).prop_map(|half| half << 16 | 7), 1 => ends, 1 => any::<u32>()]
    }

    fn lanes() -> impl Strategy<Value = Lanes> {
        vec(number(), 1..50).prop_map(|numbers| {
            Lanes(array::from_fn(|chunk| {
                array::from_fn(|lane| numbers[(chunk * CHUNK + lane) % numbers.len()])
            }))
        })
    }

    fn check() -> impl Strategy<Value = Check> {
        prop_oneof![
            number().prop_map(Check::Equal),
            (number(), number()).prop_map(|(a, b)| Check::Within(a.min(b), a.max(b))),
            prop::collection::btree_set(prop_oneof![number(), 0..99_u32], 2..60)
                .prop_map(|set| Check::Among(set.into_iter().collect())),
        ]
    }

    fn lookup() -> impl Strategy<Value = Lookup> {
        let masks = prop::sample::select(vec![7, 0xffff, u32::MAX]);
        (check(), masks, 0..3_u32).prop_map(|(check, mask, right)| {
            let bits = Bits { right, mask: mask & u32::MAX >> right, left: 0 };
            let (bits, check) = bits.check(u32::MAX, &check);
            Lookup::new(bits, check)
        })
    }

    /// The lanes of the chunks that were asked for.
    fn asked(lanes: &Lanes, chunks: Chunks) -> Vec<[u32; CHUNK]> {
        each(chunks).map(|chunk| lanes[chunk]).collect()
    }

    /// What `make` puts into a column.
    fn made(chunks: Chunks, make: impl FnOnce(&mut Lanes)) -> Vec<[u32; CHUNK]> {
        let mut out = Lanes::default();
        make(&mut out);
        asked(&out, chunks)
    }

    proptest! {
        #[test]
        fn every_level_finds_the_same(
            chunks in any::<Chunks>(),
            (left, right) in (lanes(), lanes()),
            base in prop::option::of(lanes()),
            lookup in lookup(),
            end in number(),
            constants in vec(0..9_u16, 1..20),
        ) {
            let of = |mask: Mask| mask & Mask::of_chunks(chunks);
            for level in Level::all() {
                let found = level.test(&lookup, &left, chunks);
                prop_assert_eq!(of(found), of(test(&lookup, &left, chunks)), "{}: {:?}", level, lookup);
                let found = level.within(&left, base.as_ref(), end, chunks);
                prop_assert_eq!(of(found), of(within(&left, base.as_ref(), end, chunks)), "{}", level);
                let found = level.halves(&constants, &left, chunks).map(of);
                prop_assert_eq!(found, halves(&constants, &left, chunks).map(of), "{}", level);
                use Comparison::{Equal, Greater, GreaterEqual, Intersects};
                for how in [Equal, Greater, GreaterEqual, Intersects] {
                    let found = level.compare(how, [&left, &right], chunks);
                    prop_assert_eq!(of(found), of(compare(how, &left, &right, chunks)), "{}: {:?}", level, how);
                }
            }
        }

        #[test]
        fn every_level_makes_the_same(
            chunks in any::<Chunks>(),
            (starts, base) in (vec(0..300_u32, LANES), prop::option::of(lanes())),
            region in vec(any::<u8>(), 0..320),
            offset in prop_oneof![0..20_u32, any::<u32>()],
            numbers in lanes(),
            bounds in prop::collection::btree_set(prop_oneof![number(), 0..200_u32], 0..80),
            taken in (0..32_u32, any::<u32>(), 0..32_u32),
        ) {
            let starts = Lanes(array::from_fn(|chunk| array::from_fn(|lane| starts[chunk * CHUNK + lane])));
            let windows = Windows { region: &region, starts: &starts, base: base.as_ref(), offset };
            let bounds: Vec<_> = bounds.into_iter().collect();
            let values: Vec<_> = (0..=bounds.len() as u32).map(|count| !count).collect();
            let (right, mask, left) = taken;
            let bits = Bits { right, mask, left };
            for level in Level::all() {
                prop_assert_eq!(
                    made(chunks, |out| level.gather(&windows, chunks, out)),
                    made(chunks, |out| gather(&windows, chunks, out)),
                    "{}", level
                );
                prop_assert_eq!(
                    made(chunks, |out| level.extract(bits, &numbers, chunks, out)),
                    made(chunks, |out| extract(bits, &numbers, chunks, out)),
                    "{}", level
                );
                let (mut ours, mut meant) = (numbers, numbers);
                level.look_up(&bounds, &values, chunks, &mut ours);
                look_up(&bounds, &values, chunks, &mut meant);
                prop_assert_eq!(asked(&ours, chunks), asked(&meant, chunks), "{}", level);
            }
        }
    }
}
