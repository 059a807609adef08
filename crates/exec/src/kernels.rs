//! What is done to columns, by vector instructions: the only unsafe code of this crate.
//!
//! Each function here does what its namesake in [`portable`] does. Those of a module are compiled for
//! instructions that the processor may not have. They are reached by way of a [`Level`] only, and of that
//! there is one only where the processor has the instructions.

#![expect(unsafe_code, reason = "vector instructions, and loads from computed addresses")]

use std::fmt;

use linerate_filter::plan::{BinaryOperator, Comparison};

use crate::bits::Bits;
use crate::join::Either;
use crate::lanes::{Arrivals, Chunks, Fork, Lanes, Mask, each};
use crate::lookup::Lookup;
use crate::portable::{self, Known, Windows};

/// Which instructions an engine uses. Verdicts are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// Plain Rust: what every processor has.
    pub const PORTABLE: Self = Self(Kind::Portable);

    /// AVX2 and BMI2, which came with it, if the processor has them.
    pub fn avx2() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        return (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2"))
            .then_some(Self(Kind::Avx2));
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// AVX-512 with its foundation and byte instructions, and BMI2, if the processor has them.
    pub fn avx512() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        return (is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("bmi2"))
        .then_some(Self(Kind::Avx512));
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// The best that the processor has.
    pub fn best() -> Self {
        Self::avx512().or_else(Self::avx2).unwrap_or(Self::PORTABLE)
    }

    /// All that the processor has.
    pub fn all() -> impl Iterator<Item = Self> {
        [Some(Self::PORTABLE), Self::avx2(), Self::avx512()].into_iter().flatten()
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "AVX-512",
        })
    }
}

/// Calls the function in the module of a level.
macro_rules! at_level {
    ($level:expr, $function:ident($($argument:expr),*)) => {
        match $level.0 {
            Kind::Portable => portable::$function($($argument),*),
            // SAFETY: a level of this kind is made only where the processor has AVX2 and BMI2.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { avx2::$function($($argument),*) },
            // SAFETY: a level of this kind is made only where the processor has AVX-512F and BW, and BMI2.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => unsafe { avx512::$function($($argument),*) },
        }
    };
}

impl Level {
    pub(crate) fn gather(self, windows: &Windows<'_>, chunks: Chunks, out: &mut Lanes) {
        at_level!(self, gather(windows, chunks, out));
    }

    pub(crate) fn within(
        self,
        captured: &Lanes,
        base: Option<&Lanes>,
        end: u32,
        chunks: Chunks,
        out: &mut Mask,
    ) {
        at_level!(self, within(captured, base, end, chunks, out));
    }

    pub(crate) fn extract(self, bits: Bits, lanes: &Lanes, chunks: Chunks, out: &mut Lanes) {
        at_level!(self, extract(bits, lanes, chunks, out));
    }

    pub(crate) fn combine(
        self,
        operator: BinaryOperator,
        [left, right]: [&Lanes; 2],
        chunks: Chunks,
        out: &mut Lanes,
    ) {
        at_level!(self, combine(operator, left, right, chunks, out));
    }

    pub(crate) fn test(
        self,
        lookup: &Lookup,
        lanes: &Lanes,
        present: Option<&Mask>,
        active: &Arrivals,
        fork: &mut Fork<'_>,
    ) {
        at_level!(self, test(lookup, lanes, present, active, fork));
    }

    pub(crate) fn either(
        self,
        either: &Either,
        lanes: &Lanes,
        present: [Option<&Mask>; 2],
        active: &Arrivals,
        fork: &mut Fork<'_>,
    ) {
        at_level!(self, either(either, lanes, present, active, fork));
    }

