//! What is done to columns, by vector instructions, and the call of native code: the only unsafe code of this crate.
//!
//! Each function here does what its namesake in [`portable`] does. Those of a module are compiled for
//! instructions that the processor may not have. They are reached by way of a [`Level`] only, and of that
//! there is one only where the processor has the instructions.

#![expect(
    unsafe_code,
    reason = "vector instructions, loads from computed addresses, and code made at run time"
)]

use std::fmt;
use std::ops::Range;

use linerate_base::{Batch, Descriptor};
use linerate_filter::plan::{BinaryOperator, Comparison};

use crate::bits::Bits;
use crate::bounds::Bounds;
use crate::engine::REGION;
use crate::fused::Fused;
use crate::lanes::{CHUNK, Chunks, Lanes, List, Mask, QUAD};
use crate::lookup::{Lookup, Table};
use crate::native::Native;
#[cfg(target_arch = "aarch64")]
use crate::neon;
use crate::portable::{self, BitRows, Choice, Windows};
use crate::program::ColumnId;
#[cfg(target_arch = "x86_64")]
use crate::quads;
use crate::sheet::Sheet;
use crate::vector::Rows;

/// Which instructions an engine uses. Verdicts are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Portable,
    Native,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Fused,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Level {
    /// Plain Rust: what every processor has.
    pub const PORTABLE: Self = Self(Kind::Portable);

    /// Code made for each filter that takes packets one after the other, where that can be; else plain Rust.
    pub const NATIVE: Self = Self(Kind::Native);

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

    /// AVX-512 by code made for each filter where that can be, if the processor has BMI1, too.
    pub fn fused() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        return Self::avx512()
            .filter(|_| is_x86_feature_detected!("bmi1"))
            .map(|_| Self(Kind::Fused));
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// NEON, if the processor has it.
    pub fn neon() -> Option<Self> {
        #[cfg(target_arch = "aarch64")]
        return std::arch::is_aarch64_feature_detected!("neon").then_some(Self(Kind::Neon));
        #[cfg(not(target_arch = "aarch64"))]
        None
    }

    /// The best that the processor has.
    pub fn best() -> Self {
        let best = Self::fused().or_else(Self::avx512).or_else(Self::avx2).or_else(Self::neon);
        best.unwrap_or(Self::PORTABLE)
    }

    /// All that the processor has.
    pub fn all() -> impl Iterator<Item = Self> {
        let always = [Self::PORTABLE, Self::NATIVE];
        let vectors = [Self::avx2(), Self::avx512(), Self::fused(), Self::neon()];
        always.into_iter().chain(vectors.into_iter().flatten())
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Portable => "portable",
            Kind::Native => "native",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Kind::Fused => "AVX-512 fused",
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => "NEON",
        })
    }
}

/// Regions that are no larger are in a cache that is near, where whoever filled them left them: to load packets ahead
/// costs more there than to wait.
const NEAR: usize = 1 << 20;

/// Whether native code keeps a packet.
#[inline]
pub(crate) fn call(native: &Native, data: &[u8], length: u32) -> bool {
    // SAFETY: the code of a filter is such a function: it compares the end of every load with the number of
    // bytes before it reads, and writes to its own part of the stack alone.
    unsafe { native.code().0.call(data, length) != 0 }
}

/// Notes of each packet of a batch whether native code keeps it: 1 or 0.
///
/// # Panics
/// When there are fewer notes than packets.
pub(crate) fn judge(native: &Native, batch: &Batch<'_>, kept: &mut [u8]) {
    let descriptors = batch.descriptors();
    assert!(descriptors.len() <= kept.len(), "a note for each packet");
    let Range { start, end } = descriptors.as_ptr_range();
    let from = batch.region().as_ptr() as usize;
    let words = [from, start as usize, end as usize, kept.as_mut_ptr() as usize, 0, 0];
    let (code, sweep) = native.code();
    // SAFETY: such is the code of a filter (`native::sweep`). It reads the descriptors, and of the region what each packet
    // has, which a batch holds to be in the region: it compares the ends of loads with the number of bytes before it
    // reads. It writes a note for each packet, of which there are enough.
    unsafe { code.call_with(sweep, words) };
}

/// Marks in `kept`, chunk by chunk, what fused code keeps of a batch, whose packets are whole chunks. Gives the number of
/// chunks that it has done: it ends before one with a packet that ends among the last three bytes of the region.
///
/// # Panics
/// When there are fewer marks than chunks.
pub(crate) fn sweep(fused: &Fused, batch: &Batch<'_>, kept: &mut [u16]) -> usize {
    const CHUNK_BYTES: usize = CHUNK * size_of::<Descriptor>();
    let (region, descriptors) = (batch.region(), batch.descriptors());
    assert!(descriptors.len() <= CHUNK * kept.len(), "a mark for each chunk");
    let limit = region.len().checked_sub(3).filter(|_| region.len() <= REGION);
    let Some(limit) = limit.filter(|_| descriptors.len().is_multiple_of(CHUNK)) else {
        return 0;
    };
    let Range { start, end } = descriptors.as_ptr_range();
    let [from, start, end] = [region.as_ptr() as usize, start as usize, end as usize];
    let is_near = region.len() <= NEAR;
    let words = [from, start, end, kept.as_mut_ptr() as usize, limit, is_near.into()];
    // SAFETY: such is the code of a program (`fused::function`). It reads the descriptors, a chunk at a time, and of the region
    // four bytes from one that a packet has, which a batch holds to be in the region, if the packet ends at `limit` or
    // before. It writes a mark for each chunk, of which there are enough.
    let reached = unsafe { fused.code().call_with(0, words) };
    (reached - start) / CHUNK_BYTES
}

