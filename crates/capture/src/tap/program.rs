//! The program in the kernel: filter, stamp, copy, publish.
//!
//! It runs for every packet, so every instruction counts. Its registers, after the filter:
//!
//! | | |
//! | --- | --- |
//! | R6 | the context |
//! | R7 | the ring |
//! | R8 | bytes of the packet to keep; before the ring is known, the filter's verdict |
//! | R9 | bytes of the packet on the wire |

mod copy;
mod filter;
mod owned;
mod publish;
mod stamp;

use std::os::fd::{AsRawFd, BorrowedFd};

use linerate_bpf::extended::{
    Alu, Assembler, Hook, Instruction, Label, Predicate, Register, Size, Test, helper,
};
use linerate_sys::bpf::Part;
use linerate_sys::tap_ring::{Geometry, layout};

use super::driver::Driver;
use crate::Owned;
use crate::hook::{Site, sk_buff, xdp_md};

use Register::{R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10};

/// What a program is to do, and where.
pub(crate) struct Plan<'a> {
    pub(crate) hook: Hook,
    /// The map of the rings, and their sizes.
    pub(crate) rings: BorrowedFd<'a>,
    pub(crate) geometry: Geometry,
    pub(crate) producers: Producers,
    pub(crate) predicate: Option<&'a Predicate>,
    /// Only frames to these addresses are captured, and the host does not get them.
    pub(crate) owned: Option<&'a Owned>,
    /// The mark of packets that the host sends and that are not to be seen.
    pub(crate) unseen_mark: Option<u32>,
    /// The most bytes to keep of a packet.
    pub(crate) snaplen: u32,
    pub(crate) stamps: Stamps,
    /// What the driver tells at the XDP hook.
    pub(crate) driver: Driver,
    /// Let nobody else have the packets.
    pub(crate) exclusive: bool,
    /// What wakes the consumers: of ring i, the one at i modulo their number.
    pub(crate) doorbells: &'a [BorrowedFd<'a>],
}

/// What each has a ring of its own, so that a ring has one producer at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Producers {
    /// The CPUs: where a program runs, no other that shares its ring can run until it is done, as
    /// softirqs are off.
    Cpus,
    /// The interface's receive queues: drivers empty each of them on one CPU at a time.
    Queues,
}

impl Producers {
    /// What one of them is called.
    pub(crate) fn one(self) -> &'static str {
        match self {
            Self::Cpus => "core",
            Self::Queues => "receive queue",
        }
    }
}

/// Who stamps packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamps {
    /// Not the program.
    None,
    /// The program, each packet.
    Each,
    /// The network card, and where it does not, the program.
    Card,
    /// The program, each packet after an empty ring, the first of every tick, and every so many.
    Sampled,
}

/// In a record's flags: the host sends the packet.
pub(crate) const OUTGOING: u32 = 1;
/// In a record's flags: a neighbour asks for an owned address.
pub(crate) const QUESTION: u32 = 2;
/// In a record's flags: the filter turned the packet away, which is there to be answered only.
pub(crate) const ASIDE: u32 = 4;
/// In a record's flags, of packets that the card is to stamp: the program did.
pub(crate) const BY_KERNEL: u32 = 8;

/// `XDP_DROP` and `XDP_PASS` of `enum xdp_action`, and `TCX_NEXT` of `enum tcx_action_base`, which lets
/// further programs run.
const XDP_DROP: i32 = 1;
const XDP_PASS: i32 = 2;
const TCX_NEXT: i32 = -1;

/// On the stack, below the metadata: the number of the ring, u32.
const RING_NUMBER: i16 = -24;
/// The record's flags, u32, where they are not the same for all packets.
const FLAGS: i16 = -32;

/// A program and its parts, which those who sample it know by their names (`profile/src/path/kernel.txt`).
pub(crate) struct Assembled {
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) parts: Vec<Part>,
}

