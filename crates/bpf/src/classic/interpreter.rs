use std::hint;

use super::fuse::*;
use super::opcode::*;
use super::{Ancillary, Instruction, SCRATCH_WORDS, ancillary};

/// A packet as a program sees it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Input<'a> {
    /// The bytes captured.
    pub data: &'a [u8],
    /// The length on the wire, in bytes: what `len` in a filter means.
    pub length: u32,
    /// What the bytes do not say.
    pub ancillary: Ancillary,
}

impl<'a> Input<'a> {
    /// A packet that was captured whole and of which nothing but its bytes is known.
    pub fn whole(data: &'a [u8]) -> Self {
        Self { data, length: data.len() as u32, ancillary: Ancillary::default() }
    }

    /// What a load by constant offset gives when the packet itself has no such bytes.
    /// Kept out of the interpreter's loop, which would load all answers before it begins.
    #[cold]
    #[inline(never)]
    fn beyond(&self, offset: u32, a: u32, x: u32) -> Option<u32> {
        if offset == ancillary::XOR_X { Some(a ^ x) } else { self.ancillary.load(offset) }
    }
}

/// Runs a checked program, [fused](super::fuse) or not; `None` when it ended for want of bytes, of an answer or of a divisor.
pub(super) fn execute(program: &[Instruction], input: &Input<'_>) -> Option<u32> {
    let data = input.data;
    let (mut a, mut x, mut scratch) = (0_u32, 0_u32, [0_u32; SCRATCH_WORDS as usize]);
    let mut backward_jumps = 0;
    let mut pc = 0;
    loop {
        // The checker has seen that no jump leaves the program and that it ends in a return.
        let i = &program[pc];
        pc += 1;
        match i.code {
            LDW_ABS => a = word(data, i.k as usize).or_else(|| input.beyond(i.k, a, x))?,
            LDH_ABS => a = half(data, i.k as usize).or_else(|| input.beyond(i.k, a, x))?,
            LDB_ABS => a = byte(data, i.k as usize).or_else(|| input.beyond(i.k, a, x))?,
            LDW_IND => a = word(data, indexed(x, i.k)?)?,
            LDH_IND => a = half(data, indexed(x, i.k)?)?,
            LDB_IND => a = byte(data, indexed(x, i.k)?)?,
            LDW_ABS_JEQ => {
                a = word(data, i.k as usize).or_else(|| input.beyond(i.k, a, x))?;
                pc += program[pc].equal(a);
            }
            LDH_ABS_JEQ => {
                a = half(data, i.k as usize).or_else(|| input.beyond(i.k, a, x))?;
                pc += program[pc].equal(a);
            }
            LDB_ABS_JEQ => {
                a = byte(data, i.k as usize).or_else(|| input.beyond(i.k, a, x))?;
                pc += program[pc].equal(a);
            }
            LDH_IND_JEQ => {
                a = half(data, indexed(x, i.k)?)?;
                pc += program[pc].equal(a);
            }
            LDH_ABS_JSET => {
                a = half(data, i.k as usize).or_else(|| input.beyond(i.k, a, x))?;
                pc += 1 + program[pc].skip(a & program[pc].k != 0);
            }
            LDX_MSH => x = (byte(data, i.k as usize)? & 0xf) << 2,
            JEQ_K => pc += i.skip(a == i.k),
            JGT_K => pc += i.skip(a > i.k),
            JGE_K => pc += i.skip(a >= i.k),
            JSET_K => pc += i.skip(a & i.k != 0),
            JEQ_X => pc += i.skip(a == x),
            JGT_X => pc += i.skip(a > x),
            JGE_X => pc += i.skip(a >= x),
            JSET_X => pc += i.skip(a & x != 0),
            JA if i.k.cast_signed() >= 0 => pc += i.k as usize,
            JA => {
                backward_jumps += 1;
                if backward_jumps > data.len() {
                    return None;
                }
                pc = pc.wrapping_add_signed(i.k.cast_signed() as isize);
            }
            RET_K => return Some(i.k),
            RET_A => return Some(a),
            LD_IMM => a = i.k,
            LDX_IMM => x = i.k,
            LD_LEN => a = input.length,
            LDX_LEN => x = input.length,
            LD_MEM => a = scratch[slot(i.k)],
            LDX_MEM => x = scratch[slot(i.k)],
            ST => scratch[slot(i.k)] = a,
            STX => scratch[slot(i.k)] = x,
            TAX => x = a,
            TXA => a = x,
            ADD_K => a = a.wrapping_add(i.k),
            ADD_X => a = a.wrapping_add(x),
            SUB_K => a = a.wrapping_sub(i.k),
            SUB_X => a = a.wrapping_sub(x),
            MUL_K => a = a.wrapping_mul(i.k),
            MUL_X => a = a.wrapping_mul(x),
            DIV_K => a = a.checked_div(i.k)?,
            DIV_X => a = a.checked_div(x)?,
            MOD_K => a = a.checked_rem(i.k)?,
            MOD_X => a = a.checked_rem(x)?,
            AND_K => a &= i.k,
            AND_X => a &= x,
            OR_K => a |= i.k,
            OR_X => a |= x,
            XOR_K => a ^= i.k,
            XOR_X => a ^= x,
            LSH_K => a = a.checked_shl(i.k).unwrap_or(0),
            LSH_X => a = a.checked_shl(x).unwrap_or(0),
            RSH_K => a = a.checked_shr(i.k).unwrap_or(0),
            RSH_X => a = a.checked_shr(x).unwrap_or(0),
            NEG => a = a.wrapping_neg(),
            _ => return None,
        }
    }
}

