//! What is done to columns, by NEON, which 64-bit ARM processors have.
//!
//! Each function here does what its namesake in [`portable`] does, and is reached by way of a
//! [`Level`](crate::kernels::Level). Those that only pass their arguments on are as good in plain Rust: NEON is among the
//! instructions that the compiler may take for all of it. Memory is read and written by [`kernels`](crate::kernels).

use std::arch::aarch64::*;
use std::array;

use linerate_base::Descriptor;
use linerate_filter::plan::{BinaryOperator, Comparison};

use crate::bits::Bits;
use crate::bounds::Bounds;
use crate::kernels::chunks::{Vectors, load, store, words};
use crate::lanes::{Chunks, Lanes, Mask, QUAD, each};
use crate::lookup::Lookup;
use crate::portable::{self, Choice, Windows};
use crate::program::ColumnId;
use crate::vector::Rows;

/// The lanes that are all ones; the others are zero.
#[inline]
#[target_feature(enable = "neon")]
fn bits(found: Vectors) -> u16 {
    /// The bit of each lane, of half a chunk.
    const PLACES: u64 = 0x8040_2010_0804_0201;
    let [a, b, c, d] = found.map(|lanes| vmovn_u32(lanes));
    let half = |low, high| {
        let lanes = vmovn_u16(vcombine_u16(low, high));
        u16::from(vaddv_u8(vand_u8(lanes, vcreate_u8(PLACES))))
    };
    half(a, b) | half(c, d) << 8
}

#[target_feature(enable = "neon")]
pub(crate) fn note(packets: &[Descriptor], from: u32, rows: &mut Rows) {
    portable::note(packets, from, rows);
}

#[target_feature(enable = "neon")]
pub(crate) fn gather(windows: &Windows<'_>, chunks: Chunks, out: &mut Lanes) {
    let offset = vdupq_n_u32(windows.offset);
    for chunk in each(chunks) {
        let mut at = load(&windows.starts[chunk]).map(|start| vaddq_u32(start, offset));
        if let Some(base) = windows.base {
            let base = load(&base[chunk]);
            at = array::from_fn(|part| vaddq_u32(at[part], base[part]));
        }
        match words(windows.region, at) {
            Some(words) => out[chunk] = words,
            None => out[chunk] = array::from_fn(|lane| windows.get(chunk, lane)),
        }
    }
}

#[target_feature(enable = "neon")]
pub(crate) fn gather_quad(
    windows: &Windows<'_>,
    columns: &[Option<ColumnId>; QUAD],
    chunks: Chunks,
    out: &mut [Lanes],
) {
    for (windows, column) in portable::side_by_side(windows, columns) {
        gather(&windows, chunks, &mut out[column]);
    }
}

#[target_feature(enable = "neon")]
pub(crate) fn choose(choice: &Choice<'_>, passed: &Mask, chunks: Chunks, out: &mut Lanes) {
    portable::choose(choice, passed, chunks, out);
}

#[target_feature(enable = "neon")]
pub(crate) fn within(captured: &Lanes, base: Option<&Lanes>, end: u32, chunks: Chunks) -> Mask {
    let end = vdupq_n_u32(end);
    Mask::by_chunk(chunks, |chunk| {
        let captured = load(&captured[chunk]);
        let before = base.map_or([vdupq_n_u32(0); 4], |base| load(&base[chunk]));
        bits(array::from_fn(|part| {
            let room = vsubq_u32(captured[part], end);
            vandq_u32(vcgeq_u32(captured[part], end), vcleq_u32(before[part], room))
        }))
    })
}

#[target_feature(enable = "neon")]
pub(crate) fn extract(bits: Bits, lanes: &Lanes, chunks: Chunks, out: &mut Lanes) {
    portable::extract(bits, lanes, chunks, out);
}

#[target_feature(enable = "neon")]
pub(crate) fn combine(
    operator: BinaryOperator,
    left: &Lanes,
    right: &Lanes,
    chunks: Chunks,
    out: &mut Lanes,
) {
    portable::combine(operator, left, right, chunks, out);
}