/// The program for a plan.
pub(crate) fn assemble(plan: &Plan<'_>) -> Assembled {
    let mut code = Assembler::new();
    let ends = Ends {
        foreign: code.label(),
        filtered: code.label(),
        dropped: code.label(),
        stray: code.label(),
        done: code.label(),
    };
    let mut writer = Writer { plan, code, ends, parts: Vec::new() };
    writer.begin("linerate_tap");
    writer.measure();
    writer.tell_owned();
    writer.pass_unseen();
    writer.site().ask_for_tag(&mut writer.code);
    writer.begin("linerate_tap_filter");
    writer.filter();
    writer.begin("linerate_tap");
    writer.find_ring();
    writer.find_room();
    writer.begin("linerate_tap_stamp");
    writer.stamp();
    writer.begin("linerate_tap");
    writer.describe();
    writer.begin("linerate_tap_copy");
    writer.copy();
    writer.begin("linerate_tap");
    writer.publish();
    writer.ring_doorbell();
    writer.end();
    writer.finish()
}

/// What becomes of packets that are not captured, and the end of all.
struct Ends {
    /// Decided already, before the ring is known.
    foreign: Label,
    filtered: Label,
    dropped: Label,
    stray: Label,
    done: Label,
}

struct Writer<'a> {
    plan: &'a Plan<'a>,
    code: Assembler,
    ends: Ends,
    /// Where parts begin, and their names.
    parts: Vec<(Label, &'static str)>,
}

