//! Extended programs in the kernel: verdicts, counters, and what the verifier prints.

use std::os::fd::{AsFd, AsRawFd};

use crate::support::{kept, packets, programs};
use linerate_bpf::classic::opcode::*;
use linerate_bpf::classic::{self, Input, Program, ancillary};
use linerate_bpf::extended::{self, Instruction, TranslateError, disassemble, from_classic};
use linerate_lab::need;
use linerate_sys::bpf::{self, LoadError, Map, MapKind, ProgramKind, ProgramSpec};
use linerate_sys::socket_filter::Judge;
use proptest::prelude::*;

fn encode(program: &[Instruction]) -> Vec<u64> {
    program.iter().map(Instruction::encode).collect()
}

fn load(program: &[Instruction]) -> Result<bpf::Program, LoadError> {
    bpf::Program::load(&ProgramSpec::new(ProgramKind::SocketFilter, &encode(program), "test"))
}

/// A classic program, loaded in its extended form, and its counter.
struct Loaded {
    judge: Judge,
    counter: Map,
    _program: bpf::Program,
}

impl Loaded {
    fn new(program: &Program, kind: MapKind) -> Self {
        let counter = Map::counters(kind, 1, "seen").expect("a map");
        let translated = from_classic(program, counter.as_fd().as_raw_fd()).expect("translated");
        let loaded = load(&translated)
            .unwrap_or_else(|e| panic!("{program}{}{e}\n{}", disassemble(&translated), e.log()));
        let judge = Judge::extended(loaded.as_fd()).expect("attached");
        Self { judge, counter, _program: loaded }
    }

    fn verdict(&mut self, packet: &[u8]) -> Option<usize> {
        self.judge.verdict(packet).expect("a verdict")
    }

    fn seen(&self) -> u64 {
        self.counter.sum(0).expect("a counter")
    }
}

fn program(body: &[(u16, u32)]) -> Program {
    let body: Vec<_> = body.iter().map(|(code, k)| classic::Instruction::new(*code, *k)).collect();
    Program::new(body).expect("a valid program")
}

/// Programs in which A, X and scratch words were never set, and shifts, divisions and indices
/// that the kernel's own translation of classic programs treats otherwise.
fn corner_cases() -> Vec<Program> {
    let by_x = |a, x, code| program(&[(LD_IMM, a), (LDX_IMM, x), (code, 0), (RET_A, 0)]);
    let mut cases: Vec<_> = [31, 32, 33, u32::MAX]
        .into_iter()
        .flat_map(|x| [by_x(7, x, LSH_X), by_x(u32::MAX, x, RSH_X)])
        .collect();
    cases.extend([by_x(9, 0, DIV_X), by_x(9, 0, MOD_X), by_x(9, 2, DIV_X), by_x(9, 4, MOD_X)]);
    cases.extend([u32::MAX, 1 << 31, i32::MAX as u32].into_iter().flat_map(|x| {
        [0, 1, 2, 1 << 31, u32::MAX].map(|k| program(&[(LDX_IMM, x), (LDB_IND, k), (RET_K, 5)]))
    }));
    cases.extend([
        program(&[(RET_A, 0)]),
        program(&[(TXA, 0), (ADD_K, 2), (RET_A, 0)]),
        program(&[(LD_MEM, 15), (LDX_MEM, 0), (ADD_X, 0), (ADD_K, 3), (RET_A, 0)]),
        program(&[(LD_IMM, 1), (SUB_K, 2), (RET_A, 0)]),
        program(&[(LD_IMM, 1), (NEG, 0), (RET_A, 0)]),
        program(&[(LDB_ABS, ancillary::VLAN_PRESENT), (ADD_K, 2), (RET_A, 0)]),
        program(&[(LDB_ABS, ancillary::VLAN_TCI), (ADD_K, 2), (RET_A, 0)]),
        program(&[(LDB_ABS, ancillary::INTERFACE_INDEX), (RET_K, 2)]),
        program(&[(LD_IMM, 6), (LDX_IMM, 5), (LDB_ABS, ancillary::XOR_X), (RET_A, 0)]),
        program(&[(LDW_ABS, 1 << 31), (RET_K, 2)]),
    ]);
    cases
}

#[test]
fn verdicts_are_the_interpreters() {
    if !need::root() {
        return;
    }
    for case in corner_cases() {
        let mut loaded = Loaded::new(&case, MapKind::PerCpuArray);
        for packet in [&[7; 60][..], &[1, 2], &[]] {
            let expected = kept(case.run(&Input::whole(packet)), packet);
            assert_eq!(loaded.verdict(packet), expected, "{case}");
        }
    }
    let packets = proptest::collection::vec(packets(), 1..8);
    proptest!(ProptestConfig::with_cases(1000), |(program in programs(), packets in packets)| {
        let mut loaded = Loaded::new(&program, MapKind::PerCpuArray);
        for packet in &packets {
            let expected = kept(program.run(&Input::whole(packet)), packet);
            prop_assert_eq!(loaded.verdict(packet), expected, "{}", &program);
        }
        prop_assert_eq!(loaded.seen(), packets.len() as u64);
    });
}

