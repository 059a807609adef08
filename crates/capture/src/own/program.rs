//! The piece of a tap's program that knows frames to owned addresses and ports.

use std::os::fd::{AsFd, AsRawFd};

use linerate_bpf::extended::Register::{R0, R1, R2, R3, R4, R6, R7, R8, R10};
use linerate_bpf::extended::{
    Alu, Assembler, Hook, Instruction, Label, Register, Size, Test, helper,
};
use linerate_sys::bpf::Map;

use super::{Maps, WHOLE};

/// What the piece finds out of a frame, in R0: nothing of ours.
pub(crate) const FOREIGN: i32 = 0;
/// It may be about something of ours, or of the host's: who has some ports of an address gets its ICMP, too.
pub(crate) const SHARED: i32 = 1;
/// It is sent to an owned address, or port.
pub(crate) const OWNED: i32 = 2;
/// It asks for the hardware address of an owned address.
pub(crate) const QUESTION: i32 = 3;

/// EtherTypes (IEEE 802 numbers of IANA).
const IPV4: i32 = 0x0800;
const ARP: i32 = 0x0806;
const IPV6: i32 = 0x86dd;
const VLAN: [i32; 2] = [0x8100, 0x88a8];

/// VLAN tags that are looked behind.
const TAGS: usize = 2;
/// Where the EtherType is in a frame without tags, and how long it is.
const ETHER_TYPE: i32 = 12;
const TYPE_LENGTH: i32 = 2;

/// Offsets in headers: RFC 791, 3.1; RFC 8200, 3; RFC 4861, 4.3.
const IPV4_HEAD: i32 = 10;
const IPV4_FRAGMENT: i16 = 6;
const IPV4_PROTOCOL: i16 = 9;
const IPV4_DESTINATION: i32 = 16;
const IPV6_NEXT_HEADER: i32 = 6;
const IPV6_DESTINATION: i32 = 24;
const IPV6_PAYLOAD: i32 = 40;
const ICMPV6: i32 = 58;
/// Protocols (IANA), and where TCP (RFC 9293, 3.1) and UDP (RFC 768) have the destination's port.
const ICMP: i32 = 1;
const TCP: i32 = 6;
const UDP: i32 = 17;
const PORT: i32 = 2;
const SOLICITATION: i32 = 135;
const SOLICITATION_LENGTH: i32 = 24;
const SOLICITATION_TARGET: i16 = 8;

/// ARP for IPv4 over Ethernet: RFC 826. Types and lengths of its addresses, as it begins.
const ARP_BEGINNING: i32 = 0x0001_0800;
const ARP_LENGTHS: i32 = 0x0604;
const ARP_LENGTH: i32 = 28;
const ARP_OPERATION: i16 = 6;
const ARP_REQUEST: i32 = 1;
const ARP_TARGET: i16 = 24;

/// Places on the stack, in the part that the filter has later: what was read of the frame; a number
/// of bits; and right behind it, at a multiple of 8, the address.
const READ: i16 = -224;
const KEY: i16 = -180;
const ADDRESS: i16 = KEY + 4;

/// Writes the piece for a hook. R6 is the context; R0 to R5, R7, R8 and the filter's part of the stack
/// are destroyed. Control leaves it at its end, with R0 as above.
///
/// It reads by the hook's load helper, wherever in memory the bytes are.
pub(crate) fn write(code: &mut Assembler, hook: Hook, maps: &Maps) {
    let labels = Labels {
        ipv4: code.label(),
        ipv6: code.label(),
        arp: code.label(),
        transport: code.label(),
        shared: code.label(),
        owned: code.label(),
        question: code.label(),
        foreign: code.label(),
    };
    let end = code.label();
    let mut writer = Writer { code, hook, maps, labels };
    writer.dispatch();
    writer.ipv4();
    writer.arp();
    writer.ipv6();
    writer.transport();
    writer.result(writer.labels.shared, SHARED, end);
    writer.result(writer.labels.owned, OWNED, end);
    writer.result(writer.labels.question, QUESTION, end);
    writer.result(writer.labels.foreign, FOREIGN, end);
    code.place(end);
}