impl Writer<'_> {
    /// What follows is part of this.
    fn begin(&mut self, part: &'static str) {
        let label = self.code.label();
        self.code.place(label);
        self.parts.push((label, part));
    }

    fn finish(self) -> Assembled {
        let (labels, names): (Vec<_>, Vec<_>) = self.parts.into_iter().unzip();
        let (instructions, places) = self.code.finish_with(&labels).expect("every label is placed");
        let parts = places.into_iter().zip(names);
        let parts = parts.map(|(instruction, name)| Part { instruction, name }).collect();
        Assembled { instructions, parts }
    }

    fn is_xdp(&self) -> bool {
        self.plan.hook == Hook::Xdp
    }

    fn push(&mut self, instruction: Instruction) {
        self.code.push(instruction);
    }

    fn load(&mut self, size: Size, dst: Register, base: Register, offset: i16) {
        self.push(Instruction::load(size, dst, base, offset));
    }

    /// R6 = context, R9 = length.
    fn measure(&mut self) {
        self.push(Instruction::mov(R6, R1));
        self.site().measure(&mut self.code);
    }

    /// What the application itself sends is neither captured nor counted.
    fn pass_unseen(&mut self) {
        if let (Hook::Egress, Some(mark)) = (self.plan.hook, self.plan.unseen_mark) {
            self.load(Size::Word, R1, R6, sk_buff::MARK);
            self.code.jump_if32(Test::Equal, R1, mark, self.ends.done);
        }
    }

    fn site(&self) -> Site {
        Site { hook: self.plan.hook, vlan_tag: self.plan.driver.vlan_tag }
    }

    fn stack_address(&mut self, dst: Register, slot: i16) {
        self.push(Instruction::mov(dst, R10));
        self.push(Instruction::alu(Alu::Add, dst, i32::from(slot)));
    }

    /// R7 = ring.
    fn find_ring(&mut self) {
        self.code.place(self.ends.foreign);
        match self.plan.producers {
            Producers::Queues => self.load(Size::Word, R0, R6, xdp_md::RX_QUEUE_INDEX),
            Producers::Cpus => self.push(Instruction::call(helper::GET_SMP_PROCESSOR_ID)),
        }
        if self.plan.geometry.rings == 1 {
            // Where it is, the program knows beforehand: nothing has to wait for a look into the map.
            self.code.jump_if(Test::NotEqual, R0, 0, self.ends.stray);
            self.code.extend(Instruction::load_map_value(R7, self.plan.rings.as_raw_fd(), 0));
        } else {
            self.push(Instruction::store(Size::Word, R10, RING_NUMBER, R0));
            self.look_up(self.ends.stray);
            self.push(Instruction::mov(R7, R0));
        }
        if self.turns_away() {
            self.code.jump_if(Test::Equal, R8, 0, self.ends.filtered);
        }
    }

    /// R0 = the ring with the number on the stack.
    fn look_up(&mut self, missing: Label) {
        self.code.extend(Instruction::load_map(R1, self.plan.rings.as_raw_fd()));
        self.stack_address(R2, RING_NUMBER);
        self.push(Instruction::call(helper::MAP_LOOKUP_ELEM));
        self.code.jump_if(Test::Equal, R0, 0, missing);
    }

    /// R8 = bytes to keep. For stamps that are sampled, R4 = bytes that wait in the ring.
    fn find_room(&mut self) {
        let fits = self.code.label();
        self.push(Instruction::mov32(R8, R9));
        self.code.jump_if(Test::LessOrEqual, R8, self.plan.snaplen, fits);
        self.push(Instruction::mov32(R8, self.plan.snaplen));
        self.code.place(fits);
        // There are no empty packets; but the verifier does not know.
        self.code.jump_if(Test::Less, R8, 1, self.ends.dropped);
        self.load(Size::Double, R4, R7, layout::HEAD as i16);
        self.load(Size::Double, R1, R7, layout::TAIL as i16);
        self.push(Instruction::alu(Alu::Sub, R4, R1));
        self.record_size(R3);
        self.push(Instruction::alu(Alu::Add, R3, R4));
        self.code.jump_if(Test::Greater, R3, self.plan.geometry.data, self.ends.dropped);
    }

    /// `dst` = bytes of the record for R8 bytes.
    fn record_size(&mut self, dst: Register) {
        const ROUND_UP: i32 = layout::ALIGNMENT as i32 - 1;
        self.push(Instruction::mov(dst, R8));
        self.push(Instruction::alu(Alu::Add, dst, layout::PACKET as i32 + ROUND_UP));
        self.push(Instruction::alu(Alu::And, dst, !ROUND_UP));
    }

    /// Adds 1 to a counter of the ring, by R1.
    fn count(&mut self, counter: usize) {
        self.load(Size::Double, R1, R7, counter as i16);
        self.push(Instruction::alu(Alu::Add, R1, 1));
        self.push(Instruction::store(Size::Double, R7, counter as i16, R1));
    }

    fn end(&mut self) {
        if self.turns_away() {
            self.code.place(self.ends.filtered);
            self.count(layout::FILTERED);
            self.code.jump(self.ends.done);
        }
        self.code.place(self.ends.dropped);
        self.count(layout::DROPPED);
        self.code.jump(self.ends.done);
        self.code.place(self.ends.stray);
        self.count_stray();
        self.code.place(self.ends.done);
        if self.plan.owned.is_some() {
            self.take_away_owned();
        }
        self.push(Instruction::mov(R0, self.verdict()));
        self.push(Instruction::exit());
    }

    /// True when some packets are not to be captured, by R8.
    fn turns_away(&self) -> bool {
        self.plan.predicate.is_some() || self.plan.owned.is_some()
    }

    /// Counts a packet without a ring in the first one, as others may do at the same time.
    fn count_stray(&mut self) {
        let kept = self.code.label();
        self.push(Instruction::store(Size::Word, R10, RING_NUMBER, 0));
        self.look_up(self.ends.done);
        self.push(Instruction::mov(R1, 1));
        if self.turns_away() {
            self.code.jump_if(Test::NotEqual, R8, 0, kept);
            self.count_atomically(layout::STRAY_FILTERED);
            self.code.jump(self.ends.done);
        }
        self.code.place(kept);
        self.count_atomically(layout::STRAY_DROPPED);
    }

    fn count_atomically(&mut self, counter: usize) {
        self.push(Instruction::atomic_add(Size::Double, R0, counter as i16, R1));
    }

    fn verdict(&self) -> i32 {
        match (self.plan.hook, self.plan.exclusive) {
            (Hook::Xdp, true) => XDP_DROP,
            (Hook::Xdp, false) => XDP_PASS,
            (Hook::Ingress | Hook::Egress, _) => TCX_NEXT,
        }
    }
}

/// Where a field of a record is, from the record's place in the data and the ring's beginning.
fn field(offset: usize) -> i16 {
    (layout::DATA + offset) as i16
}

#[cfg(test)]
mod tests;
