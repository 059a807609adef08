//! The program at the traffic-control hooks: counts packets and bytes, all of them and those that each
//! filter keeps, and passes every packet on.

use linerate_bpf::extended::Register::{R0, R1, R2, R4, R5, R6, R10};
use linerate_bpf::extended::set::Search;
use linerate_bpf::extended::{
    Alu, Assembler, Hook, Instruction, Label, Metadata, Predicate, Register, Size, Test, helper,
};

use super::set::Set;
use super::{MAX_METER_FILTERS, MeterFilter};
use crate::hook::{Site, sk_buff};

/// Bytes that one tally takes among the counters: packets, then bytes.
pub(super) const TALLY: usize = 16;

/// `TCX_NEXT` of `linux/bpf.h`: whatever stands behind this program decides.
const NEXT: i32 = -1;
/// What a VLAN tag that stands beside the packet adds to it on the wire.
const TAG_BYTES_SHIFT: i32 = 2;

/// On the stack, below the filters' metadata: the index of the map's only element, the address of the
/// counters, the packet's length on the wire.
const KEY_SLOT: i16 = -24;
const COUNTERS_SLOT: i16 = -32;
const BYTES_SLOT: i16 = -40;

/// What programs count.
#[derive(Clone, Copy)]
pub(super) struct Plan<'a> {
    /// Filters that are part of the program, with their numbers.
    pub(super) filters: &'a [(usize, MeterFilter)],
    /// Others.
    pub(super) set: Option<&'a Set>,
    /// Descriptor of a per-CPU array of one element: a tally of all packets, then one for each filter by its number.
    pub(super) counters: i32,
}

/// The program for one way.
pub(super) fn assemble(plan: &Plan<'_>, hook: Hook) -> Vec<u64> {
    let mut code = Assembler::new();
    let pass = code.label();
    code.push(Instruction::mov(R6, R1));
    find_counters(&mut code, plan.counters, pass);
    measure(&mut code, hook);
    for metadata in [
        Metadata::InterfaceIndex,
        Metadata::PacketType,
        Metadata::VlanTag,
        Metadata::VlanPresent,
        Metadata::Protocol,
    ] {
        let is_needed =
            |(_, filter): &(_, MeterFilter)| filter.predicate.needs().contains(&metadata);
        let set = || plan.set.into_iter().flat_map(Set::needs).any(|need| need == metadata);
        if plan.filters.iter().any(is_needed) || set() {
            Site { hook, vlan_tag: None }.describe(&mut code, metadata);
        }
    }
    add(&mut code, 0);
    for (number, filter) in plan.filters {
        apply(&mut code, &filter.predicate, hook, 1 + number);
    }
    if let Some(set) = plan.set {
        Site { hook, vlan_tag: None }.find_bounds(&mut code);
        set.search(hook).emit(&mut code, add_found);
    }
    code.place(pass);
    code.extend([Instruction::mov(R0, NEXT), Instruction::exit()]);
    let program = code.finish().expect("every label is placed");
    program.iter().map(Instruction::encode).collect()
}

fn find_counters(code: &mut Assembler, counters: i32, pass: Label) {
    code.push(Instruction::store(Size::Word, R10, KEY_SLOT, 0));
    code.push(Instruction::mov(R2, R10));
    code.push(Instruction::alu(Alu::Add, R2, i32::from(KEY_SLOT)));
    code.extend(Instruction::load_map(R1, counters));
    code.push(Instruction::call(helper::MAP_LOOKUP_ELEM));
    // The element is always there, but the verifier wants to see that somebody looked.
    code.jump_if(Test::Equal, R0, 0, pass);
    code.push(Instruction::store(Size::Double, R10, COUNTERS_SLOT, R0));
}

/// The length for the filters, and that on the wire, of which a tag beside the packet is part.
fn measure(code: &mut Assembler, hook: Hook) {
    Site { hook, vlan_tag: None }.measure(code);
    code.extend([
        Instruction::load(Size::Word, R1, R6, sk_buff::VLAN_PRESENT),
        Instruction::alu(Alu::Lsh, R1, TAG_BYTES_SHIFT),
        Instruction::alu(Alu::Add, R1, Predicate::LENGTH),
        Instruction::store(Size::Double, R10, BYTES_SLOT, R1),
    ]);
}

/// Adds the packet to a tally. Each CPU has its own, and on one CPU no two packets are here at once.
fn add(code: &mut Assembler, number: usize) {
    let packets = (number * TALLY) as i16;
    code.push(Instruction::load(Size::Double, R1, R10, COUNTERS_SLOT));
    code.extend([
        Instruction::load(Size::Double, R2, R1, packets),
        Instruction::alu(Alu::Add, R2, 1),
        Instruction::store(Size::Double, R1, packets, R2),
    ]);
    let bytes = packets + 8;
    code.extend([
        Instruction::load(Size::Double, R0, R10, BYTES_SLOT),
        Instruction::load(Size::Double, R2, R1, bytes),
        Instruction::alu(Alu::Add, R2, R0),
        Instruction::store(Size::Double, R1, bytes, R2),
    ]);
}

fn apply(code: &mut Assembler, filter: &Predicate, hook: Hook, number: usize) {
    // Loaded for each filter anew, so that the verifier need not remember what the one before has
    // proven of the packet's length, on each of its ways.
    Site { hook, vlan_tag: None }.find_bounds(code);
    code.extend(filter.instructions(hook));
    let next = code.label();
    code.jump_if(Test::Equal, R0, 0, next);
    add(code, number);
    code.place(next);
}

/// Adds the packet to the tally of the filter that a search has found.
fn add_found(code: &mut Assembler) {
    const FILTER: Register = Search::FILTER;
    let skip = code.label();
    // There is no such filter; but the verifier does not know.
    code.jump_if(Test::GreaterOrEqual, FILTER, MAX_METER_FILTERS as i32, skip);
    code.extend([
        Instruction::alu(Alu::Mul, FILTER, TALLY as i32),
        Instruction::load(Size::Double, R4, R10, COUNTERS_SLOT),
        Instruction::alu(Alu::Add, R4, FILTER),
        Instruction::load(Size::Double, R5, R4, TALLY as i16),
        Instruction::alu(Alu::Add, R5, 1),
        Instruction::store(Size::Double, R4, TALLY as i16, R5),
        Instruction::load(Size::Double, FILTER, R10, BYTES_SLOT),
        Instruction::load(Size::Double, R5, R4, TALLY as i16 + 8),
        Instruction::alu(Alu::Add, R5, FILTER),
        Instruction::store(Size::Double, R4, TALLY as i16 + 8, R5),
    ]);
    code.place(skip);
}
