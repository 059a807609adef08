//! Random classic programs, and their way to the peers.

use linerate_bpf::classic::opcode::*;
use linerate_bpf::classic::{Instruction, Program};
use linerate_sys::libpcap::Libpcap;
use linerate_sys::socket_filter::SockFilter;
use proptest::prelude::*;

/// The libpcap that comes with tcpdump, unless the machine has none and the test may skip.
pub(crate) fn libpcap() -> Option<Libpcap> {
    linerate_lab::need::program("tcpdump", "tcpdump")
        .then(|| Libpcap::load().expect("tcpdump comes with its library"))
}

/// The same instructions as the kernel and libpcap take them.
pub(crate) fn raw(program: &Program) -> Vec<SockFilter> {
    let raw = |&Instruction { code, jt, jf, k }: &Instruction| SockFilter { code, jt, jf, k };
    program.instructions().iter().map(raw).collect()
}

/// Valid programs of up to some 40 instructions, whose verdict depends on most of what they do.
///
/// Left out is what the kernel and libpcap disagree about: shifts by X of 32 and more, indices
/// that wrap around, ancillary offsets.
pub(crate) fn programs() -> impl Strategy<Value = Program> {
    proptest::collection::vec(step(), 0..16)
        .prop_map(|steps| Program::new(lay_out(steps)).expect("the generator makes valid programs"))
}

/// One to three instructions that belong together.
fn step() -> impl Strategy<Value = Vec<Instruction>> {
    let one = |codes: &'static [u16], k: BoxedStrategy<u32>| {
        (proptest::sample::select(codes), k).prop_map(|(code, k)| vec![Instruction::new(code, k)])
    };
    let number = prop_oneof![0..40_u32, Just(0xffff), any::<u32>()].boxed();
    let masked = |mask, code, k| {
        let steps = [(AND_K, mask), (TAX, 0), (code, k)];
        steps.map(|(code, k)| Instruction::new(code, k)).to_vec()
    };
    prop_oneof![
        6 => one(&[LDW_ABS, LDH_ABS, LDB_ABS, LDX_MSH], (0..48_u32).boxed()),
        3 => one(&[LD_IMM, LDX_IMM], number.clone()),
        3 => one(&[ADD_K, SUB_K, MUL_K, AND_K, OR_K, XOR_K], number.clone()),
        2 => one(&[DIV_K, MOD_K], number.clone().prop_map(|k| k.max(1)).boxed()),
        2 => one(&[LSH_K, RSH_K], (0..32_u32).boxed()),
        4 => one(
            &[ADD_X, SUB_X, MUL_X, DIV_X, MOD_X, AND_X, OR_X, XOR_X, NEG, TAX, TXA, LD_LEN, LDX_LEN],
            Just(0).boxed(),
        ),
        4 => one(&[ST, STX, LD_MEM, LDX_MEM], (0..4_u32).boxed()),
        4 => (
            proptest::sample::select(&[
                JEQ_K, JEQ_X, JGT_K, JGT_X, JGE_K, JGE_X, JSET_K, JSET_X,
            ][..]),
            number,
            0..6_u8,
            0..6_u8,
        )
            .prop_map(|(code, k, jt, jf)| vec![Instruction::jump(code, k, jt, jf)]),
        1 => one(&[JA], (0..6_u32).boxed()),
        1 => one(&[RET_K, RET_A], any::<u32>().boxed()),
        2 => (proptest::sample::select(&[LDW_IND, LDH_IND, LDB_IND][..]), 0..32_u32)
            .prop_map(move |(code, k)| masked(31, code, k)),
        1 => proptest::sample::select(&[LSH_X, RSH_X][..]).prop_map(move |code| masked(31, code, 0)),
    ]
}

/// Joins the steps, whose jumps count steps so far and may lead past the end, with a return.
fn lay_out(mut steps: Vec<Vec<Instruction>>) -> Vec<Instruction> {
    steps.push(vec![Instruction::new(ADD_X, 0), Instruction::new(RET_A, 0)]);
    let skipped = |at: usize, count: usize| {
        let end = (at + 1 + count).min(steps.len() - 1);
        steps[at + 1..end].iter().map(Vec::len).sum::<usize>()
    };
    let distances = |at: usize, mut instruction: Instruction| {
        if is_conditional_jump(instruction.code) {
            instruction.jt = skipped(at, instruction.jt.into()) as u8;
            instruction.jf = skipped(at, instruction.jf.into()) as u8;
        } else if instruction.code == JA {
            instruction.k = skipped(at, instruction.k as usize) as u32;
        }
        instruction
    };
    let numbered = (0..).zip(&steps).flat_map(|(at, step)| step.iter().map(move |i| (at, *i)));
    numbered.map(|(at, instruction)| distances(at, instruction)).collect()
}

/// Packets that some loads of [`programs`] leave and some do not.
pub(crate) fn packets() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(prop_oneof![any::<u8>(), 0..4_u8], 0..80)
}

/// What a socket gets of a packet on which a filter gives `verdict`.
pub(crate) fn kept(verdict: u32, packet: &[u8]) -> Option<usize> {
    (verdict != 0).then_some(packet.len().min(verdict as usize))
}
