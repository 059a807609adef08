//! The program at the XDP hook: counts, filters, stamps, and hands packets over to the sockets.

use std::os::fd::{AsFd, AsRawFd};

use linerate_bpf::extended::Register::{R0, R1, R2, R3, R6, R7, R8, R9, R10};
use linerate_bpf::extended::{
    Alu, Assembler, Hook, Instruction, Label, Predicate, Size, Test, helper,
};
use linerate_sys::bpf::Map;

use crate::hook::{DRIVER_TAG, Site, xdp_md};

/// What the program does with packets.
pub(super) struct Program<'a> {
    /// One [`Counters`](super::inlet::Counters) for each queue.
    pub(super) counters: &'a Map,
    /// One socket for each queue.
    pub(super) sockets: &'a Map,
    pub(super) filter: Option<&'a Predicate>,
    /// See [`Site::vlan_tag`].
    pub(super) vlan_tag: Option<u32>,
    /// Packets that the filter turns away are dropped instead of passed to the host.
    pub(super) is_exclusive: bool,
}

/// What stands right before the packet: bytes in all, and how far before the packet each part begins.
pub(super) mod metadata {
    pub(crate) const LENGTH: usize = 16;
    /// The VLAN tag that the driver took off: control information, u16, and protocol, u16 in network
    /// byte order; 0 for none.
    pub(crate) const TAG_CONTROL: usize = 16;
    pub(crate) const TAG_PROTOCOL: usize = 14;
    /// `CLOCK_MONOTONIC`, nanoseconds, u64.
    pub(crate) const STAMP: usize = 8;
}

/// Offsets in a queue's counters.
pub(super) const SEEN: i16 = 0;
pub(super) const MATCHED: i16 = 8;

/// `enum xdp_action` of `linux/bpf.h`.
const XDP_DROP: i32 = 1;
const XDP_PASS: i32 = 2;

/// On the stack, below the filter's metadata: the queue's number, the address of its counters.
const QUEUE_SLOT: i16 = -24;
const COUNTERS_SLOT: i16 = -32;

impl Program<'_> {
    /// The program's instructions, encoded.
    pub(super) fn assemble(&self) -> Vec<u64> {
        let mut code = Assembler::new();
        let pass = code.label();
        code.push(Instruction::mov(R6, R1));
        self.count_seen(&mut code, pass);
        self.site().ask_for_tag(&mut code);
        self.apply_filter(&mut code, pass);
        count(&mut code, MATCHED);
        self.write_metadata(&mut code);
        self.redirect(&mut code);
        code.place(pass);
        code.extend([Instruction::mov(R0, self.verdict()), Instruction::exit()]);
        let program = code.finish().expect("every label is placed");
        program.iter().map(Instruction::encode).collect()
    }
}

impl Program<'_> {
    /// Finds the queue's counters and counts the packet; a queue without counters is not captured.
    fn count_seen(&self, code: &mut Assembler, pass: Label) {
        code.extend([
            Instruction::load(Size::Word, R1, R6, xdp_md::RX_QUEUE_INDEX),
            Instruction::store(Size::Word, R10, QUEUE_SLOT, R1),
            Instruction::mov(R2, R10),
            Instruction::alu(Alu::Add, R2, i32::from(QUEUE_SLOT)),
        ]);
        code.extend(load_map(self.counters));
        code.push(Instruction::call(helper::MAP_LOOKUP_ELEM));
        code.jump_if(Test::Equal, R0, 0, pass);
        code.push(Instruction::store(Size::Double, R10, COUNTERS_SLOT, R0));
        count(code, SEEN);
    }

    fn site(&self) -> Site {
        Site { hook: Hook::Xdp, vlan_tag: self.vlan_tag }
    }

    fn apply_filter(&self, code: &mut Assembler, pass: Label) {
        let Some(filter) = self.filter else { return };
        self.site().measure(code);
        self.site().find_bounds(code);
        filter.needs().iter().for_each(|&word| self.site().describe(code, word));
        code.extend(filter.instructions(Hook::Xdp));
        code.jump_if(Test::Equal, R0, 0, pass);
    }

    /// Puts time and tag before the packet. Where the driver leaves no room for metadata there are none.
    fn write_metadata(&self, code: &mut Assembler) {
        let before = |part: usize| (metadata::LENGTH - part) as i16;
        let no_room = code.label();
        code.extend([
            Instruction::call(helper::KTIME_GET_NS),
            Instruction::mov(R9, R0),
            Instruction::mov(R1, R6),
            Instruction::mov(R2, -(metadata::LENGTH as i32)),
            Instruction::call(helper::XDP_ADJUST_META),
        ]);
        code.jump_if(Test::NotEqual, R0, 0, no_room);
        code.extend([
            Instruction::load(Size::Word, R7, R6, xdp_md::DATA_META),
            Instruction::load(Size::Word, R8, R6, xdp_md::DATA),
            Instruction::mov(R1, R7),
            Instruction::alu(Alu::Add, R1, metadata::LENGTH as i32),
        ]);
        code.jump_if(Test::Greater, R1, R8, no_room);
        code.push(Instruction::store(Size::Double, R7, before(metadata::STAMP), R9));
        code.push(match self.vlan_tag {
            Some(_) => Instruction::load(Size::Word, R1, R10, DRIVER_TAG),
            None => Instruction::mov(R1, 0),
        });
        code.push(Instruction::store(Size::Word, R7, before(metadata::TAG_CONTROL), R1));
        code.place(no_room);
    }

    /// Returns what the kernel says of the redirection; without a socket, the verdict of `pass`.
    fn redirect(&self, code: &mut Assembler) {
        code.push(Instruction::load(Size::Word, R2, R6, xdp_md::RX_QUEUE_INDEX));
        code.extend(load_map(self.sockets));
        code.extend([
            Instruction::mov(R3, self.verdict()),
            Instruction::call(helper::REDIRECT_MAP),
            Instruction::exit(),
        ]);
    }

    /// For packets that do not go to a socket.
    fn verdict(&self) -> i32 {
        if self.is_exclusive { XDP_DROP } else { XDP_PASS }
    }
}

fn load_map(map: &Map) -> [Instruction; 2] {
    Instruction::load_map(R1, map.as_fd().as_raw_fd())
}

/// Adds 1 to one of the queue's counters, which are each CPU's own.
fn count(code: &mut Assembler, counter: i16) {
    code.extend([
        Instruction::load(Size::Double, R1, R10, COUNTERS_SLOT),
        Instruction::load(Size::Double, R2, R1, counter),
        Instruction::alu(Alu::Add, R2, 1),
        Instruction::store(Size::Double, R1, counter, R2),
    ]);
}
