//! What is done to columns, in plain Rust: for every processor, and the pattern for its faster likes.
//!
//! Tests give a mask, which says something of the chunks that were asked for and nothing of others.

use std::array;

use linerate_base::Descriptor;
use linerate_filter::plan::{BinaryOperator, Comparison, apply};

use crate::bits::Bits;
use crate::bounds::Bounds;
use crate::lanes::{CHUNK, Chunks, Lanes, List, Mask, QUAD, each};
use crate::lookup::{Lookup, Table};
use crate::program::ColumnId;
use crate::sheet::{GROUP, Sheet, add};
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

/// Lists packets, ascending.
pub(crate) fn list(packets: Mask, list: &mut List) {
    list.count = 0;
    for (at, packet) in list.packets.0.as_flattened_mut().iter_mut().zip(packets.iter()) {
        *at = packet as u32;
        list.count += 1;
    }
}

/// Takes some bits of a column for each packet of a list.
pub(crate) fn pick(bits: Bits, lanes: &Lanes, list: &List, out: &mut Lanes) {
    for (out, packet) in out.0.as_flattened_mut().iter_mut().zip(list.packets()) {
        *out = bits.number(lanes.of(*packet as usize));
    }
}

/// Makes each number of some chunks its value.
pub(crate) fn look_up(bounds: &Bounds, chunks: Chunks, numbers: &mut Lanes) {
    for chunk in each(chunks) {
        numbers[chunk] = numbers[chunk].map(|number| bounds.value(number));
    }
}

/// Keeps those packets of a list whose number in the last of the columns is not 0.
pub(crate) fn narrow(list: &mut List, columns: &mut [Lanes]) {
    let Some(last) = columns.len().checked_sub(1) else { return };
    let mut kept = 0;
    for at in 0..list.count {
        if columns[last].of(at) != 0 {
            let lists = columns.iter_mut().chain([&mut list.packets]);
            lists.for_each(|list| list.0.as_flattened_mut().copy_within(at..=at, kept));
            kept += 1;
        }
    }
    list.count = kept;
}

/// Lists those of some packets whose key is in a table, and their places there.
pub(crate) fn find(table: &Table, asked: &List, keys: &Lanes, list: &mut List, places: &mut Lanes) {
    list.count = 0;
    for (packet, key) in asked.packets().iter().zip(keys.0.as_flattened()) {
        if table.contains(*key) {
            list.packets.0.as_flattened_mut()[list.count] = *packet;
            places.0.as_flattened_mut()[list.count] = table.place_of(*key) as u32;
            list.count += 1;
        }
    }
}

/// Rows of bits, and which of them each packet of a list has.
#[derive(Clone, Copy)]
pub(crate) struct BitRows<'a> {
    pub(crate) words: &'a [u64],
    pub(crate) numbers: &'a Lanes,
}

impl<'a> BitRows<'a> {
    /// That of the packet at a place of the list, where rows are so wide.
    #[inline(always)]
    pub(crate) fn of(&self, at: usize, width: usize) -> &'a [u64] {
        &self.words[self.numbers.of(at) as usize * width..][..width]
    }
}