    pub(crate) fn compare(
        self,
        how: Comparison,
        both: [Known<'_>; 2],
        active: &Arrivals,
        fork: &mut Fork<'_>,
    ) {
        at_level!(self, compare(how, both, active, fork));
    }

    pub(crate) fn compress(self, lanes: &Lanes, chosen: &Arrivals, out: &mut Lanes) {
        at_level!(self, compress(lanes, chosen, out));
    }

    pub(crate) fn spread(self, dense: &Mask, chosen: &Arrivals) -> Mask {
        at_level!(self, spread(dense, chosen))
    }
}

/// Begins to load the cache line at `offset` of `memory`, without waiting for it; does nothing for an offset
/// outside, and on processors for which no instruction is known here.
#[inline]
pub(crate) fn prefetch(memory: &[u8], offset: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(byte) = memory.get(offset) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address is harmless, and this one is inside a slice.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (memory, offset);
}

/// The last offset at which four bytes can be loaded of a region, as a vector's signed lanes can name it.
#[cfg(target_arch = "x86_64")]
fn last_word(windows: &Windows<'_>) -> Option<i32> {
    i32::try_from(windows.region.len().checked_sub(4)?).ok()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi2,popcnt")]
fn spread(dense: &Mask, chosen: &Arrivals) -> Mask {
    use std::arch::x86_64::_pdep_u32;
    let [a, b, c, d] = dense.words();
    let words = [a, b, c, d, 0, 0];
    let mut out = Mask::default();
    let mut number = 0;
    for chunk in each(chosen.chunks) {
        let packets = u32::from(chosen.packets.0[chunk]);
        let [low, high] = [words[number / 64], words[number / 64 + 1]].map(u128::from);
        let next = (low | high << 64) >> (number % 64);
        out.0[chunk] = _pdep_u32(next as u32, packets) as u16;
        number += packets.count_ones() as usize;
    }
    out
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    pub(super) use super::spread;
    use super::{
        Arrivals, BinaryOperator, Bits, Chunks, Comparison, Either, Fork, Known, Lanes, Lookup,
        Mask, Windows, last_word, portable,
    };
    use crate::lanes::{CHUNK, each};
    use crate::lookup::{Bitmap, Table};
    use crate::portable::of;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn load(lanes: &[u32; CHUNK]) -> __m512i {
        // SAFETY: reads 64 bytes, which an array of 16 words has; no alignment is needed.
        unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn store(lanes: &mut [u32; CHUNK], vector: __m512i) {
        // SAFETY: writes 64 bytes, which an array of 16 words has; no alignment is needed.
        unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), vector) };
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn splat(number: u32) -> __m512i {
        _mm512_set1_epi32(number.cast_signed())
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn gather(windows: &Windows<'_>, chunks: Chunks, out: &mut Lanes) {
        let Some(last) = last_word(windows) else {
            return portable::gather(windows, chunks, out);
        };
        let (last, offset) = (_mm512_set1_epi32(last), splat(windows.offset));
        let reversed =
            _mm512_broadcast_i32x4(_mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203));
        for chunk in each(chunks) {
            let mut at = _mm512_add_epi32(load(&windows.starts[chunk]), offset);
            if let Some(base) = windows.base {
                at = _mm512_add_epi32(at, load(&base[chunk]));
            }
            let inside = _mm512_cmple_epu32_mask(at, last);
            // SAFETY: lanes in the mask are at most the last offset of four bytes in the region, which
            // is not negative; the others load nothing.
            let bytes = unsafe {
                let region = windows.region.as_ptr().cast();
                _mm512_mask_i32gather_epi32::<1>(_mm512_setzero_si512(), inside, at, region)
            };
            store(&mut out[chunk], _mm512_shuffle_epi8(bytes, reversed));
            if inside != u16::MAX {
                let outside = (0..CHUNK).filter(|lane| inside >> lane & 1 == 0);
                outside.for_each(|lane| out[chunk][lane] = windows.get(chunk, lane));
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn within(
        captured: &Lanes,
        base: Option<&Lanes>,
        end: u32,
        chunks: Chunks,
        out: &mut Mask,
    ) {
        let end = splat(end);
        for chunk in each(chunks) {
            let captured = load(&captured[chunk]);
            let enough = _mm512_cmpge_epu32_mask(captured, end);
            let before = base.map_or(_mm512_setzero_si512(), |base| load(&base[chunk]));
            let room = _mm512_sub_epi32(captured, end);
            out.0[chunk] = _mm512_mask_cmple_epu32_mask(enough, before, room);
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn extract(bits: Bits, lanes: &Lanes, chunks: Chunks, out: &mut Lanes) {
        let [right, left] =
            [bits.right, bits.left].map(|count| _mm_cvtsi32_si128(count.cast_signed()));
        let mask = splat(bits.mask);
        for chunk in each(chunks) {
            let number = _mm512_and_si512(_mm512_srl_epi32(load(&lanes[chunk]), right), mask);
            store(&mut out[chunk], _mm512_sll_epi32(number, left));
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn combine(
        operator: BinaryOperator,
        left: &Lanes,
        right: &Lanes,
        chunks: Chunks,
        out: &mut Lanes,
    ) {
        portable::combine(operator, left, right, chunks, out);
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn compare(
        how: Comparison,
        both: [Known<'_>; 2],
        active: &Arrivals,
        fork: &mut Fork<'_>,
    ) {
        portable::compare(how, both, active, fork);
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn test(
        lookup: &Lookup,
        lanes: &Lanes,
        present: Option<&Mask>,
        active: &Arrivals,
        fork: &mut Fork<'_>,
    ) {
        match lookup {
            Lookup::Equal { mask, constant } => {
                let (mask, constant) = (splat(*mask), splat(*constant));
                for chunk in each(active.chunks) {
                    let there = active.packets.0[chunk] & of(present, chunk);
                    let lane = _mm512_and_si512(load(&lanes[chunk]), mask);
                    let holds = _mm512_cmpeq_epi32_mask(lane, constant);
                    fork.send(chunk, there & holds, there & !holds);
                }
            }
            Lookup::Few { mask, constants } => {
                let mask = splat(*mask);
                for chunk in each(active.chunks) {
                    let there = active.packets.0[chunk] & of(present, chunk);
                    let lane = _mm512_and_si512(load(&lanes[chunk]), mask);
                    let equal = |constant: &u32| _mm512_cmpeq_epi32_mask(lane, splat(*constant));
                    let holds = constants.iter().fold(0, |holds, constant| holds | equal(constant));
                    fork.send(chunk, there & holds, there & !holds);
                }
            }
            Lookup::Within { mask, low, span } => {
                let (mask, low, span) = (splat(*mask), splat(*low), splat(*span));
                for chunk in each(active.chunks) {
                    let there = active.packets.0[chunk] & of(present, chunk);
                    let lane = _mm512_and_si512(load(&lanes[chunk]), mask);
                    let holds = _mm512_cmple_epu32_mask(_mm512_sub_epi32(lane, low), span);
                    fork.send(chunk, there & holds, there & !holds);
                }
            }
            Lookup::Bitmap { right, mask, bitmap } => {
                for chunk in each(active.chunks) {
                    let there = active.packets.0[chunk] & of(present, chunk);
                    let holds = in_bitmap(*right, *mask, bitmap, load(&lanes[chunk]));
                    fork.send(chunk, there & holds, there & !holds);
                }
            }
            Lookup::Hashed { mask, table } => {
                for chunk in each(active.chunks) {
                    let there = active.packets.0[chunk] & of(present, chunk);
                    let holds =
                        in_table(table, _mm512_and_si512(load(&lanes[chunk]), splat(*mask)));
                    fork.send(chunk, there & holds, there & !holds);
                }
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn in_bitmap(right: u32, mask: u32, bitmap: &Bitmap, lane: __m512i) -> u16 {
        let right = _mm_cvtsi32_si128(right.cast_signed());
        let number = _mm512_and_si512(_mm512_srl_epi32(lane, right), splat(mask & 0xffff));
        let word = _mm512_srli_epi32::<5>(number);
        // SAFETY: of 16 bits 11 are left: the bitmap has a word for each.
        let word = unsafe { _mm512_i32gather_epi32::<4>(word, bitmap.as_ptr().cast()) };
        let bit = _mm512_sllv_epi32(splat(1), _mm512_and_si512(number, splat(31)));
        _mm512_test_epi32_mask(word, bit)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn in_table(table: &Table, key: __m512i) -> u16 {
        let (places, shift) = table.places();
        assert_eq!(places.len(), 1 << (32 - shift), "a place for each hash");
        let shift = _mm_cvtsi32_si128(shift.cast_signed());
        table.factors().into_iter().fold(0, |holds, factor| {
            let at = _mm512_srl_epi32(_mm512_mullo_epi32(key, splat(factor)), shift);
            // SAFETY: so many bits are left as name the places, and fewer than 31.
            let found = unsafe { _mm512_i32gather_epi32::<4>(at, places.as_ptr().cast()) };
            holds | _mm512_cmpeq_epi32_mask(found, key)
        })
    }

    #[target_feature(enable = "avx512f,avx512bw,bmi2")]
    pub(super) fn either(
        either: &Either,
        lanes: &Lanes,
        present: [Option<&Mask>; 2],
        active: &Arrivals,
        fork: &mut Fork<'_>,
    ) {
        for chunk in each(active.chunks) {
            let halves = load(&lanes[chunk]);
            let equal = |constant: &u16| {
                _mm512_cmpeq_epi16_mask(halves, _mm512_set1_epi16(constant.cast_signed()))
            };
            let equal = either.constants.iter().fold(0, |found, constant| found | equal(constant));
            // Lower halves are at even places.
            let lower = _pext_u32(equal, 0x5555_5555) as u16;
            let upper = _pext_u32(equal, 0xaaaa_aaaa) as u16;
            let there = present.map(|present| of(present, chunk));
            let (holds, fails) = either.judge(upper, lower, there, active.packets.0[chunk]);
            fork.send(chunk, holds, fails);
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,popcnt")]
    pub(super) fn compress(lanes: &Lanes, chosen: &Arrivals, out: &mut Lanes) {
        let out = out.0.as_flattened_mut();
        let mut next = 0;
        for chunk in each(chosen.chunks) {
            let packets = chosen.packets.0[chunk];
            let dense = _mm512_maskz_compress_epi32(packets, load(&lanes[chunk]));
            // No more than the chunks before this one are full, so that there is room for one more.
            store(out[next..].first_chunk_mut().expect("a chunk's room"), dense);
            next += packets.count_ones() as usize;
        }
        out[next..next.next_multiple_of(CHUNK)].fill(0);
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    pub(super) use super::spread;
    use super::{
        Arrivals, BinaryOperator, Bits, Chunks, Comparison, Either, Fork, Known, Lanes, Lookup,
        Mask, Windows, last_word, portable,
    };
    use crate::lanes::{CHUNK, each};
    use crate::portable::of;

    /// Both halves of a chunk.
    type Pair = [__m256i; 2];

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(lanes: &[u32; CHUNK]) -> Pair {
        let at = lanes.as_ptr();
        // SAFETY: reads 32 bytes twice, which an array of 16 words has; no alignment is needed.
        unsafe { [_mm256_loadu_si256(at.cast()), _mm256_loadu_si256(at.add(8).cast())] }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn splat(number: u32) -> __m256i {
        _mm256_set1_epi32(number.cast_signed())
    }

    /// The highest bit of each lane.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn bits(halves: Pair) -> u16 {
        let [low, high] = halves.map(|half| _mm256_movemask_ps(_mm256_castsi256_ps(half)) as u16);
        low | high << 8
    }

    /// `lane <= limit`, unsigned.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn at_most(lane: __m256i, limit: __m256i) -> __m256i {
        _mm256_cmpeq_epi32(_mm256_min_epu32(lane, limit), lane)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn gather(windows: &Windows<'_>, chunks: Chunks, out: &mut Lanes) {
        let Some(last) = last_word(windows) else {
            return portable::gather(windows, chunks, out);
        };
        let (last, offset) = (_mm256_set1_epi32(last), splat(windows.offset));
        let reversed = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
        let reversed = _mm256_broadcastsi128_si256(reversed);
        for chunk in each(chunks) {
            let starts = load(&windows.starts[chunk]);
            let base = windows.base.map_or([_mm256_setzero_si256(); 2], |base| load(&base[chunk]));
            let mut inside = [_mm256_setzero_si256(); 2];
            for half in 0..2 {
                let at = _mm256_add_epi32(_mm256_add_epi32(starts[half], offset), base[half]);
                inside[half] = at_most(at, last);
                let to = out[chunk][8 * half..][..8].as_mut_ptr();
                // SAFETY: lanes in the mask are at most the last offset of four bytes in the region,
                // which is not negative; the others load nothing. The store is to eight words of a slice.
                unsafe {
                    let (zero, region) = (_mm256_setzero_si256(), windows.region.as_ptr().cast());
                    let bytes = _mm256_mask_i32gather_epi32::<1>(zero, region, at, inside[half]);
                    _mm256_storeu_si256(to.cast(), _mm256_shuffle_epi8(bytes, reversed));
                }
            }
            let inside = bits(inside);
            if inside != u16::MAX {
                let outside = (0..CHUNK).filter(|lane| inside >> lane & 1 == 0);
                outside.for_each(|lane| out[chunk][lane] = windows.get(chunk, lane));
            }
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn within(
        captured: &Lanes,
        base: Option<&Lanes>,
        end: u32,
        chunks: Chunks,
        out: &mut Mask,
    ) {
        portable::within(captured, base, end, chunks, out);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn extract(bits: Bits, lanes: &Lanes, chunks: Chunks, out: &mut Lanes) {
        portable::extract(bits, lanes, chunks, out);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn combine(
        operator: BinaryOperator,
        left: &Lanes,
        right: &Lanes,
        chunks: Chunks,
        out: &mut Lanes,
    ) {
        portable::combine(operator, left, right, chunks, out);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn compare(
        how: Comparison,
        both: [Known<'_>; 2],
        active: &Arrivals,
        fork: &mut Fork<'_>,
    ) {
        portable::compare(how, both, active, fork);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn test(
        lookup: &Lookup,
        lanes: &Lanes,
        present: Option<&Mask>,
        active: &Arrivals,
        fork: &mut Fork<'_>,
    ) {
        match lookup {
            Lookup::Equal { mask, constant } => {
                let (mask, constant) = (splat(*mask), splat(*constant));
                for chunk in each(active.chunks) {
                    let there = active.packets.0[chunk] & of(present, chunk);
                    let equal = |lane| _mm256_cmpeq_epi32(_mm256_and_si256(lane, mask), constant);
                    let holds = bits(load(&lanes[chunk]).map(equal));
                    fork.send(chunk, there & holds, there & !holds);
                }
            }
            Lookup::Few { mask, constants } => {
                let mask = splat(*mask);
                for chunk in each(active.chunks) {
                    let there = active.packets.0[chunk] & of(present, chunk);
                    let lane = load(&lanes[chunk]).map(|lane| _mm256_and_si256(lane, mask));
                    let mut equal = [_mm256_setzero_si256(); 2];
                    for constant in constants {
                        let constant = splat(*constant);
                        for half in 0..2 {
                            let one = _mm256_cmpeq_epi32(lane[half], constant);
                            equal[half] = _mm256_or_si256(equal[half], one);
                        }
                    }
                    let holds = bits(equal);
                    fork.send(chunk, there & holds, there & !holds);
                }
            }
            Lookup::Within { mask, low, span } => {
                let (mask, low, span) = (splat(*mask), splat(*low), splat(*span));
                for chunk in each(active.chunks) {
                    let there = active.packets.0[chunk] & of(present, chunk);
                    let above = |lane| _mm256_sub_epi32(_mm256_and_si256(lane, mask), low);
                    let holds = bits(load(&lanes[chunk]).map(|lane| at_most(above(lane), span)));
                    fork.send(chunk, there & holds, there & !holds);
                }
            }
            // Eight lanes at a time a gather gains nothing here.
            Lookup::Bitmap { .. } | Lookup::Hashed { .. } => {
                portable::test(lookup, lanes, present, active, fork);
            }
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn either(
        either: &Either,
        lanes: &Lanes,
        present: [Option<&Mask>; 2],
        active: &Arrivals,
        fork: &mut Fork<'_>,
    ) {
        for chunk in each(active.chunks) {
            let halves = load(&lanes[chunk]);
            let mut equal = [_mm256_setzero_si256(); 2];
            for constant in &either.constants {
                let constant = _mm256_set1_epi16(constant.cast_signed());
                for half in 0..2 {
                    let one = _mm256_cmpeq_epi16(halves[half], constant);
                    equal[half] = _mm256_or_si256(equal[half], one);
                }
            }
            let upper = bits(equal);
            let lower = bits(equal.map(|half| _mm256_slli_epi32::<16>(half)));
            let there = present.map(|present| of(present, chunk));
            let (holds, fails) = either.judge(upper, lower, there, active.packets.0[chunk]);
            fork.send(chunk, holds, fails);
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn compress(lanes: &Lanes, chosen: &Arrivals, out: &mut Lanes) {
        portable::compress(lanes, chosen, out);
    }
}