/// What a frame turns out to be.
struct Labels {
    ipv4: Label,
    ipv6: Label,
    arp: Label,
    transport: Label,
    shared: Label,
    owned: Label,
    question: Label,
    foreign: Label,
}

struct Writer<'a> {
    code: &'a mut Assembler,
    hook: Hook,
    maps: &'a Maps,
    labels: Labels,
}

impl Writer<'_> {
    fn push(&mut self, instruction: Instruction) {
        self.code.push(instruction);
    }

    fn result(&mut self, label: Label, result: i32, end: Label) {
        self.code.place(label);
        self.push(Instruction::mov(R0, result));
        self.code.jump(end);
    }

    /// Reads `length` bytes, `offset` behind R7, to `place`.
    fn read(&mut self, offset: i32, length: i32, place: i16, past_end: Label) {
        self.code.extend([
            Instruction::mov(R1, R6),
            Instruction::mov(R2, R7),
            Instruction::alu(Alu::Add, R2, offset),
            Instruction::mov(R3, R10),
            Instruction::alu(Alu::Add, R3, i32::from(place)),
            Instruction::mov(R4, length),
            Instruction::call(self.hook.load_bytes()),
        ]);
        self.code.jump_if(Test::NotEqual, R0, 0, past_end);
    }

    /// `dst` = bytes of the stack, as a number in network byte order.
    fn load(&mut self, size: Size, dst: Register, place: i16) {
        self.push(Instruction::load(size, dst, R10, place));
        match size {
            Size::Half => self.push(Instruction::big_endian16(dst)),
            Size::Word => self.push(Instruction::big_endian32(dst)),
            Size::Byte | Size::Double => {}
        }
    }

    /// R0 = where the map has something for the address on the stack, or 0.
    fn look_up(&mut self, map: &Map, bits: i32) {
        self.push(Instruction::store(Size::Word, R10, KEY, bits));
        self.code.extend(Instruction::load_map(R1, map.as_fd().as_raw_fd()));
        self.push(Instruction::mov(R2, R10));
        self.push(Instruction::alu(Alu::Add, R2, i32::from(KEY)));
        self.push(Instruction::call(helper::MAP_LOOKUP_ELEM));
    }

    /// Leaves R7 behind the EtherType.
    fn dispatch(&mut self) {
        self.push(Instruction::mov(R7, ETHER_TYPE + TYPE_LENGTH));
        for tags in 0..=TAGS {
            self.read(-TYPE_LENGTH, TYPE_LENGTH, READ, self.labels.foreign);
            self.load(Size::Half, R1, READ);
            self.code.jump_if(Test::Equal, R1, IPV4, self.labels.ipv4);
            self.code.jump_if(Test::Equal, R1, IPV6, self.labels.ipv6);
            self.code.jump_if(Test::Equal, R1, ARP, self.labels.arp);
            if tags < TAGS {
                let tag = self.code.label();
                self.code.jump_if(Test::Equal, R1, VLAN[0], tag);
                self.code.jump_if(Test::NotEqual, R1, VLAN[1], self.labels.foreign);
                self.code.place(tag);
                self.push(Instruction::alu(Alu::Add, R7, 4));
            }
        }
        self.code.jump(self.labels.foreign);
    }

    fn ipv4(&mut self) {
        self.code.place(self.labels.ipv4);
        self.read(IPV4_DESTINATION, 4, ADDRESS, self.labels.foreign);
        self.look_up(&self.maps.ipv4, 32);
        self.tell_whole();
        self.read(0, IPV4_HEAD, READ, self.labels.foreign);
        self.load(Size::Half, R1, READ + IPV4_FRAGMENT);
        self.push(Instruction::alu(Alu::And, R1, 0x1fff));
        self.code.jump_if(Test::NotEqual, R1, 0, self.labels.foreign);
        self.load(Size::Byte, R1, READ);
        self.push(Instruction::alu(Alu::And, R1, 0x0f));
        self.push(Instruction::alu(Alu::Lsh, R1, 2));
        self.push(Instruction::alu(Alu::Add, R7, R1));
        self.load(Size::Byte, R1, READ + IPV4_PROTOCOL);
        self.code.jump(self.labels.transport);
    }

    /// Of R0, where the map has something for the destination: done with it, unless ports are owned only. These are in R8 then.
    fn tell_whole(&mut self) {
        self.code.jump_if(Test::Equal, R0, 0, self.labels.foreign);
        self.push(Instruction::load(Size::Word, R8, R0, 0));
        self.code.jump_if(Test::Equal, R8, WHOLE, self.labels.owned);
    }

    /// Of a packet's protocol in R1, with its header at R7, and the owned ports in R8.
    fn transport(&mut self) {
        let has_ports = self.code.label();
        self.code.place(self.labels.transport);
        self.code.jump_if(Test::Equal, R1, ICMP, self.labels.shared);
        self.code.jump_if(Test::Equal, R1, ICMPV6, self.labels.shared);
        self.code.jump_if(Test::Equal, R1, TCP, has_ports);
        self.code.jump_if(Test::NotEqual, R1, UDP, self.labels.foreign);
        self.code.place(has_ports);
        self.read(PORT, 2, READ, self.labels.foreign);
        self.load(Size::Half, R1, READ);
        self.push(Instruction::mov(R2, R8));
        self.push(Instruction::alu(Alu::And, R2, 0xffff));
        self.code.jump_if(Test::Less, R1, R2, self.labels.foreign);
        self.push(Instruction::alu(Alu::Rsh, R8, 16));
        self.code.jump_if(Test::Greater, R1, R8, self.labels.foreign);
        self.code.jump(self.labels.owned);
    }

    /// Whatever ARP says of an owned address is ours, and a request a question, too.
    fn arp(&mut self) {
        self.code.place(self.labels.arp);
        self.read(0, ARP_LENGTH, READ, self.labels.foreign);
        self.load(Size::Word, R1, READ);
        self.code.jump_if(Test::NotEqual, R1, ARP_BEGINNING, self.labels.foreign);
        self.load(Size::Half, R1, READ + 4);
        self.code.jump_if(Test::NotEqual, R1, ARP_LENGTHS, self.labels.foreign);
        self.push(Instruction::load(Size::Word, R1, R10, READ + ARP_TARGET));
        self.push(Instruction::store(Size::Word, R10, ADDRESS, R1));
        self.load(Size::Half, R8, READ + ARP_OPERATION);
        self.look_up(&self.maps.ipv4, 32);
        self.code.jump_if(Test::Equal, R0, 0, self.labels.foreign);
        self.push(Instruction::load(Size::Word, R1, R0, 0));
        self.code.jump_if(Test::NotEqual, R1, WHOLE, self.labels.foreign);
        self.code.jump_if(Test::Equal, R8, ARP_REQUEST, self.labels.question);
        self.code.jump(self.labels.owned);
    }

    /// A solicitation may be sent to the owned address itself, too. Falls through to [`transport`](Self::transport).
    fn ipv6(&mut self) {
        let other = self.code.label();
        self.code.place(self.labels.ipv6);
        self.read(IPV6_NEXT_HEADER, 1, READ, self.labels.foreign);
        self.load(Size::Byte, R1, READ);
        self.code.jump_if(Test::NotEqual, R1, ICMPV6, other);
        self.read(IPV6_PAYLOAD, SOLICITATION_LENGTH, READ, other);
        self.load(Size::Byte, R1, READ);
        self.code.jump_if(Test::NotEqual, R1, SOLICITATION, other);
        for half in [0, 8] {
            let place = READ + SOLICITATION_TARGET + half;
            self.push(Instruction::load(Size::Double, R1, R10, place));
            self.push(Instruction::store(Size::Double, R10, ADDRESS + half, R1));
        }
        self.look_up(&self.maps.ipv6, 128);
        self.code.jump_if(Test::Equal, R0, 0, other);
        self.push(Instruction::load(Size::Word, R1, R0, 0));
        self.code.jump_if(Test::Equal, R1, WHOLE, self.labels.question);
        self.code.place(other);
        self.read(IPV6_DESTINATION, 16, ADDRESS, self.labels.foreign);
        self.look_up(&self.maps.ipv6, 128);
        self.tell_whole();
        self.read(IPV6_NEXT_HEADER, 1, READ, self.labels.foreign);
        self.load(Size::Byte, R1, READ);
        self.push(Instruction::alu(Alu::Add, R7, IPV6_PAYLOAD));
    }
}

