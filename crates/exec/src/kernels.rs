//! What is done to columns, by vector instructions: the only unsafe code of this crate.
//!
//! Each function here does what its namesake in [`portable`] does. Those of a module are compiled for
//! instructions that the processor may not have. They are reached by way of a [`Level`] only, and of that
//! there is one only where the processor has the instructions.

#![expect(unsafe_code, reason = "vector instructions, and loads from computed addresses")]

use std::fmt;

use crate::bits::Bits;
use crate::lanes::{Chunks, Lanes, Mask};
use crate::lookup::Lookup;
use crate::portable::{self, Windows};

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

    /// AVX2, if the processor has it.
    pub fn avx2() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        return is_x86_feature_detected!("avx2").then_some(Self(Kind::Avx2));
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// AVX-512 with its foundation and byte instructions, if the processor has it.
    pub fn avx512() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        return (is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw"))
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
            // SAFETY: a level of this kind is made only where the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { avx2::$function($($argument),*) },
            // SAFETY: a level of this kind is made only where the processor has AVX-512F and BW.
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

    pub(crate) fn test(self, lookup: &Lookup, lanes: &Lanes, active: &Mask) -> Mask {
        at_level!(self, test(lookup, lanes, active))
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
mod avx512 {
    use std::arch::x86_64::*;

    use super::{Bits, Chunks, Lanes, Lookup, Mask, Windows, last_word, portable};
    use crate::lanes::{CHUNK, each};
    use crate::lookup::{Bitmap, Table};

    #[target_feature(enable = "avx512f,avx512bw")]
    fn load(lanes: &[u32; CHUNK]) -> __m512i {
        // SAFETY: reads 64 bytes, which an array of 16 words has; no alignment is needed.
        unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    fn store(lanes: &mut [u32; CHUNK], vector: __m512i) {
        // SAFETY: writes 64 bytes, which an array of 16 words has; no alignment is needed.
        unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), vector) };
    }

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
        portable::extract(bits, lanes, chunks, out);
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn test(lookup: &Lookup, lanes: &Lanes, active: &Mask) -> Mask {
        match lookup {
            Lookup::Equal { mask, constant } => equal(*mask, *constant, lanes, active),
            Lookup::Few { mask, constants } => few(*mask, constants, lanes, active),
            Lookup::Within { mask, low, span } => {
                let (mask, low, span) = (splat(*mask), splat(*low), splat(*span));
                let mut out = Mask::default();
                for (chunk, lanes) in lanes.iter().enumerate() {
                    let above = _mm512_sub_epi32(_mm512_and_si512(load(lanes), mask), low);
                    out.0[chunk] = _mm512_mask_cmple_epu32_mask(active.0[chunk], above, span);
                }
                out
            }
            Lookup::Bitmap { right, mask, bitmap } => {
                in_bitmap((*right, *mask), bitmap, lanes, active)
            }
            Lookup::Hashed { mask, table } => in_table(*mask, table, lanes, active),
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    fn equal(mask: u32, constant: u32, lanes: &Lanes, active: &Mask) -> Mask {
        let (mask, constant) = (splat(mask), splat(constant));
        let mut out = Mask::default();
        for (chunk, lanes) in lanes.iter().enumerate() {
            let lane = _mm512_and_si512(load(lanes), mask);
            out.0[chunk] = _mm512_mask_cmpeq_epi32_mask(active.0[chunk], lane, constant);
        }
        out
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    fn few(mask: u32, constants: &[u32], lanes: &Lanes, active: &Mask) -> Mask {
        let mut out = Mask::default();
        for (chunk, lanes) in lanes.iter().enumerate() {
            if active.0[chunk] != 0 {
                let lane = _mm512_and_si512(load(lanes), splat(mask));
                let equal = |constant: &u32| _mm512_cmpeq_epi32_mask(lane, splat(*constant));
                let found = constants.iter().fold(0, |found, constant| found | equal(constant));
                out.0[chunk] = found & active.0[chunk];
            }
        }
        out
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    fn in_bitmap((right, mask): (u32, u32), bitmap: &Bitmap, lanes: &Lanes, active: &Mask) -> Mask {
        let (right, mask) = (_mm_cvtsi32_si128(right.cast_signed()), splat(mask & 0xffff));
        let mut out = Mask::default();
        for chunk in each(active.chunks()) {
            let number = _mm512_and_si512(_mm512_srl_epi32(load(&lanes[chunk]), right), mask);
            let word = _mm512_srli_epi32::<5>(number);
            // SAFETY: of 16 bits 11 are left: the bitmap has a word for each.
            let word = unsafe { _mm512_i32gather_epi32::<4>(word, bitmap.as_ptr().cast()) };
            let bit = _mm512_sllv_epi32(splat(1), _mm512_and_si512(number, splat(31)));
            out.0[chunk] = _mm512_mask_test_epi32_mask(active.0[chunk], word, bit);
        }
        out
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    fn in_table(mask: u32, table: &Table, lanes: &Lanes, active: &Mask) -> Mask {
        let (places, shift) = table.places();
        assert_eq!(places.len(), 1 << (32 - shift), "a place for each hash");
        let shift = _mm_cvtsi32_si128(shift.cast_signed());
        let mut out = Mask::default();
        for chunk in each(active.chunks()) {
            let key = _mm512_and_si512(load(&lanes[chunk]), splat(mask));
            for factor in table.factors() {
                let at = _mm512_srl_epi32(_mm512_mullo_epi32(key, splat(factor)), shift);
                // SAFETY: so many bits are left as name the places, and fewer than 31.
                let found = unsafe { _mm512_i32gather_epi32::<4>(at, places.as_ptr().cast()) };
                out.0[chunk] |= _mm512_mask_cmpeq_epi32_mask(active.0[chunk], found, key);
            }
        }
        out
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{Bits, Chunks, Lanes, Lookup, Mask, Windows, last_word, portable};
    use crate::lanes::{CHUNK, each};

    /// Both halves of a chunk.
    type Pair = [__m256i; 2];

    #[target_feature(enable = "avx2")]
    fn load(lanes: &[u32; CHUNK]) -> Pair {
        let at = lanes.as_ptr();
        // SAFETY: reads 32 bytes twice, which an array of 16 words has; no alignment is needed.
        unsafe { [_mm256_loadu_si256(at.cast()), _mm256_loadu_si256(at.add(8).cast())] }
    }

    #[target_feature(enable = "avx2")]
    fn splat(number: u32) -> __m256i {
        _mm256_set1_epi32(number.cast_signed())
    }

    /// One bit for each lane that is all ones.
    #[target_feature(enable = "avx2")]
    fn bits(halves: Pair) -> u16 {
        let [low, high] = halves.map(|half| _mm256_movemask_ps(_mm256_castsi256_ps(half)) as u16);
        low | high << 8
    }

    /// `lane <= limit`, unsigned.
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
    pub(super) fn test(lookup: &Lookup, lanes: &Lanes, active: &Mask) -> Mask {
        match lookup {
            Lookup::Equal { mask, constant } => equal(*mask, *constant, lanes, active),
            Lookup::Few { mask, constants } => few(*mask, constants, lanes, active),
            Lookup::Within { mask, low, span } => {
                let (mask, low, span) = (splat(*mask), splat(*low), splat(*span));
                let mut out = Mask::default();
                for (chunk, lanes) in lanes.iter().enumerate() {
                    let above = |lane| _mm256_sub_epi32(_mm256_and_si256(lane, mask), low);
                    let inside = load(lanes).map(|lane| at_most(above(lane), span));
                    out.0[chunk] = bits(inside) & active.0[chunk];
                }
                out
            }
            // Eight lanes at a time a gather gains nothing here.
            Lookup::Bitmap { .. } | Lookup::Hashed { .. } => portable::test(lookup, lanes, active),
        }
    }

    #[target_feature(enable = "avx2")]
    fn equal(mask: u32, constant: u32, lanes: &Lanes, active: &Mask) -> Mask {
        let (mask, constant) = (splat(mask), splat(constant));
        let mut out = Mask::default();
        for (chunk, lanes) in lanes.iter().enumerate() {
            let equal = |lane| _mm256_cmpeq_epi32(_mm256_and_si256(lane, mask), constant);
            out.0[chunk] = bits(load(lanes).map(equal)) & active.0[chunk];
        }
        out
    }

    #[target_feature(enable = "avx2")]
    fn few(mask: u32, constants: &[u32], lanes: &Lanes, active: &Mask) -> Mask {
        let mut out = Mask::default();
        for (chunk, lanes) in lanes.iter().enumerate() {
            if active.0[chunk] != 0 {
                let lane = load(lanes).map(|lane| _mm256_and_si256(lane, splat(mask)));
                let mut found = [_mm256_setzero_si256(); 2];
                for constant in constants {
                    let constant = splat(*constant);
                    for half in 0..2 {
                        let equal = _mm256_cmpeq_epi32(lane[half], constant);
                        found[half] = _mm256_or_si256(found[half], equal);
                    }
                }
                out.0[chunk] = bits(found) & active.0[chunk];
            }
        }
        out
    }
}