#[target_feature(enable = "neon")]
pub(crate) fn compare(how: Comparison, left: &Lanes, right: &Lanes, chunks: Chunks) -> Mask {
    let holds = |left, right| match how {
        Comparison::Equal => vceqq_u32(left, right),
        Comparison::Greater => vcgtq_u32(left, right),
        Comparison::GreaterEqual => vcgeq_u32(left, right),
        Comparison::Intersects => vtstq_u32(left, right),
    };
    Mask::by_chunk(chunks, |chunk| {
        let (left, right) = (load(&left[chunk]), load(&right[chunk]));
        bits(array::from_fn(|part| holds(left[part], right[part])))
    })
}

#[target_feature(enable = "neon")]
pub(crate) fn test(lookup: &Lookup, lanes: &Lanes, chunks: Chunks) -> Mask {
    match lookup {
        Lookup::Equal { mask, constant } => {
            let (mask, constant) = (vdupq_n_u32(*mask), vdupq_n_u32(*constant));
            Mask::by_chunk(chunks, |chunk| {
                bits(load(&lanes[chunk]).map(|lane| vceqq_u32(vandq_u32(lane, mask), constant)))
            })
        }
        Lookup::Within { mask, low, span } => {
            let [mask, low, span] = [*mask, *low, *span].map(|number| vdupq_n_u32(number));
            let above = |lane| vsubq_u32(vandq_u32(lane, mask), low);
            Mask::by_chunk(chunks, |chunk| {
                bits(load(&lanes[chunk]).map(|lane| vcleq_u32(above(lane), span)))
            })
        }
        Lookup::Few { mask, constants } => {
            let mask = vdupq_n_u32(*mask);
            Mask::by_chunk(chunks, |chunk| {
                let lanes = load(&lanes[chunk]).map(|lane| vandq_u32(lane, mask));
                let mut equal = [vdupq_n_u32(0); 4];
                for constant in constants {
                    let constant = vdupq_n_u32(*constant);
                    for (lane, equal) in lanes.iter().zip(&mut equal) {
                        *equal = vorrq_u32(*equal, vceqq_u32(*lane, constant));
                    }
                }
                bits(equal)
            })
        }
        // NEON has no gather.
        Lookup::Bitmap { .. } | Lookup::Hashed { .. } => portable::test(lookup, lanes, chunks),
    }
}

#[target_feature(enable = "neon")]
pub(crate) fn halves(constants: &[u16], lanes: &Lanes, chunks: Chunks) -> [Mask; 2] {
    let mut found = [Mask::default(); 2];
    for chunk in each(chunks) {
        let numbers = load(&lanes[chunk]).map(|lanes| vreinterpretq_u16_u32(lanes));
        let mut equal = [vdupq_n_u16(0); 4];
        for constant in constants {
            let constant = vdupq_n_u16(*constant);
            for (number, equal) in numbers.iter().zip(&mut equal) {
                *equal = vorrq_u16(*equal, vceqq_u16(*number, constant));
            }
        }
        let equal = equal.map(|halves| vreinterpretq_u32_u16(halves));
        found[0].insert(chunk, bits(equal.map(|lanes| vshrq_n_u32::<16>(lanes))));
        found[1].insert(chunk, bits(equal));
    }
    found
}

/// So few bounds are compared one by one, which costs less than to halve them for each lane.
const FEW_BOUNDS: usize = 32;

#[target_feature(enable = "neon")]
pub(crate) fn look_up(bounds: &Bounds, chunks: Chunks, lanes: &mut Lanes) {
    if bounds.bounds().len() > FEW_BOUNDS {
        return portable::look_up(bounds, chunks, lanes);
    }
    for chunk in each(chunks) {
        let numbers = load(&lanes[chunk]);
        let mut counts = [vdupq_n_u32(0); 4];
        for bound in bounds.bounds() {
            let bound = vdupq_n_u32(*bound);
            for (number, count) in numbers.iter().zip(&mut counts) {
                // All ones are minus one.
                *count = vsubq_u32(*count, vcgeq_u32(*number, bound));
            }
        }
        store(&mut lanes[chunk], counts);
        lanes[chunk] = lanes[chunk].map(|count| bounds.values()[count as usize]);
    }
}