#[cfg(test)]
mod tests {
    use linerate_sys::bpf::{Program, ProgramKind, ProgramSpec, TestRun};

    use super::*;
    use crate::Owned;

    /// A program that returns what the piece finds.
    fn load(hook: Hook, owned: &Owned) -> Program {
        let mut code = Assembler::new();
        code.push(Instruction::mov(R6, R1));
        write(&mut code, hook, owned.maps());
        code.push(Instruction::exit());
        let words: Vec<_> = code.finish().unwrap().iter().map(Instruction::encode).collect();
        let kind = if hook == Hook::Xdp { ProgramKind::Xdp } else { ProgramKind::Classifier };
        Program::load(&ProgramSpec::new(kind, &words, "owned")).unwrap_or_else(|e| panic!("{e}"))
    }

    fn frame(tags: usize, ether_type: u16, payload: &[u8]) -> Vec<u8> {
        let tags = [[0x81, 0, 0, 7], [0x88, 0xa8, 0, 8], [0x81, 0, 0, 9]][..tags].concat();
        let mut frame = [&[2; 12][..], &tags, &ether_type.to_be_bytes(), payload].concat();
        frame.resize(frame.len().max(60), 0);
        frame
    }

    fn ipv4(to: [u8; 4]) -> Vec<u8> {
        [&[0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1][..], &to, &[0; 20]].concat()
    }

