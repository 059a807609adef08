//! A filter as a program at a hook, run by the kernel on test packets.

use linerate_bpf::classic::{Ancillary, Input};
use linerate_bpf::extended::Register::{R0, R1, R6, R10};
use linerate_bpf::extended::{Hook, Instruction, Metadata, Predicate, Size};
use linerate_sys::bpf::{LoadError, Map, MapSpec, Program, ProgramKind, ProgramSpec, TestRun};
use std::os::fd::{AsFd, AsRawFd};

/// The least that the kernel runs any program on: an Ethernet header.
pub(crate) const SHORTEST: usize = 14;

/// Whether the kernel makes a socket buffer of a test packet: it wants something behind the Ethernet
/// header, and whole IP headers where that announces one.
pub(crate) fn makes_buffer(data: &[u8]) -> bool {
    let least = match data[12..14] {
        [0x08, 0x00] => 14 + 20,
        [0x86, 0xdd] => 14 + 40,
        _ => 14 + 1,
    };
    data.len() >= least
}

/// What the words of the metadata map are, in this order; behind them the length on the wire.
const WORDS: [Metadata; 5] = [
    Metadata::InterfaceIndex,
    Metadata::PacketType,
    Metadata::VlanTag,
    Metadata::VlanPresent,
    Metadata::Protocol,
];

/// Offsets of the packet's beginning and end in `struct xdp_md` and `struct __sk_buff`.
fn packet(hook: Hook) -> [i16; 2] {
    match hook {
        Hook::Xdp => [0, 4],
        Hook::Ingress | Hook::Egress => [76, 80],
    }
}

/// A program that returns a filter's verdict, whose metadata and packet length come from a map.
pub(crate) struct Hooked {
    hook: Hook,
    program: Program,
    told: Map,
}

impl Hooked {
    pub(crate) fn new(predicate: &Predicate, hook: Hook) -> Result<Self, LoadError> {
        let told = registers::map();
        let code = surround(predicate, hook, told.as_fd().as_raw_fd());
        let words: Vec<_> = code.iter().map(Instruction::encode).collect();
        let kind = if hook == Hook::Xdp { ProgramKind::Xdp } else { ProgramKind::Classifier };
        let spec = ProgramSpec::new(kind, &words, "filter");
        let spec = if hook == Hook::Xdp { spec.with_fragments() } else { spec };
        Ok(Self { hook, program: Program::load(&spec)?, told })
    }

    /// `None` where the kernel makes no test of such a packet.
    pub(crate) fn keeps(&self, input: &Input<'_>) -> Option<bool> {
        if self.hook != Hook::Xdp && !makes_buffer(input.data) {
            return None;
        }
        registers::tell(&self.told, input);
        let run = TestRun::once(input.data);
        let result = self.program.test_run(&run);
        match result.unwrap_or_else(|e| panic!("{e}: {:02x?}", input.data)).verdict {
            0 => Some(false),
            1 => Some(true),
            other => panic!("the program returned {other}"),
        }
    }
}

fn surround(predicate: &Predicate, hook: Hook, told: i32) -> Vec<Instruction> {
    let mut code = registers::surround(predicate.needs(), hook, told);
    code.extend(predicate.instructions(hook));
    code.push(Instruction::exit());
    code
}

/// What a fragment finds before it, which a map tells.
pub(crate) mod registers {
    use super::*;

    pub(crate) fn map() -> Map {
        let size = 4 * (WORDS.len() as u32 + 1);
        Map::new(&MapSpec::array("told", size, 1)).expect("a map")
    }

    pub(crate) fn tell(told: &Map, input: &Input<'_>) {
        let Ancillary { protocol, packet_type, interface_index, vlan_tci, .. } = input.ancillary;
        let words = [
            interface_index.unwrap_or(0),
            packet_type.map_or(0, u32::from),
            vlan_tci.map_or(0, u32::from),
            vlan_tci.is_some().into(),
            protocol.map_or(0, u32::from),
            input.length,
        ];
        let value: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        told.insert(&0_u32.to_ne_bytes(), &value).expect("element 0");
    }

    pub(crate) fn surround(needs: &[Metadata], hook: Hook, told: i32) -> Vec<Instruction> {
        let [start, end] = packet(hook);
        let mut code = vec![
            Instruction::mov(R6, R1),
            Instruction::load(Size::Word, Predicate::START, R6, start),
            Instruction::load(Size::Word, Predicate::END, R6, end),
        ];
        code.extend(Instruction::load_map_value(R1, told, 0));
        for (at, word) in (0..).step_by(4).zip(WORDS) {
            if needs.contains(&word) {
                code.push(Instruction::load(Size::Word, R0, R1, at));
                code.push(Instruction::store(Size::Word, R10, word.slot(), R0));
            }
        }
        let length = 4 * WORDS.len() as i16;
        code.push(Instruction::load(Size::Word, Predicate::LENGTH, R1, length));
        code
    }
}