#[test]
fn the_counter_counts_every_packet_from_every_cpu() {
    if !need::root() {
        return;
    }
    const THREADS: u64 = 4;
    const PACKETS: u64 = 5000;
    let second_byte = program(&[(LDB_ABS, 1), (RET_A, 0)]);
    for kind in [MapKind::Array, MapKind::PerCpuArray] {
        let counter = Map::counters(kind, 1, "seen").expect("a map");
        let translated = from_classic(&second_byte, counter.as_fd().as_raw_fd()).expect("short");
        let filter = load(&translated);
        let filter = filter.expect("loaded");
        let accepted = |thread: u64| {
            let mut judge = Judge::extended(filter.as_fd()).expect("attached");
            let packet = |n: u64| [0, u8::from((n + thread).is_multiple_of(3))];
            (0..PACKETS)
                .filter(|n| judge.verdict(&packet(*n)).expect("a verdict").is_some())
                .count()
        };
        let accepted: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|t| scope.spawn(move || accepted(t))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
        });
        assert_eq!(counter.sum(0).expect("a counter"), THREADS * PACKETS, "{kind:?}");
        assert!((6000..7000).contains(&accepted), "{accepted}");
    }
}

/// A chain of comparisons as filters with many alternatives have it.
fn long_program(length: usize) -> Program {
    let test = |value| classic::Instruction::jump(JEQ_K, value, 0, 1);
    let alternatives = (1..(length as u32 - 1) / 2)
        .flat_map(|value| [test(value), classic::Instruction::new(RET_K, value)]);
    let load = classic::Instruction::new(LDH_ABS, 0);
    let mut body: Vec<_> = [load].into_iter().chain(alternatives).collect();
    body.resize(length, classic::Instruction::new(RET_K, 0));
    Program::new(body).expect("a valid program")
}

#[test]
fn long_programs_run_too() {
    if !need::root() {
        return;
    }
    // The second is longer than the kernel takes classic programs.
    for length in [4096, 9000] {
        let program = long_program(length);
        assert_eq!(program.fits_kernel(), length == 4096);
        let mut loaded = Loaded::new(&program, MapKind::PerCpuArray);
        for value in [1_u16, 2, 60, 255, 2045, 2046, 9000] {
            let packet = [&value.to_be_bytes()[..], &[0; 100]].concat();
            let expected = kept(program.run(&Input::whole(&packet)), &packet);
            assert_eq!(loaded.verdict(&packet), expected, "{value}");
        }
    }
}

#[test]
fn what_has_no_extended_form_is_named() {
    let backward = program(&[(TAX, 0), (JA, -2_i32 as u32), (RET_K, 0)]);
    assert_eq!(from_classic(&backward, 0), Err(TranslateError::BackwardJump { at: 1 }));
    let random = program(&[(LDW_ABS, ancillary::BASE + 56), (RET_K, 0)]);
    let offset = ancillary::BASE + 56;
    assert_eq!(from_classic(&random, 0), Err(TranslateError::Ancillary { at: 0, offset }));
}

#[test]
fn long_programs_jump_far() {
    if !need::root() {
        return;
    }
    let body = program(&[vec![(LD_LEN, 0); 40_000], vec![(RET_K, 3)]].concat());
    let skip = [classic::Instruction::jump(JEQ_K, 0, 0, 1), classic::Instruction::new(JA, 40_000)];
    let program = Program::new([&skip, body.instructions()].concat()).expect("a valid program");
    let mut loaded = Loaded::new(&program, MapKind::PerCpuArray);
    assert_eq!(loaded.verdict(&[7; 60]), Some(3));
}

#[test]
fn the_verifier_prints_the_same_text() {
    if !need::root() {
        return;
    }
    let counter = Map::counters(MapKind::Array, 1, "seen").expect("a map");
    proptest!(ProptestConfig::with_cases(200), |(program in programs())| {
        let translated = from_classic(&program, counter.as_fd().as_raw_fd()).expect("translated");
        let words = encode(&translated);
        let spec = ProgramSpec::new(ProgramKind::SocketFilter, &words, "explained");
        let log = spec.explain().expect("valid");
        let ours = disassemble(&translated).to_string();
        // `5: (85) call bpf_map_lookup_elem#1   ; R0=map_value_or_null(...)`, mixed with states.
        let instruction = |line: &str| line.split(';').next().unwrap_or(line).trim().to_owned();
        let numbered = |line: &&str| line.starts_with(char::is_numeric) && line.contains(": (");
        let lines: Vec<_> = log.lines().filter(numbered).map(instruction).collect();
        prop_assert!(lines.len() > 5, "{}", log);
        for line in lines {
            // The kernel knows the map's address instead of its descriptor.
            let known = line.contains("(18)") || ours.lines().any(|our| our == line);
            prop_assert!(known, "{} is not in\n{}", line, ours);
        }
    });
}

#[test]
fn the_verifier_is_heard() {
    if !need::root() {
        return;
    }
    let program = [Instruction::mov(extended::Register::R0, extended::Register::R2)];
    let program = [program[0], Instruction::exit()];
    let error = load(&program).expect_err("bad");
    assert!(error.to_string().contains("R2 !read_ok"), "{error}");
    assert!(error.log().contains("processed"), "{}", error.log());
}