    fn arp(operation: u8, target: [u8; 4]) -> Vec<u8> {
        [&[0, 1, 8, 0, 6, 4, 0, operation][..], &[3; 16], &target].concat()
    }

    fn ipv6(next: u8, to: u8, kind: u8, target: u8) -> Vec<u8> {
        let address = |last: u8| [&[0xfd, 0][..], &[0; 13], &[last]].concat();
        let header = [&[0x60, 0, 0, 0, 0, 24, next, 255][..], &address(1), &address(to)].concat();
        [header, vec![kind, 0, 0, 0, 0, 0, 0, 0], address(target)].concat()
    }

    #[test]
    fn the_kernel_knows_frames_to_owned_addresses_at_both_hooks() {
        if !linerate_lab::need::root() {
            return;
        }
        let prefixes = ["10.0.0.64/26".parse().unwrap(), "fd00::77".parse().unwrap()];
        let owned = Owned::new(&prefixes).unwrap();
        let cases = [
            (frame(0, 0x0800, &ipv4([10, 0, 0, 77])), OWNED),
            (frame(1, 0x0800, &ipv4([10, 0, 0, 77])), OWNED),
            (frame(2, 0x0800, &ipv4([10, 0, 0, 77])), OWNED),
            (frame(3, 0x0800, &ipv4([10, 0, 0, 77])), FOREIGN),
            (frame(0, 0x0800, &ipv4([10, 0, 0, 63])), FOREIGN),
            (frame(0, 0x0806, &arp(1, [10, 0, 0, 64])), QUESTION),
            (frame(2, 0x0806, &arp(1, [10, 0, 0, 64])), QUESTION),
            (frame(0, 0x0806, &arp(2, [10, 0, 0, 64])), OWNED),
            (frame(0, 0x0806, &arp(1, [10, 0, 0, 1])), FOREIGN),
            (frame(0, 0x0806, &[0; 28]), FOREIGN),
            (frame(0, 0x86dd, &ipv6(17, 0x77, 135, 0x77)), OWNED),
            (frame(0, 0x86dd, &ipv6(17, 0x78, 135, 0x77)), FOREIGN),
            (frame(1, 0x86dd, &ipv6(58, 0x78, 135, 0x77)), QUESTION),
            (frame(0, 0x86dd, &ipv6(58, 0x77, 135, 0x77)), QUESTION),
            (frame(0, 0x86dd, &ipv6(58, 0x77, 136, 0x78)), OWNED),
            (frame(0, 0x86dd, &ipv6(58, 0x78, 128, 0x77)), FOREIGN),
            (frame(0, 0x88b5, &[9; 46]), FOREIGN),
        ];
        for hook in [Hook::Xdp, Hook::Ingress] {
            let program = load(hook, &owned);
            for (frame, expected) in &cases {
                let found = program.test_run(&TestRun::once(frame)).unwrap().verdict;
                assert_eq!(found.cast_signed(), *expected, "{hook:?} {frame:02x?}");
            }
        }
        assert!(owned.remove(prefixes[0]).unwrap());
        let found = load(Hook::Xdp, &owned).test_run(&TestRun::once(&cases[0].0)).unwrap();
        assert_eq!(found.verdict.cast_signed(), FOREIGN);
    }

