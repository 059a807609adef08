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

mod owned;

use std::os::fd::{AsRawFd, BorrowedFd};

use linerate_bpf::extended::{
    Alu, Assembler, Hook, Instruction, Label, Metadata, Predicate, Register, Size, Test, helper,
};
use linerate_sys::tap_ring::{Geometry, layout};

use super::driver::Driver;
use crate::Owned;

use Register::{R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10};

/// What a program is to do, and where.
pub(crate) struct Plan<'a> {
    pub(crate) hook: Hook,
    /// The system's number of the interface.
    pub(crate) interface: u32,
    /// The map of the rings, and their sizes.
    pub(crate) rings: BorrowedFd<'a>,
    pub(crate) geometry: Geometry,
    pub(crate) producers: Producers,
    pub(crate) predicate: Option<&'a Predicate>,
    /// Only frames to these addresses are captured, and the host does not get them.
    pub(crate) owned: Option<&'a Owned>,
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

/// Of how many packets in a row one is stamped by [`Stamps::Sampled`]: a power of two.
pub(crate) const SAMPLED_OF: i32 = 8;

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

/// Offsets in `struct xdp_md` of `linux/bpf.h`.
mod xdp_md {
    pub(super) const DATA: i16 = 0;
    pub(super) const DATA_END: i16 = 4;
    pub(super) const RX_QUEUE_INDEX: i16 = 16;
}

/// Offsets in `struct __sk_buff` of `linux/bpf.h`.
mod sk_buff {
    pub(super) const LEN: i16 = 0;
    pub(super) const PROTOCOL: i16 = 16;
    pub(super) const VLAN_PRESENT: i16 = 20;
    pub(super) const VLAN_TCI: i16 = 24;
    pub(super) const VLAN_PROTO: i16 = 28;
    pub(super) const DATA: i16 = 76;
    pub(super) const DATA_END: i16 = 80;
    pub(super) const HWTSTAMP: i16 = 184;
}

/// On the stack, below the metadata: the number of the ring, u32.
const RING_NUMBER: i16 = -24;
/// The record's flags, u32, where they are not the same for all packets.
const FLAGS: i16 = -32;
/// The VLAN tag that the driver took off: its control information and its protocol, u16 each.
const DRIVER_TCI: i16 = -36;
const DRIVER_PROTOCOL: i16 = -34;
/// The card's time, u64.
const CARD_TIME: i16 = -48;

/// `BPF_RB_FORCE_WAKEUP` of `linux/bpf.h`.
const FORCE_WAKEUP: i32 = 2;

/// `PACKET_OUTGOING` of `linux/if_packet.h`.
const PACKET_OUTGOING: i32 = 4;

/// The program for a plan.
pub(crate) fn assemble(plan: &Plan<'_>) -> Vec<Instruction> {
    let mut code = Assembler::new();
    let ends = Ends {
        foreign: code.label(),
        filtered: code.label(),
        dropped: code.label(),
        stray: code.label(),
        done: code.label(),
    };
    let mut writer = Writer { plan, code, ends };
    writer.measure();
    writer.tell_owned();
    writer.ask_for_tag();
    writer.filter();
    writer.find_ring();
    writer.find_room();
    writer.stamp();
    writer.describe();
    writer.copy();
    writer.publish();
    writer.ring_doorbell();
    writer.end();
    writer.code.finish().expect("every label is placed")
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
}