impl Instruction {
    /// How many instructions from the one before on, if this is [`JEQ_K`] behind a load of `a`.
    fn equal(&self, a: u32) -> usize {
        1 + self.skip(a == self.k)
    }

    /// How many instructions this jump skips.
    ///
    /// The two hints are not about what is rare. They make branches of what the compiler would
    /// otherwise compute: branches are predicted, while the next instruction would have to wait
    /// for the comparison and for a load of the distance. More than a third of the
    /// interpreter's time was that.
    fn skip(&self, holds: bool) -> usize {
        let distance = if holds {
            hint::cold_path();
            self.jt
        } else {
            self.jf
        };
        if distance == 0 {
            return 0;
        }
        hint::cold_path();
        distance.into()
    }
}

/// `X + k` does not wrap around: an offset past 2^32 is past the packet.
fn indexed(x: u32, k: u32) -> Option<usize> {
    (x as usize).checked_add(k as usize)
}

/// The checker has seen that `k` is below 16; the mask saves testing it again.
fn slot(k: u32) -> usize {
    (k % SCRATCH_WORDS) as usize
}

fn word(data: &[u8], at: usize) -> Option<u32> {
    bytes(data, at).map(u32::from_be_bytes)
}

fn half(data: &[u8], at: usize) -> Option<u32> {
    bytes(data, at).map(|half| u16::from_be_bytes(half).into())
}

fn bytes<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..at.checked_add(N)?)?.first_chunk().copied()
}