/// Calls the function in the module of a level.
macro_rules! at_level {
    ($level:expr, $function:ident($($argument:expr),*)) => {
        match $level.0 {
            Kind::Portable | Kind::Native => portable::$function($($argument),*),
            // SAFETY: a level of this kind is made only where the processor has AVX2 and BMI2.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { avx2::$function($($argument),*) },
            // SAFETY: levels of these kinds are made only where the processor has AVX-512F and BW, and BMI2.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 | Kind::Fused => unsafe { avx512::$function($($argument),*) },
            // SAFETY: a level of this kind is made only where the processor has NEON.
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => unsafe { neon::$function($($argument),*) },
        }
    };
}

/// Calls the function for AVX-512 at its levels, and the one in plain Rust at all others.
macro_rules! by_avx512 {
    ($level:expr, $function:ident($($argument:expr),*)) => {
        match $level.0 {
            // SAFETY: levels of these kinds are made only where the processor has AVX-512F and BW, and BMI2.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 | Kind::Fused => unsafe { avx512::$function($($argument),*) },
            _ => portable::$function($($argument),*),
        }
    };
}

impl Level {
    pub(crate) fn note(self, packets: &[Descriptor], from: u32, rows: &mut Rows) {
        at_level!(self, note(packets, from, rows));
    }

    pub(crate) fn gather(self, windows: &Windows<'_>, chunks: Chunks, out: &mut Lanes) {
        at_level!(self, gather(windows, chunks, out));
    }

    pub(crate) fn gather_quad(
        self,
        windows: &Windows<'_>,
        columns: &[Option<ColumnId>; QUAD],
        chunks: Chunks,
        out: &mut [Lanes],
    ) {
        at_level!(self, gather_quad(windows, columns, chunks, out));
    }

    pub(crate) fn choose(
        self,
        choice: &Choice<'_>,
        passed: &Mask,
        chunks: Chunks,
        out: &mut Lanes,
    ) {
        at_level!(self, choose(choice, passed, chunks, out));
    }