impl Writer<'_> {
    fn is_xdp(&self) -> bool {
        self.plan.hook == Hook::Xdp
    }

    fn push(&mut self, instruction: Instruction) {
        self.code.push(instruction);
    }

    fn load(&mut self, size: Size, dst: Register, base: Register, offset: i16) {
        self.push(Instruction::load(size, dst, base, offset));
    }

    /// R6 = context, R9 = length. Of an XDP frame the kernel is asked: to subtract the frame's ends
    /// would take CAP_PERFMON, and leave out further buffers.
    fn measure(&mut self) {
        self.push(Instruction::mov(R6, R1));
        if self.is_xdp() {
            self.push(Instruction::call(helper::XDP_GET_BUFF_LEN));
            self.push(Instruction::mov32(R9, R0));
        } else {
            self.load(Size::Word, R9, R6, sk_buff::LEN);
        }
    }

    /// Has the driver tell the tag that it took off; 0 and 0 for none.
    fn ask_for_tag(&mut self) {
        let Some(function) = self.plan.driver.vlan_tag else { return };
        self.push(Instruction::store(Size::Word, R10, DRIVER_TCI, 0));
        self.push(Instruction::mov(R1, R6));
        self.stack_address(R2, DRIVER_PROTOCOL);
        self.stack_address(R3, DRIVER_TCI);
        self.push(Instruction::call_kernel(function));
    }

    fn stack_address(&mut self, dst: Register, slot: i16) {
        self.push(Instruction::mov(dst, R10));
        self.push(Instruction::alu(Alu::Add, dst, i32::from(slot)));
    }

    /// R8 = verdict.
    fn filter(&mut self) {
        let Some(predicate) = self.plan.predicate else { return };
        let (start, end) = match self.plan.hook {
            Hook::Xdp => (xdp_md::DATA, xdp_md::DATA_END),
            Hook::Ingress | Hook::Egress => (sk_buff::DATA, sk_buff::DATA_END),
        };
        self.load(Size::Word, Predicate::START, R6, start);
        self.load(Size::Word, Predicate::END, R6, end);
        for word in predicate.needs() {
            self.tell(*word);
        }
        self.code.extend(predicate.instructions(self.plan.hook));
        self.push(Instruction::mov(R8, R0));
        if self.plan.owned.is_some() {
            self.keep_question();
        }
    }

    /// Writes what the filter needs to know beside the packet's bytes.
    fn tell(&mut self, word: Metadata) {
        let slot = word.slot();
        let known = match word {
            Metadata::InterfaceIndex => Some(self.plan.interface.cast_signed()),
            Metadata::PacketType if self.plan.hook == Hook::Egress => Some(PACKET_OUTGOING),
            Metadata::PacketType => Some(0),
            Metadata::VlanTag | Metadata::VlanPresent if self.has_no_tags() => Some(0),
            _ => None,
        };
        if let Some(known) = known {
            return self.push(Instruction::store(Size::Word, R10, slot, known));
        }
        match word {
            Metadata::VlanTag if self.is_xdp() => self.load(Size::Half, R1, R10, DRIVER_TCI),
            Metadata::VlanPresent if self.is_xdp() => self.driver_took_a_tag(),
            Metadata::VlanTag => self.load(Size::Word, R1, R6, sk_buff::VLAN_TCI),
            Metadata::VlanPresent => self.load(Size::Word, R1, R6, sk_buff::VLAN_PRESENT),
            _ => self.ether_type(),
        }
        self.push(Instruction::store(Size::Word, R10, slot, R1));
    }

    /// At the XDP hook, where all tags are among the bytes.
    fn has_no_tags(&self) -> bool {
        self.is_xdp() && self.plan.driver.vlan_tag.is_none()
    }

    /// R1 = 1 if it did, else 0.
    fn driver_took_a_tag(&mut self) {
        self.load(Size::Half, R1, R10, DRIVER_PROTOCOL);
        self.push(Instruction::neg(R1));
        self.push(Instruction::alu(Alu::Rsh, R1, 63));
    }

    /// R1 = the packet's EtherType; 0 where a frame is too short to have one.
    fn ether_type(&mut self) {
        if !self.is_xdp() {
            self.load(Size::Word, R1, R6, sk_buff::PROTOCOL);
            return self.push(Instruction::big_endian16(R1));
        }
        let short = self.code.label();
        self.push(Instruction::mov(R1, 0));
        self.push(Instruction::mov(R2, Predicate::START));
        self.push(Instruction::alu(Alu::Add, R2, 14));
        self.code.jump_if(Test::Greater, R2, Predicate::END, short);
        self.load(Size::Half, R1, Predicate::START, 12);
        self.push(Instruction::big_endian16(R1));
        self.code.place(short);
    }

    /// R7 = ring.
    fn find_ring(&mut self) {
        self.code.place(self.ends.foreign);
        match self.plan.producers {
            Producers::Queues => self.load(Size::Word, R0, R6, xdp_md::RX_QUEUE_INDEX),
            Producers::Cpus => self.push(Instruction::call(helper::GET_SMP_PROCESSOR_ID)),
        }
        self.push(Instruction::store(Size::Word, R10, RING_NUMBER, R0));
        self.look_up(self.ends.stray);
        self.push(Instruction::mov(R7, R0));
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

    /// R0 = time.
    fn stamp(&mut self) {
        match self.plan.stamps {
            Stamps::None => self.push(Instruction::mov(R0, 0)),
            Stamps::Each => self.push(Instruction::call(helper::KTIME_GET_NS)),
            Stamps::Card => self.take_cards_time(),
            Stamps::Sampled => self.sample(),
        }
    }

    /// Without a time of the card's, the record's flags say so.
    fn take_cards_time(&mut self) {
        let stamped = self.code.label();
        if self.plan.owned.is_none() {
            self.push(Instruction::store(Size::Word, R10, FLAGS, self.flags()));
        }
        if let Some(function) = self.plan.driver.timestamp {
            self.push(Instruction::store(Size::Double, R10, CARD_TIME, 0));
            self.push(Instruction::mov(R1, R6));
            self.stack_address(R2, CARD_TIME);
            self.push(Instruction::call_kernel(function));
            self.load(Size::Double, R0, R10, CARD_TIME);
        } else {
            self.load(Size::Double, R0, R6, sk_buff::HWTSTAMP);
        }
        self.code.jump_if(Test::NotEqual, R0, 0, stamped);
        self.load(Size::Word, R1, R10, FLAGS);
        self.push(Instruction::alu(Alu::Or, R1, BY_KERNEL));
        self.push(Instruction::store(Size::Word, R10, FLAGS, R1));
        self.push(Instruction::call(helper::KTIME_GET_NS));
        self.code.place(stamped);
    }

    /// What the record's flags say of every packet.
    fn flags(&self) -> u32 {
        if self.plan.hook == Hook::Egress { OUTGOING } else { 0 }
    }

    fn sample(&mut self) {
        let (read, stamped) = (self.code.label(), self.code.label());
        self.code.jump_if(Test::Equal, R4, 0, read);
        self.load(Size::Double, R1, R7, layout::CAPTURED as i16);
        self.push(Instruction::alu(Alu::And, R1, SAMPLED_OF - 1));
        self.code.jump_if(Test::Equal, R1, 0, read);
        // The kernel replaces this call by a load.
        self.push(Instruction::call(helper::JIFFIES64));
        self.load(Size::Double, R1, R7, layout::TICK as i16);
        self.code.jump_if(Test::NotEqual, R0, R1, read);
        self.load(Size::Double, R0, R7, layout::STAMP as i16);
        self.code.jump(stamped);
        self.code.place(read);
        self.push(Instruction::call(helper::JIFFIES64));
        self.push(Instruction::store(Size::Double, R7, layout::TICK as i16, R0));
        self.push(Instruction::call(helper::KTIME_GET_NS));
        self.push(Instruction::store(Size::Double, R7, layout::STAMP as i16, R0));
        self.code.place(stamped);
    }

    /// R5 = the record's place in the ring, its header written.
    fn describe(&mut self) {
        self.load(Size::Double, R5, R7, layout::OFFSET as i16);
        // Never so; but the verifier does not know.
        self.code.jump_if(Test::GreaterOrEqual, R5, self.plan.geometry.data, self.ends.dropped);
        self.push(Instruction::alu(Alu::Add, R5, R7));
        self.push(Instruction::store(Size::Double, R5, field(layout::TIME), R0));
        self.push(Instruction::store(Size::Word, R5, field(layout::CAPTURED_BYTES), R8));
        self.push(Instruction::store(Size::Word, R5, field(layout::LENGTH), R9));
        self.write_flags();
        self.describe_tag();
    }

    /// The tag beside the packet's bytes goes into the record's header, control information first.
    fn describe_tag(&mut self) {
        if self.has_no_tags() {
            return self.push(Instruction::store(Size::Word, R5, field(layout::VLAN_TCI), 0));
        }
        if self.is_xdp() {
            self.load(Size::Word, R1, R10, DRIVER_TCI);
            return self.push(Instruction::store(Size::Word, R5, field(layout::VLAN_TCI), R1));
        }
        self.load(Size::Word, R1, R6, sk_buff::VLAN_TCI);
        self.push(Instruction::store(Size::Half, R5, field(layout::VLAN_TCI), R1));
        // Without a tag the kernel keeps 0 here (`__vlan_hwaccel_clear_tag`, Linux 6.6).
        self.load(Size::Word, R1, R6, sk_buff::VLAN_PROTO);
        self.push(Instruction::store(Size::Half, R5, field(layout::VLAN_PROTOCOL), R1));
    }

    fn write_flags(&mut self) {
        if self.plan.owned.is_some() || self.plan.stamps == Stamps::Card {
            self.load(Size::Word, R1, R10, FLAGS);
            return self.push(Instruction::store(Size::Word, R5, field(layout::FLAGS), R1));
        }
        self.push(Instruction::store(Size::Word, R5, field(layout::FLAGS), self.flags()));
    }

    fn copy(&mut self) {
        self.push(Instruction::mov(R1, R6));
        self.push(Instruction::mov(R2, 0));
        self.push(Instruction::mov(R3, R5));
        self.push(Instruction::alu(Alu::Add, R3, i32::from(field(layout::PACKET))));
        self.push(Instruction::mov(R4, R8));
        self.push(Instruction::call(self.plan.hook.load_bytes()));
        // Some packets' bytes are in the memory of a device, and only there.
        self.code.jump_if(Test::NotEqual, R0, 0, self.ends.dropped);
    }

    /// R1 = new head. What comes before it is there for who sees the head: in what order another
    /// processor sees plain stores, x86 promises; elsewhere an atomic operation does.
    fn publish(&mut self) {
        let inside = self.code.label();
        self.record_size(R3);
        self.load(Size::Double, R1, R7, layout::OFFSET as i16);
        self.push(Instruction::alu(Alu::Add, R1, R3));
        self.code.jump_if(Test::Less, R1, self.plan.geometry.data, inside);
        self.push(Instruction::mov(R1, 0));
        self.code.place(inside);
        self.push(Instruction::store(Size::Double, R7, layout::OFFSET as i16, R1));
        self.count(layout::CAPTURED);
        if cfg!(target_arch = "x86_64") {
            self.load(Size::Double, R1, R7, layout::HEAD as i16);
            self.push(Instruction::alu(Alu::Add, R1, R3));
            self.push(Instruction::store(Size::Double, R7, layout::HEAD as i16, R1));
        } else {
            self.push(Instruction::mov(R1, R3));
            self.push(Instruction::atomic_fetch_add(Size::Double, R7, layout::HEAD as i16, R1));
            self.push(Instruction::alu(Alu::Add, R1, R3));
        }
    }

    /// Adds 1 to a counter of the ring, by R1.
    fn count(&mut self, counter: usize) {
        self.load(Size::Double, R1, R7, counter as i16);
        self.push(Instruction::alu(Alu::Add, R1, 1));
        self.push(Instruction::store(Size::Double, R7, counter as i16, R1));
    }

    /// Wakes the consumer if it asked to be woken at a head that is reached now, once.
    fn ring_doorbell(&mut self) {
        self.load(Size::Double, R2, R7, layout::WAKE_AT as i16);
        self.code.jump_if(Test::Less, R1, R2, self.ends.done);
        self.load(Size::Double, R1, R7, layout::RUNG as i16);
        self.code.jump_if(Test::Equal, R1, R2, self.ends.done);
        self.push(Instruction::store(Size::Double, R7, layout::RUNG as i16, R2));
        let consumers = self.plan.doorbells.len();
        if consumers > 1 {
            self.load(Size::Word, R5, R10, RING_NUMBER);
            self.push(Instruction::alu(Alu::Mod, R5, consumers as i32));
        }
        for (consumer, doorbell) in self.plan.doorbells.iter().enumerate() {
            let other = self.code.label();
            if consumer + 1 < consumers {
                self.code.jump_if(Test::NotEqual, R5, consumer as i32, other);
            }
            self.code.extend(Instruction::load_map(R1, doorbell.as_raw_fd()));
            self.push(Instruction::mov(R2, R7));
            self.push(Instruction::mov(R3, size_of::<u64>() as i32));
            self.push(Instruction::mov(R4, FORCE_WAKEUP));
            self.push(Instruction::call(helper::RINGBUF_OUTPUT));
            self.code.jump(self.ends.done);
            self.code.place(other);
        }
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