/// Adds to the first `width` words of each packet what is in all of its rows.
pub(crate) fn intersect(rows: &[BitRows<'_>], width: usize, list: &List, out: &mut Sheet<'_>) {
    for (at, packet) in list.packets().iter().enumerate() {
        let of = rows.iter().map(|rows| rows.of(at, width));
        let (words, written) = out.row(*packet as usize, width);
        for (number, word) in words.iter_mut().enumerate() {
            let all = of.clone().fold(u64::MAX, |all, row| all & row[number]);
            if all != 0 {
                add(word, &mut written[number / GROUP], number, all);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Level;
    use crate::lanes::{LANES, WORDS};
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

    fn column(numbers: &[u32]) -> Lanes {
        let mut lanes = Lanes::default();
        lanes.0.as_flattened_mut()[..numbers.len()].copy_from_slice(numbers);
        lanes
    }

    fn listed(list: &List, lanes: &Lanes) -> Vec<u32> {
        lanes.0.as_flattened()[..list.count].to_vec()
    }

    fn mask() -> impl Strategy<Value = Mask> {
        let word =
            prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), (0..64).prop_map(|at| 1_u64 << at)];
        prop::array::uniform4(word).prop_map(|words: [u64; WORDS]| Mask(words))
    }

    fn small() -> impl Strategy<Value = Vec<u32>> {
        vec(0..40_u32, LANES)
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
            let values = (0..=bounds.len() as u32).map(|count| !count).collect();
            let bounds = Bounds::new(bounds.into_iter().collect(), values);
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
                level.look_up(&bounds, chunks, &mut ours);
                look_up(&bounds, chunks, &mut meant);
                prop_assert_eq!(asked(&ours, chunks), asked(&meant, chunks), "{}", level);
            }
        }

        #[test]
        fn lists_are_the_same_at_every_level(
            packets in mask(),
            (one, other) in (small(), small()),
            right in 0..3_u32,
            keys in prop::collection::btree_set(0..40_u32, 1..30),
        ) {
            let table = Table::new(&keys.iter().copied().collect::<Vec<_>>());
            let bits = Bits { right, mask: 0x3f, left: 1 };
            let meant: Vec<_> = packets.iter().collect();
            for level in Level::all() {
                let (mut list, mut columns) = (List::default(), [Lanes::default(), column(&other)]);
                level.list(packets, &mut list);
                prop_assert!(list.packets().iter().map(|packet| *packet as usize).eq(meant.iter().copied()));
                level.pick(bits, &column(&one), &list, &mut columns[0]);
                let picked: Vec<_> = meant.iter().map(|packet| bits.number(one[*packet])).collect();
                prop_assert_eq!(listed(&list, &columns[0]), picked, "{}", level);

                let (mut found, mut places) = (List::default(), Lanes::default());
                level.find(&table, &list, &column(&other), &mut found, &mut places);
                let members = meant.iter().zip(&other).filter(|(_, key)| keys.contains(key));
                let (there, keys): (Vec<_>, Vec<_>) = members.map(|(packet, key)| (*packet as u32, *key)).unzip();
                prop_assert_eq!(found.packets(), &there, "{}", level);
                let at = |place: &u32| table.places().0[*place as usize];
                prop_assert_eq!(listed(&found, &places).iter().map(at).collect::<Vec<_>>(), keys);

                level.narrow(&mut list, &mut columns);
                let kept = meant.iter().zip(&other).filter(|(_, number)| **number != 0);
                let (there, left): (Vec<_>, Vec<_>) = kept.map(|(packet, number)| (*packet as u32, *number)).unzip();
                prop_assert_eq!(list.packets(), &there, "{}", level);
                prop_assert_eq!(listed(&list, &columns[1]), left);
                let first: Vec<_> = there.iter().map(|packet| bits.number(one[*packet as usize])).collect();
                prop_assert_eq!(listed(&list, &columns[0]), first);
            }
        }

        #[test]
        fn rows_have_in_common_the_same_at_every_level(
            packets in mask(),
            (one, other) in (small(), small()),
            width in 1..20_usize,
            beside in 0..3_usize,
            words in vec(prop_oneof![Just(0), any::<u64>()], 40 * 20),
            before in vec(any::<u64>(), LANES * 22),
            written in vec(any::<u8>(), LANES * 3),
        ) {
            let stride = width + beside;
            let rows = [column(&one), column(&other)];
            let rows = rows.each_ref().map(|numbers| BitRows { words: &words, numbers });
            let word = |words: &[u64], written: &[u8], packet: usize, at: usize| {
                let is_written = written[packet * stride.div_ceil(GROUP) + at / GROUP] >> (at % GROUP) & 1 == 1;
                if is_written { words[packet * stride + at] } else { 0 }
            };
            for level in Level::all() {
                let (mut after, mut now) = (before.clone(), written.clone());
                let mut list = List::default();
                level.list(packets, &mut list);
                level.intersect(&rows, width, &list, &mut Sheet::new(&mut after, &mut now, stride));
                let place = |packet: usize| packets.iter().position(|listed| listed == packet);
                for packet in 0..LANES {
                    let place = place(packet);
                    for at in 0..stride {
                        let common = |place: usize| rows.iter().fold(u64::MAX, |all, rows| all & rows.of(place, width)[at]);
                        let more = place.filter(|_| at < width).map_or(0, common);
                        let meant = word(&before, &written, packet, at) | more;
                        prop_assert_eq!(word(&after, &now, packet, at), meant, "{}: {} {}", level, packet, at);
                    }
                }
            }
        }
    }
}