    /// A packet to 10.0.0.`to` with a header of `words` words, this fragment's field, and bytes behind it.
    fn packet(to: u8, words: u8, fragment: u16, protocol: u8, behind: &[u8]) -> Vec<u8> {
        let fragment = fragment.to_be_bytes();
        let head = [0x40 | words, 0, 0, 40, 0, 0, fragment[0], fragment[1], 64, protocol, 0, 0];
        let options = vec![1; 4 * (usize::from(words) - 5)];
        frame(0, 0x0800, &[&head[..], &[10, 0, 0, 1, 10, 0, 0, to], &options, behind].concat())
    }

    /// A packet to fd00::`to`.
    fn packet6(to: u8, next: u8, behind: &[u8]) -> Vec<u8> {
        let header = &ipv6(next, to, 0, 0)[..40];
        frame(1, 0x86dd, &[header, behind].concat())
    }

    fn port(number: u16) -> [u8; 8] {
        let [high, low] = number.to_be_bytes();
        [0, 80, high, low, 0, 8, 0, 0]
    }

    #[test]
    fn of_ports_the_kernel_knows_those_and_leaves_the_host_its_own() {
        if !linerate_lab::need::root() {
            return;
        }
        let owned = Owned::new(&["10.0.0.64/26".parse().unwrap()]).unwrap();
        owned.insert_ports("10.0.0.2".parse().unwrap(), 40_000..=40_009).unwrap();
        owned.insert_ports("10.0.0.77".parse().unwrap(), 7..=7).unwrap();
        owned.insert_ports("fd00::2".parse().unwrap(), 40_000..=40_009).unwrap();
        let mut cases = vec![
            (packet(77, 5, 0, 6, &port(8)), FOREIGN),
            (packet(77, 5, 0, 6, &port(7)), OWNED),
            (packet(78, 5, 0, 6, &port(8)), OWNED),
            (packet(2, 5, 0x4000, 6, &port(40_000)), OWNED),
            (packet(2, 15, 0x2000, 17, &port(40_000)), OWNED),
            (packet(2, 15, 0x2001, 17, &port(40_000)), FOREIGN),
            (packet(2, 5, 0, 47, &port(40_000)), FOREIGN),
            (packet(2, 5, 0, 1, &[3; 8]), SHARED),
            (packet(3, 5, 0, 1, &[3; 8]), FOREIGN),
            (packet(2, 5, 0, 6, &port(40_000))[..36].to_vec(), FOREIGN),
            (frame(0, 0x0806, &arp(1, [10, 0, 0, 2])), FOREIGN),
            (frame(0, 0x0806, &arp(1, [10, 0, 0, 77])), FOREIGN),
            (frame(0, 0x0806, &arp(1, [10, 0, 0, 78])), QUESTION),
            (packet6(2, 58, &[1; 8]), SHARED),
            (packet6(3, 58, &[1; 8]), FOREIGN),
            // The host's own question and answer.
            (frame(0, 0x86dd, &ipv6(58, 2, 135, 2)), SHARED),
            (frame(0, 0x86dd, &ipv6(58, 3, 135, 2)), FOREIGN),
            (packet6(2, 44, &port(40_000)), FOREIGN),
        ];
        for (number, found) in
            [(39_999, FOREIGN), (40_000, OWNED), (40_009, OWNED), (40_010, FOREIGN), (80, FOREIGN)]
        {
            for protocol in [6, 17] {
                cases.push((packet(2, 6, 0, protocol, &port(number)), found));
                cases.push((packet6(2, protocol, &port(number)), found));
            }
        }
        for hook in [Hook::Xdp, Hook::Ingress] {
            let program = load(hook, &owned);
            for (frame, expected) in &cases {
                let found = program.test_run(&TestRun::once(frame)).unwrap().verdict;
                assert_eq!(found.cast_signed(), *expected, "{hook:?} {frame:02x?}");
            }
        }
    }
}