fn byte(data: &[u8], at: usize) -> Option<u32> {
    data.get(at).copied().map(u32::from)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Instruction as I, Program};
    use super::*;

    /// The verdict of `body`, then a return of A.
    fn run(body: &[I], input: &Input<'_>) -> u32 {
        let end = [I::new(RET_A, 0)];
        Program::new([body, &end].concat()).expect("a valid program").run(input)
    }

    #[test]
    fn loads_are_in_network_byte_order_and_end_at_the_captured_bytes() {
        let input = Input { length: 90, ..Input::whole(&[0x45, 2, 3, 4, 5]) };
        let load = |code, k| run(&[I::new(code, k)], &input);
        assert_eq!(load(LDW_ABS, 1), 0x0203_0405);
        assert_eq!(load(LDH_ABS, 3), 0x0405);
        assert_eq!(load(LDB_ABS, 4), 5);
        assert_eq!(load(LD_LEN, 0), 90);
        for (code, k) in [(LDW_ABS, 2), (LDH_ABS, 4), (LDB_ABS, 5), (LDW_ABS, u32::MAX)] {
            assert_eq!(load(code, k), 0, "{code:#x} {k}");
        }
        assert_eq!(run(&[I::new(LDX_MSH, 0), I::new(TXA, 0)], &input), 20);
        assert_eq!(run(&[I::new(LDX_IMM, 2), I::new(LDH_IND, 1)], &input), 0x0405);
    }

    #[test]
    fn an_index_does_not_wrap_around() {
        let body = [I::new(LDX_IMM, u32::MAX), I::new(LDB_IND, 2)];
        assert_eq!(run(&body, &Input::whole(&[7; 8])), 0);
    }

    #[test]
    fn arithmetic_wraps_and_shifts_run_out() {
        let of = |a, code, k| run(&[I::new(LD_IMM, a), I::new(code, k)], &Input::default());
        assert_eq!(of(1, SUB_K, 2), u32::MAX);
        assert_eq!(of(1, NEG, 0), u32::MAX);
        assert_eq!(of(1 << 31, MUL_K, 2), 0);
        assert_eq!(of(7, MOD_K, 4), 3);
        let by_x = |a, code, x| {
            run(&[I::new(LD_IMM, a), I::new(LDX_IMM, x), I::new(code, 0)], &Input::default())
        };
        assert_eq!((by_x(1, LSH_X, 31), by_x(1, LSH_X, 32)), (1 << 31, 0));
        assert_eq!((by_x(9, DIV_X, 2), by_x(9, DIV_X, 0), by_x(9, MOD_X, 0)), (4, 0, 0));
    }

    #[test]
    fn registers_and_scratch_words_start_at_zero() {
        for body in [&[][..], &[I::new(TXA, 0)], &[I::new(LD_MEM, 9)]] {
            assert_eq!(run(body, &Input::default()), 0);
        }
        let body = [I::new(LD_IMM, 5), I::new(ST, 15), I::new(LDX_MEM, 15), I::new(ADD_X, 0)];
        assert_eq!(run(&body, &Input::default()), 10);
    }

    #[test]
    fn ancillary_loads_answer_what_is_known() {
        let tagged = Ancillary {
            vlan_tci: Some(0x2005),
            vlan_protocol: 0x8100,
            packet_type: Some(ancillary::OUTGOING),
            ..Ancillary::default()
        };
        let ask =
            |ancillary, k| run(&[I::new(LDB_ABS, k)], &Input { ancillary, ..Input::default() });
        assert_eq!(ask(tagged, ancillary::VLAN_TCI), 0x2005);
        assert_eq!(ask(tagged, ancillary::VLAN_PRESENT), 1);
        assert_eq!(ask(tagged, ancillary::VLAN_PROTOCOL), 0x8100);
        assert_eq!(ask(tagged, ancillary::PACKET_TYPE), 4);
        assert_eq!(ask(Ancillary::default(), ancillary::VLAN_PRESENT), 0);
        // The xor is no question; the unknown packet type rejects before the return.
        let body = [I::new(LDX_IMM, 6), I::new(LD_IMM, 5), I::new(LDW_ABS, ancillary::XOR_X)];
        assert_eq!(run(&body, &Input::default()), 3);
        let keep = [I::new(LDB_ABS, ancillary::PACKET_TYPE), I::new(RET_K, 9)];
        assert_eq!(run(&keep, &Input::default()), 0);
    }

    #[test]
    fn an_endless_loop_ends_with_nothing_kept() {
        let body = [I::new(ADD_K, 1), I::new(JA, -2_i32 as u32)];
        assert_eq!(run(&body, &Input::whole(&[0; 100])), 0);
    }

    #[test]
    fn a_loop_may_walk_through_the_whole_packet() {
        // Counts in X until the byte at X is 9.
        let body = [
            I::new(LDB_IND, 0),
            I::jump(JEQ_K, 9, 4, 0),
            I::new(TXA, 0),
            I::new(ADD_K, 1),
            I::new(TAX, 0),
            I::new(JA, -6_i32 as u32),
            I::new(TXA, 0),
        ];
        let mut data = [0; 100];
        data[99] = 9;
        assert_eq!(run(&body, &Input::whole(&data)), 99);
    }

    fn instruction() -> impl Strategy<Value = I> {
        let k = prop_oneof![0..16_u32, 0..64_u32, any::<u32>(), Just(-3_i32 as u32)];
        (proptest::sample::select(ALL), 0..4_u8, 0..4_u8, k).prop_map(|(code, jt, jf, k)| I {
            code,
            jt,
            jf,
            k,
        })
    }

    proptest! {
        #[test]
        fn whatever_passes_the_checks_runs_to_an_end(
            body in proptest::collection::vec(instruction(), 0..12),
            data in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let end = vec![I::new(RET_A, 0); 4];
            if let Ok(program) = Program::new([body, end].concat()) {
                program.run(&Input::whole(&data));
            }
        }

        #[test]
        fn any_instructions_are_refused_or_run(
            body in proptest::collection::vec(
                (any::<u16>(), any::<u8>(), any::<u8>(), any::<u32>())
                    .prop_map(|(code, jt, jf, k)| I { code, jt, jf, k }),
                0..8,
            ),
        ) {
            if let Ok(program) = Program::new(body) {
                program.run(&Input::default());
            }
        }
    }
}