    pub(crate) fn within(
        self,
        captured: &Lanes,
        base: Option<&Lanes>,
        end: u32,
        chunks: Chunks,
    ) -> Mask {
        at_level!(self, within(captured, base, end, chunks))
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

    pub(crate) fn test(self, lookup: &Lookup, lanes: &Lanes, chunks: Chunks) -> Mask {
        at_level!(self, test(lookup, lanes, chunks))
    }

    pub(crate) fn halves(self, constants: &[u16], lanes: &Lanes, chunks: Chunks) -> [Mask; 2] {
        at_level!(self, halves(constants, lanes, chunks))
    }

    pub(crate) fn compare(
        self,
        how: Comparison,
        [left, right]: [&Lanes; 2],
        chunks: Chunks,
    ) -> Mask {
        at_level!(self, compare(how, left, right, chunks))
    }

    pub(crate) fn list(self, packets: Mask, list: &mut List) {
        by_avx512!(self, list(packets, list));
    }

    pub(crate) fn pick(self, bits: Bits, lanes: &Lanes, list: &List, out: &mut Lanes) {
        by_avx512!(self, pick(bits, lanes, list, out));
    }

    pub(crate) fn look_up(self, bounds: &Bounds, chunks: Chunks, numbers: &mut Lanes) {
        at_level!(self, look_up(bounds, chunks, numbers));
    }

    pub(crate) fn narrow(self, list: &mut List, columns: &mut [Lanes]) {
        by_avx512!(self, narrow(list, columns));
    }

    pub(crate) fn find(
        self,
        table: &Table,
        asked: &List,
        keys: &Lanes,
        list: &mut List,
        places: &mut Lanes,
    ) {
        by_avx512!(self, find(table, asked, keys, list, places));
    }

    pub(crate) fn intersect(
        self,
        rows: &[BitRows<'_>],
        width: usize,
        list: &List,
        out: &mut Sheet<'_>,
    ) {
        by_avx512!(self, intersect(rows, width, list, out));
    }
}

/// Lines that follow each other no farther apart the processor begins to load by itself.
const FOLLOWING: u32 = 256;

/// Begins to load the cache line `reach` bytes behind the beginning of each packet, without waiting for it, but of
/// packets that closely follow others; does nothing where they are near.
#[inline]
pub(crate) fn prefetch(region: &[u8], packets: &[Descriptor], reach: usize) {
    if region.len() <= NEAR {
        return;
    }
    let mut last = None;
    for packet in packets {
        if last.is_some_and(|last| packet.offset.wrapping_sub(last) < FOLLOWING) {
            continue;
        }
        last = Some(packet.offset);
        linerate_sys::prefetch::read(region, packet.offset as usize + reach);
    }
}

/// The last offset at which so many bytes can be loaded of a region, as a vector's signed lanes can name it.
#[cfg(target_arch = "x86_64")]
fn last(windows: &Windows<'_>, bytes: u32) -> Option<i32> {
    i32::try_from(windows.region.len().checked_sub(bytes as usize)?).ok()
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;
    use std::mem::offset_of;

    use super::{
        BinaryOperator, BitRows, Bits, Bounds, Choice, Chunks, ColumnId, Comparison, Descriptor,
        Lanes, List, Lookup, Mask, QUAD, Rows, Sheet, Table, Windows, last, portable, quads,
    };
    use crate::bounds::HALVINGS;
    use crate::lanes::{CHUNK, CHUNKS, LANES, WORDS, each};
    use crate::lookup::Bitmap;
    use crate::sheet::GROUP;

    /// Every second bit, from the first on.
    const EVEN: u64 = 0x5555_5555_5555_5555;

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

    // Two descriptors are a vector, and offset and bytes captured the second of a descriptor's four parts.
    const _: () = assert!(
        size_of::<Descriptor>() == 32
            && offset_of!(Descriptor, offset) == 8
            && offset_of!(Descriptor, captured) == 12
    );

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn note(packets: &[Descriptor], from: u32, rows: &mut Rows) {
        let (chunks, []) = packets.as_chunks::<CHUNK>() else {
            return portable::note(packets, from, rows);
        };
        let even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
        let odd = _mm512_add_epi32(even, splat(1));
        let (from, mut least) = (splat(from), splat(u32::MAX));
        for (chunk, packets) in chunks.iter().enumerate() {
            let (low, high) = packets.split_at(CHUNK / 2);
            let (low, high) = (eight(low), eight(high));
            let starts = _mm512_permutex2var_epi32(low, even, high);
            let captured = _mm512_permutex2var_epi32(low, odd, high);
            store(&mut rows.starts[chunk], _mm512_sub_epi32(starts, from));
            store(&mut rows.captured[chunk], captured);
            least = _mm512_min_epu32(least, captured);
        }
        rows.shortest = _mm512_reduce_min_epu32(least);
        rows.starts.0[chunks.len()..].fill([0; CHUNK]);
        rows.captured.0[chunks.len()..].fill([0; CHUNK]);
    }

    /// Offsets and bytes captured of eight packets, in turn.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn eight(packets: &[Descriptor]) -> __m512i {
        assert_eq!(packets.len(), 8, "eight packets");
        let at = packets.as_ptr().cast::<__m512i>();
        let seconds = _mm512_set_epi64(0, 0, 0, 0, 13, 9, 5, 1);
        // SAFETY: eight descriptors are four vectors, of which these are the first two; any bytes are a number, and
        // those between a descriptor's fields are none of the parts that are taken.
        let low = unsafe { [_mm512_loadu_si512(at), _mm512_loadu_si512(at.add(1))] };
        // SAFETY: and these the last two.
        let high = unsafe { [_mm512_loadu_si512(at.add(2)), _mm512_loadu_si512(at.add(3))] };
        let low = _mm512_permutex2var_epi64(low[0], seconds, low[1]);
        let high = _mm512_permutex2var_epi64(high[0], seconds, high[1]);
        _mm512_inserti64x4::<1>(low, _mm512_castsi512_si256(high))
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn gather(windows: &Windows<'_>, chunks: Chunks, out: &mut Lanes) {
        let Some(last) = last(windows, 4) else {
            return portable::gather(windows, chunks, out);
        };
        let last = _mm512_set1_epi32(last);
        if chunks == Mask::ALL.chunks() {
            // A branch, which is foreseen, so that no field waits for the test before it.
            return (0..CHUNKS).for_each(|chunk| gather_chunk(windows, last, chunk, out));
        }
        each(chunks).for_each(|chunk| gather_chunk(windows, last, chunk, out));
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn gather_chunk(windows: &Windows<'_>, last: __m512i, chunk: usize, out: &mut Lanes) {
        let at = _mm512_add_epi32(begins(windows, chunk), splat(windows.offset));
        let inside = _mm512_cmple_epu32_mask(at, last);
        // SAFETY: lanes in the mask are at most the last offset of four bytes in the region, which
        // is not negative; the others load nothing.
        let bytes = unsafe {
            let region = windows.region.as_ptr().cast();
            _mm512_mask_i32gather_epi32::<1>(_mm512_setzero_si512(), inside, at, region)
        };
        store(&mut out[chunk], reversed(bytes));
        if inside != u16::MAX {
            let outside = (0..CHUNK).filter(|lane| inside >> lane & 1 == 0);
            outside.for_each(|lane| out[chunk][lane] = windows.get(chunk, lane));
        }
    }

    /// Where the windows of packets are counted from.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn begins(windows: &Windows<'_>, chunk: usize) -> __m512i {
        let starts = load(&windows.starts[chunk]);
        windows.base.map_or(starts, |base| _mm512_add_epi32(starts, load(&base[chunk])))
    }

    /// Numbers in network order.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn reversed(bytes: __m512i) -> __m512i {
        let order = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
        _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(order))
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn gather_quad(
        windows: &Windows<'_>,
        columns: &[Option<ColumnId>; QUAD],
        chunks: Chunks,
        out: &mut [Lanes],
    ) {
        let Some(last) = last(windows, quads::BYTES) else {
            return portable::gather_quad(windows, columns, chunks, out);
        };
        let last = _mm512_set1_epi32(last);
        for chunk in each(chunks) {
            let begins = begins(windows, chunk);
            let at = _mm512_add_epi32(begins, splat(windows.offset));
            if _mm512_cmple_epu32_mask(at, last) != u16::MAX {
                portable::gather_quad(windows, columns, 1 << chunk, out);
                continue;
            }
            let mut places = [0; CHUNK];
            store(&mut places, at);
            let packet = |packet: usize| {
                let from = windows.region.as_ptr().wrapping_add(places[packet] as usize);
                // SAFETY: each place is at most the last offset of sixteen bytes in the region.
                unsafe { _mm_loadu_si128(from.cast()) }
            };
            // Every fourth packet from one on.
            let row = |first| {
                let row = _mm512_castsi128_si512(packet(first));
                let row = _mm512_inserti32x4::<1>(row, packet(first + 4));
                let row = _mm512_inserti32x4::<2>(row, packet(first + 8));
                _mm512_inserti32x4::<3>(row, packet(first + 12))
            };
            let [a, b, c, d] = [row(0), row(1), row(2), row(3)];
            // Lower and upper halves, of the first two packets of four and of the others.
            let low = [_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d)];
            let high = [_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d)];
            let words = [
                _mm512_unpacklo_epi64(low[0], low[1]),
                _mm512_unpackhi_epi64(low[0], low[1]),
                _mm512_unpacklo_epi64(high[0], high[1]),
                _mm512_unpackhi_epi64(high[0], high[1]),
            ];
            for (word, column) in words.into_iter().zip(columns) {
                if let Some(column) = column {
                    store(&mut out[*column][chunk], reversed(word));
                }
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn choose(choice: &Choice<'_>, passed: &Mask, chunks: Chunks, out: &mut Lanes) {
        for chunk in each(chunks) {
            let distance = |(base, plus): (Option<&Lanes>, u32)| {
                base.map_or(splat(plus), |base| _mm512_add_epi32(load(&base[chunk]), splat(plus)))
            };
            let (passed_on, others) = (distance(choice.passed), distance(choice.others));
            let chosen = _mm512_mask_mov_epi32(others, passed.chunk(chunk), passed_on);
            store(&mut out[chunk], chosen);
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn within(captured: &Lanes, base: Option<&Lanes>, end: u32, chunks: Chunks) -> Mask {
        let end = splat(end);
        Mask::by_quad(chunks, |first| {
            let mut found = [0; QUAD];
            for (chunk, found) in (first..).zip(&mut found) {
                let captured = load(&captured[chunk]);
                let enough = _mm512_cmpge_epu32_mask(captured, end);
                let before = base.map_or(_mm512_setzero_si512(), |base| load(&base[chunk]));
                let room = _mm512_sub_epi32(captured, end);
                *found = _mm512_mask_cmple_epu32_mask(enough, before, room);
            }
            found
        })
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn extract(bits: Bits, lanes: &Lanes, chunks: Chunks, out: &mut Lanes) {
        each(chunks).for_each(|chunk| store(&mut out[chunk], number(bits, load(&lanes[chunk]))));
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn number(bits: Bits, lane: __m512i) -> __m512i {
        let [right, left] =
            [bits.right, bits.left].map(|count| _mm_cvtsi32_si128(count.cast_signed()));
        let number = _mm512_and_si512(_mm512_srl_epi32(lane, right), splat(bits.mask));
        _mm512_sll_epi32(number, left)
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
    pub(super) fn compare(how: Comparison, left: &Lanes, right: &Lanes, chunks: Chunks) -> Mask {
        portable::compare(how, left, right, chunks)
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn test(lookup: &Lookup, lanes: &Lanes, chunks: Chunks) -> Mask {
        match lookup {
            Lookup::Equal { mask, constant } => {
                let (mask, constant) = (splat(*mask), splat(*constant));
                Mask::by_quad(chunks, |first| {
                    let mut found = [0; QUAD];
                    for (chunk, found) in (first..).zip(&mut found) {
                        let lane = _mm512_and_si512(load(&lanes[chunk]), mask);
                        *found = _mm512_cmpeq_epi32_mask(lane, constant);
                    }
                    found
                })
            }
            Lookup::Within { mask, low, span } => {
                let (mask, low, span) = (splat(*mask), splat(*low), splat(*span));
                Mask::by_quad(chunks, |first| {
                    let mut found = [0; QUAD];
                    for (chunk, found) in (first..).zip(&mut found) {
                        let lane = _mm512_and_si512(load(&lanes[chunk]), mask);
                        *found = _mm512_cmple_epu32_mask(_mm512_sub_epi32(lane, low), span);
                    }
                    found
                })
            }
            Lookup::Few { mask, constants } => {
                let mask = splat(*mask);
                Mask::by_quad(chunks, |first| {
                    let mut numbers = [_mm512_setzero_si512(); QUAD];
                    for (chunk, number) in (first..).zip(&mut numbers) {
                        *number = _mm512_and_si512(load(&lanes[chunk]), mask);
                    }
                    let mut others = [u16::MAX; QUAD];
                    for constant in constants {
                        let constant = splat(*constant);
                        for (number, other) in numbers.iter().zip(&mut others) {
                            *other = _mm512_mask_cmpneq_epi32_mask(*other, *number, constant);
                        }
                    }
                    others.map(|other| !other)
                })
            }
            Lookup::Bitmap { right, mask, bitmap } => Mask::by_chunk(chunks, |chunk| {
                in_bitmap(*right, *mask, bitmap, load(&lanes[chunk]))
            }),
            Lookup::Hashed { mask, table } => {
                let mask = splat(*mask);
                Mask::by_chunk(chunks, |chunk| {
                    let ([one, other], _) =
                        probe(table, _mm512_and_si512(load(&lanes[chunk]), mask));
                    one | other
                })
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

    /// The two places of each key, and whether a table has it there.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn probe(table: &Table, key: __m512i) -> ([u16; 2], [__m512i; 2]) {
        let (places, shift) = table.places();
        assert_eq!(places.len(), 1 << (32 - shift), "a place for each hash");
        let shift = _mm_cvtsi32_si128(shift.cast_signed());
        let (mut holds, mut at) = ([0; 2], [key; 2]);
        for (way, factor) in table.factors().into_iter().enumerate() {
            at[way] = _mm512_srl_epi32(_mm512_mullo_epi32(key, splat(factor)), shift);
            // SAFETY: so many bits are left as name the places, and fewer than 31.
            let found = unsafe { _mm512_i32gather_epi32::<4>(at[way], places.as_ptr().cast()) };
            holds[way] = _mm512_cmpeq_epi32_mask(found, key);
        }
        (holds, at)
    }

    #[target_feature(enable = "avx512f,avx512bw,bmi2")]
    pub(super) fn halves(constants: &[u16], lanes: &Lanes, chunks: Chunks) -> [Mask; 2] {
        let mut found = [Mask::default(); 2];
        for word in 0..WORDS {
            if chunks >> (QUAD * word) & 0xf == 0 {
                continue;
            }
            let mut numbers = [_mm512_setzero_si512(); QUAD];
            for (chunk, number) in (QUAD * word..).zip(&mut numbers) {
                *number = load(&lanes[chunk]);
            }
            let mut others = [u32::MAX; QUAD];
            for constant in constants {
                let constant = _mm512_set1_epi16(constant.cast_signed());
                for (number, other) in numbers.iter().zip(&mut others) {
                    *other = _mm512_mask_cmpneq_epi16_mask(*other, *number, constant);
                }
            }
            let [a, b, c, d] = others.map(|other| u64::from(!other));
            let (low, high) = (a | b << 32, c | d << 32);
            // Lower halves are at even places.
            for (found, places) in found.iter_mut().zip([!EVEN, EVEN]) {
                found.0[word] = _pext_u64(low, places) | _pext_u64(high, places) << 32;
            }
        }
        found
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn list(packets: Mask, list: &mut List) {
        if packets.count() <= CHUNK {
            return portable::list(packets, list);
        }
        let numbers = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        list.count = 0;
        for chunk in 0..CHUNKS {
            let chosen = packets.chunk(chunk);
            let numbers = _mm512_add_epi32(numbers, splat((CHUNK * chunk) as u32));
            append(&mut list.packets, list.count, chosen, numbers);
            list.count += chosen.count_ones() as usize;
        }
    }

    /// Puts the chosen ones of sixteen numbers behind the first `count` of a column.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn append(column: &mut Lanes, count: usize, chosen: u16, numbers: __m512i) {
        let more = chosen.count_ones() as usize;
        let to = &mut column.0.as_flattened_mut()[count..][..more];
        let numbers = _mm512_maskz_compress_epi32(chosen, numbers);
        // SAFETY: writes as many numbers as there is room for.
        unsafe { _mm512_mask_storeu_epi32(to.as_mut_ptr().cast(), first(more), numbers) };
    }

    /// The lowest of sixteen bits.
    #[inline]
    fn first(count: usize) -> u16 {
        ((1_u32 << count.min(CHUNK)) - 1) as u16
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn pick(bits: Bits, lanes: &Lanes, list: &List, out: &mut Lanes) {
        let from = lanes.0.as_flattened();
        for (packets, out) in list.packets.0.iter().zip(&mut out.0).take(list.count.div_ceil(CHUNK))
        {
            let at = _mm512_and_si512(load(packets), splat(LANES as u32 - 1));
            // SAFETY: so many bits are left as name the numbers of a column.
            let lane = unsafe { _mm512_i32gather_epi32::<4>(at, from.as_ptr().cast()) };
            store(out, number(bits, lane));
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn look_up(bounds: &Bounds, chunks: Chunks, numbers: &mut Lanes) {
        let [pivots, outcomes] = [bounds.pivots(), bounds.outcomes()].map(|numbers| {
            let (chunks, _) = numbers.as_chunks();
            [load(&chunks[0]), load(&chunks[1])]
        });
        // Four chunks at a time, so that none waits for its own.
        for quad in numbers.quads_mut(chunks) {
            let mut numbers = [_mm512_setzero_si512(); QUAD];
            numbers.iter_mut().zip(&*quad).for_each(|(number, lanes)| *number = load(lanes));
            let mut found = match bounds.are_few() {
                true => counts(bounds.bounds(), &numbers),
                false => halved(pivots, &numbers),
            };
            for found in &mut found {
                *found = _mm512_permutex2var_epi32(outcomes[0], *found, outcomes[1]);
            }
            if bounds.rest() > 0 {
                found = values(bounds, found, &numbers);
            }
            found.into_iter().zip(quad).for_each(|(value, lanes)| store(lanes, value));
        }
    }

    /// How many of the bounds are not above each number.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn counts(bounds: &[u32], numbers: &[__m512i; QUAD]) -> [__m512i; QUAD] {
        let mut counts = [_mm512_setzero_si512(); QUAD];
        for bound in bounds {
            for (number, count) in numbers.iter().zip(&mut counts) {
                let is_above = _mm512_cmple_epu32_mask(splat(*bound), *number);
                *count = _mm512_mask_add_epi32(*count, is_above, *count, splat(1));
            }
        }
        counts
    }

    /// The number of the outcome of the first halvings, in its lower bits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn halved(pivots: [__m512i; 2], numbers: &[__m512i; QUAD]) -> [__m512i; QUAD] {
        let mut nodes = [splat(1); QUAD];
        for _ in 0..HALVINGS {
            for (node, number) in nodes.iter_mut().zip(numbers) {
                let pivot = _mm512_permutex2var_epi32(pivots[0], *node, pivots[1]);
                let is_above = _mm512_cmple_epu32_mask(pivot, *number);
                let twice = _mm512_add_epi32(*node, *node);
                *node = _mm512_mask_add_epi32(twice, is_above, twice, splat(1));
            }
        }
        nodes
    }

    /// The value of each number, from counts of bounds that are surely not above.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn values(
        bounds: &Bounds,
        mut counts: [__m512i; QUAD],
        numbers: &[__m512i; QUAD],
    ) -> [__m512i; QUAD] {
        let mut rest = bounds.rest();
        while rest > 0 {
            let half = rest.div_ceil(2);
            for (count, number) in counts.iter_mut().zip(numbers) {
                let bound =
                    among(bounds.bounds(), _mm512_add_epi32(*count, splat(half as u32 - 1)));
                let is_above = _mm512_cmple_epu32_mask(bound, *number);
                *count = _mm512_mask_add_epi32(*count, is_above, *count, splat(half as u32));
            }
            rest -= half;
        }
        for count in &mut counts {
            *count = among(bounds.values(), *count);
        }
        counts
    }

    /// The numbers at some places; 0 where there are none.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn among(numbers: &[u32], places: __m512i) -> __m512i {
        let there = _mm512_cmplt_epu32_mask(places, splat(numbers.len().min(1 << 31) as u32));
        let zero = _mm512_setzero_si512();
        // SAFETY: who is in the mask is a place of a number, and not negative.
        unsafe { _mm512_mask_i32gather_epi32::<4>(zero, there, places, numbers.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn narrow(list: &mut List, columns: &mut [Lanes]) {
        let Some(last) = columns.len().checked_sub(1) else { return };
        let mut kept = 0;
        for chunk in 0..list.count.div_ceil(CHUNK) {
            let number = load(&columns[last][chunk]);
            let there = first(list.count - CHUNK * chunk);
            let chosen = _mm512_mask_test_epi32_mask(there, number, number);
            for column in columns.iter_mut().chain([&mut list.packets]) {
                append(column, kept, chosen, load(&column[chunk]));
            }
            kept += chosen.count_ones() as usize;
        }
        list.count = kept;
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn find(
        table: &Table,
        asked: &List,
        keys: &Lanes,
        list: &mut List,
        places: &mut Lanes,
    ) {
        list.count = 0;
        for chunk in 0..asked.count.div_ceil(CHUNK) {
            let there = first(asked.count - CHUNK * chunk);
            let ([holds, other], [place, second]) = probe(table, load(&keys[chunk]));
            let chosen = (holds | other) & there;
            append(&mut list.packets, list.count, chosen, load(&asked.packets[chunk]));
            append(places, list.count, chosen, _mm512_mask_blend_epi32(holds, second, place));
            list.count += chosen.count_ones() as usize;
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn intersect(rows: &[BitRows<'_>], width: usize, list: &List, out: &mut Sheet<'_>) {
        if width < GROUP {
            // A vector would be about the words of several packets, and wait for what was written of the one before.
            return portable::intersect(rows, width, list, out);
        }
        for (at, packet) in list.packets().iter().enumerate() {
            let (words, written) = out.row(*packet as usize, width);
            for (words, (written, first)) in
                words.chunks_mut(GROUP).zip(written.iter_mut().zip((0..).step_by(GROUP)))
            {
                let there = u8::MAX >> (GROUP - words.len());
                let mut all = _mm512_maskz_set1_epi64(there, -1);
                for rows in rows {
                    let from = rows.of(at, width)[first..][..words.len()].as_ptr().cast();
                    // SAFETY: reads as many words as there are.
                    all = _mm512_and_si512(all, unsafe { _mm512_maskz_loadu_epi64(there, from) });
                }
                let some = _mm512_test_epi64_mask(all, all);
                let to = words.as_mut_ptr().cast::<i64>();
                if some & *written != 0 {
                    // SAFETY: reads some of the words.
                    let known = unsafe { _mm512_maskz_loadu_epi64(some & *written, to) };
                    all = _mm512_or_si512(all, known);
                }
                // SAFETY: writes some of the words.
                unsafe { _mm512_mask_storeu_epi64(to, some, all) };
                *written |= some;
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{
        BinaryOperator, Bits, Bounds, Choice, Chunks, ColumnId, Comparison, Descriptor, Lanes,
        Lookup, Mask, QUAD, Rows, Windows, last, portable, quads,
    };
    use crate::lanes::{CHUNK, each};

    /// Both halves of a chunk.
    type Pair = [__m256i; 2];

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(lanes: &[u32; CHUNK]) -> Pair {
        let at = lanes.as_ptr();
        // SAFETY: reads 32 bytes twice, which an array of 16 words has; no alignment is needed.
        unsafe { [_mm256_loadu_si256(at.cast()), _mm256_loadu_si256(at.add(8).cast())] }
    }

    /// To the first eight of some numbers.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn store(lanes: &mut [u32], vector: __m256i) {
        let to = lanes[..8].as_mut_ptr();
        // SAFETY: writes 32 bytes, which eight words have; no alignment is needed.
        unsafe { _mm256_storeu_si256(to.cast(), vector) };
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
    pub(super) fn note(packets: &[Descriptor], from: u32, rows: &mut Rows) {
        portable::note(packets, from, rows);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn gather(windows: &Windows<'_>, chunks: Chunks, out: &mut Lanes) {
        let Some(last) = last(windows, 4) else {
            return portable::gather(windows, chunks, out);
        };
        let (last, offset) = (_mm256_set1_epi32(last), splat(windows.offset));
        for chunk in each(chunks) {
            let starts = load(&windows.starts[chunk]);
            let base = windows.base.map_or([_mm256_setzero_si256(); 2], |base| load(&base[chunk]));
            let mut inside = [_mm256_setzero_si256(); 2];
            for half in 0..2 {
                let at = _mm256_add_epi32(_mm256_add_epi32(starts[half], offset), base[half]);
                inside[half] = at_most(at, last);
                let (zero, region) = (_mm256_setzero_si256(), windows.region.as_ptr().cast());
                // SAFETY: lanes in the mask are at most the last offset of four bytes in the region,
                // which is not negative; the others load nothing.
                let bytes =
                    unsafe { _mm256_mask_i32gather_epi32::<1>(zero, region, at, inside[half]) };
                store(&mut out[chunk][8 * half..], reversed(bytes));
            }
            let inside = bits(inside);
            if inside != u16::MAX {
                let outside = (0..CHUNK).filter(|lane| inside >> lane & 1 == 0);
                outside.for_each(|lane| out[chunk][lane] = windows.get(chunk, lane));
            }
        }
    }

    /// Numbers in network order.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn reversed(bytes: __m256i) -> __m256i {
        let order = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
        _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(order))
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn gather_quad(
        windows: &Windows<'_>,
        columns: &[Option<ColumnId>; QUAD],
        chunks: Chunks,
        out: &mut [Lanes],
    ) {
        let Some(last) = last(windows, quads::BYTES) else {
            return portable::gather_quad(windows, columns, chunks, out);
        };
        let (last, offset) = (_mm256_set1_epi32(last), splat(windows.offset));
        for chunk in each(chunks) {
            let (starts, mut places) = (load(&windows.starts[chunk]), [0; CHUNK]);
            let base = windows.base.map_or([_mm256_setzero_si256(); 2], |base| load(&base[chunk]));
            let mut inside = [_mm256_setzero_si256(); 2];
            for half in 0..2 {
                let at = _mm256_add_epi32(_mm256_add_epi32(starts[half], offset), base[half]);
                inside[half] = at_most(at, last);
                store(&mut places[8 * half..], at);
            }
            if bits(inside) != u16::MAX {
                portable::gather_quad(windows, columns, 1 << chunk, out);
                continue;
            }
            for half in [0, CHUNK / 2] {
                let packet = |packet: usize| {
                    let from = windows.region.as_ptr().wrapping_add(places[packet] as usize);
                    // SAFETY: each place is at most the last offset of sixteen bytes in the region.
                    unsafe { _mm_loadu_si128(from.cast()) }
                };
                // Every fourth packet from one on.
                let row = |first| {
                    let row = _mm256_castsi128_si256(packet(half + first));
                    _mm256_inserti128_si256::<1>(row, packet(half + first + 4))
                };
                let [a, b, c, d] = [row(0), row(1), row(2), row(3)];
                // Lower and upper halves, of the first two packets of four and of the others.
                let low = [_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d)];
                let high = [_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d)];
                let words = [
                    _mm256_unpacklo_epi64(low[0], low[1]),
                    _mm256_unpackhi_epi64(low[0], low[1]),
                    _mm256_unpacklo_epi64(high[0], high[1]),
                    _mm256_unpackhi_epi64(high[0], high[1]),
                ];
                for (word, column) in words.into_iter().zip(columns) {
                    if let Some(column) = column {
                        store(&mut out[*column][chunk][half..], reversed(word));
                    }
                }
            }
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn choose(choice: &Choice<'_>, passed: &Mask, chunks: Chunks, out: &mut Lanes) {
        let ones = _mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);
        for chunk in each(chunks) {
            let [passed_low, passed_high] = passed.chunk(chunk).to_le_bytes();
            let distance = |(base, plus): (Option<&Lanes>, u32)| {
                let base = base.map_or([_mm256_setzero_si256(); 2], |base| load(&base[chunk]));
                base.map(|base| _mm256_add_epi32(base, splat(plus)))
            };
            let (there, others) = (distance(choice.passed), distance(choice.others));
            for (half, passed) in [passed_low, passed_high].into_iter().enumerate() {
                let own = _mm256_and_si256(splat(passed.into()), ones);
                let has_passed = _mm256_cmpeq_epi32(own, ones);
                let chosen = _mm256_blendv_epi8(others[half], there[half], has_passed);
                store(&mut out[chunk][8 * half..], chosen);
            }
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn within(captured: &Lanes, base: Option<&Lanes>, end: u32, chunks: Chunks) -> Mask {
        portable::within(captured, base, end, chunks)
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
    pub(super) fn compare(how: Comparison, left: &Lanes, right: &Lanes, chunks: Chunks) -> Mask {
        portable::compare(how, left, right, chunks)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn test(lookup: &Lookup, lanes: &Lanes, chunks: Chunks) -> Mask {
        match lookup {
            Lookup::Equal { mask, constant } => {
                let (mask, constant) = (splat(*mask), splat(*constant));
                Mask::by_chunk(chunks, |chunk| {
                    let equal = |lane| _mm256_cmpeq_epi32(_mm256_and_si256(lane, mask), constant);
                    bits(load(&lanes[chunk]).map(equal))
                })
            }
            Lookup::Within { mask, low, span } => {
                let (mask, low, span) = (splat(*mask), splat(*low), splat(*span));
                let above = |lane| _mm256_sub_epi32(_mm256_and_si256(lane, mask), low);
                Mask::by_chunk(chunks, |chunk| {
                    bits(load(&lanes[chunk]).map(|lane| at_most(above(lane), span)))
                })
            }
            Lookup::Few { mask, constants } => {
                let mask = splat(*mask);
                Mask::by_chunk(chunks, |chunk| {
                    let lane = load(&lanes[chunk]).map(|lane| _mm256_and_si256(lane, mask));
                    let mut equal = [_mm256_setzero_si256(); 2];
                    for constant in constants {
                        let constant = splat(*constant);
                        for half in 0..2 {
                            let one = _mm256_cmpeq_epi32(lane[half], constant);
                            equal[half] = _mm256_or_si256(equal[half], one);
                        }
                    }
                    bits(equal)
                })
            }
            // Eight lanes at a time a gather gains nothing here.
            Lookup::Bitmap { .. } | Lookup::Hashed { .. } => portable::test(lookup, lanes, chunks),
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn halves(constants: &[u16], lanes: &Lanes, chunks: Chunks) -> [Mask; 2] {
        let equal = |chunk: usize| {
            let halves = load(&lanes[chunk]);
            let mut equal = [_mm256_setzero_si256(); 2];
            for constant in constants {
                let constant = _mm256_set1_epi16(constant.cast_signed());
                for half in 0..2 {
                    let one = _mm256_cmpeq_epi16(halves[half], constant);
                    equal[half] = _mm256_or_si256(equal[half], one);
                }
            }
            equal
        };
        let mut found = [Mask::default(); 2];
        for chunk in each(chunks) {
            let equal = equal(chunk);
            found[0].insert(chunk, bits(equal));
            found[1].insert(chunk, bits(equal.map(|half| _mm256_slli_epi32::<16>(half))));
        }
        found
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn look_up(bounds: &Bounds, chunks: Chunks, numbers: &mut Lanes) {
        portable::look_up(bounds, chunks, numbers);
    }
}

/// Memory for [`neon`], which holds chunks in four vectors.
#[cfg(target_arch = "aarch64")]
pub(crate) mod chunks {
    use std::arch::aarch64::*;
    use std::array;

    use crate::lanes::CHUNK;

    pub(crate) type Vectors = [uint32x4_t; 4];

    #[inline]
    #[target_feature(enable = "neon")]
    pub(crate) fn load(lanes: &[u32; CHUNK]) -> Vectors {
        // SAFETY: reads 64 bytes, which an array of 16 words has.
        let uint32x4x4_t(a, b, c, d) = unsafe { vld1q_u32_x4(lanes.as_ptr()) };
        [a, b, c, d]
    }

    #[inline]
    #[target_feature(enable = "neon")]
    pub(crate) fn store(lanes: &mut [u32; CHUNK], [a, b, c, d]: Vectors) {
        // SAFETY: writes 64 bytes, which an array of 16 words has.
        unsafe { vst1q_u32_x4(lanes.as_mut_ptr(), uint32x4x4_t(a, b, c, d)) };
    }

    /// The numbers of four bytes, in network order, at these offsets; `None` where some are not in the region.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(crate) fn words(region: &[u8], at: Vectors) -> Option<[u32; CHUNK]> {
        let last = region.len().checked_sub(4)?;
        let [a, b, c, d] = at;
        let highest = vmaxvq_u32(vmaxq_u32(vmaxq_u32(a, b), vmaxq_u32(c, d)));
        if highest as usize > last {
            return None;
        }
        let mut offsets = [0; CHUNK];
        store(&mut offsets, at);
        let word = |lane: usize| {
            let from = region.as_ptr().wrapping_add(offsets[lane] as usize);
            // SAFETY: none of the offsets is past the last one that has four bytes; no alignment is needed.
            u32::from_be(unsafe { from.cast::<u32>().read_unaligned() })
        };
        Some(array::from_fn(word))
    }
}
