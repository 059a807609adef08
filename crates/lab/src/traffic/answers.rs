//! A host that answers in its driver: every address behind it is a server.
//!
//! A program at the receiving interface's XDP hook turns a packet into its answer and sends it back, without a socket buffer
//! and without a process. So what is measured of a client is the client, and not who answers it.

use std::os::fd::{AsFd, AsRawFd};

use linerate_base::Result;
use linerate_bpf::extended::{Alu, Assembler, Instruction, Label, Register, Size, Test, helper};
use linerate_sys::bpf::{Link, Map, MapSpec, Program, ProgramKind, ProgramSpec, XdpMode};

use crate::Host;
use Register::{R0, R1, R2, R3, R6, R7, R8, R9};

/// Answers all that comes to a host's interface over IPv4 without options: a SYN with SYN-ACK, a query of DNS with an address,
/// 192.0.2.1. Other TCP segments are dropped, and the rest goes to the host's stack. Once dropped, the host gets all its
/// packets again.
///
/// The interface at the other end needs GRO switched on to take the answers.
#[derive(Debug)]
pub struct Answers {
    counts: Map,
    _link: Link,
}

const NAME: &str = "linerate_answers";
/// The one key of the map.
const KEY: [u8; 4] = [0; 4];

/// `enum xdp_action`.
const XDP_DROP: i32 = 1;
const XDP_PASS: i32 = 2;

/// Offsets in `struct xdp_md`.
const DATA: i16 = 0;
const DATA_END: i16 = 4;

/// Offsets in a frame with an IPv4 header without options.
mod at {
    pub(super) const ETHER_TYPE: i16 = 12;
    pub(super) const VERSION: i16 = 14;
    pub(super) const IP_LENGTH: i16 = 16;
    pub(super) const IP_CHECKSUM: i16 = 24;
    pub(super) const PROTOCOL: i16 = 23;
    pub(super) const ADDRESSES: [i16; 2] = [26, 30];
    pub(super) const PORTS: [i16; 2] = [34, 36];
    pub(super) const SEQ: i16 = 38;
    pub(super) const ACK: i16 = 42;
    pub(super) const CONTROL: i16 = 47;
    pub(super) const TCP_CHECKSUM: i16 = 50;
    pub(super) const UDP_LENGTH: i16 = 38;
    pub(super) const UDP_CHECKSUM: i16 = 40;
    pub(super) const DNS_FLAGS: i16 = 44;
    pub(super) const ANSWER_COUNT: i16 = 48;
    pub(super) const ADDITIONAL_COUNT: i16 = 52;
}

/// Bytes to the end of a TCP header without options, and of a DNS header.
const HEADERS: i32 = 54;
/// The longest frame that is answered.
const LONGEST: i32 = 1_400;
const SYN: i32 = 2;
const SYN_ACK: i32 = 0x12;

/// An address record for the name at the beginning of the question, for a minute (RFC 1035 4.1.3).
const RECORD: [u8; 16] = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1];

impl Answers {
    /// Begins to answer at the host's interface.
    ///
    /// # Errors
    /// Without root; when the interface has an XDP program already, or its MTU is too large for one.
    pub fn start(host: &Host) -> Result<Self> {
        let counts = Map::new(&MapSpec::array(NAME, 8, 1))?;
        let index = host.interface_index();
        let program = load(&counts, index)?;
        let link = host.run(|| Link::xdp(&program, index, XdpMode::Native))?;
        Ok(Self { counts, _link: link })
    }

    /// How many packets were answered so far.
    ///
    /// # Errors
    /// When the process has given up its privileges.
    pub fn count(&self) -> Result<u64> {
        let value = self.counts.lookup(&KEY)?.unwrap_or_default();
        Ok(value.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes)))
    }
}

fn load(counts: &Map, interface: u32) -> Result<Program> {
    let program = assemble(counts.as_fd().as_raw_fd(), interface);
    let words: Vec<_> = program.iter().map(Instruction::encode).collect();
    Ok(Program::load(&ProgramSpec::new(ProgramKind::Xdp, &words, NAME))?)
}

/// Registers throughout: R6 context, R7 frame, R8 its end, R9 its length.
fn assemble(counts: i32, interface: u32) -> Vec<Instruction> {
    let mut p = Assembler::new();
    let [pass, drop, udp] = [p.label(), p.label(), p.label()];
    p.push(Instruction::mov(R6, R1));
    load_frame(&mut p);
    p.push(Instruction::mov(R9, R8));
    p.push(Instruction::alu(Alu::Sub, R9, R7));
    check_room(&mut p, HEADERS, pass);
    p.push(Instruction::load(Size::Half, R1, R7, at::ETHER_TYPE));
    p.jump_if(Test::NotEqual, R1, i32::from(0x0800_u16.to_be()), pass);
    p.push(Instruction::load(Size::Byte, R1, R7, at::VERSION));
    p.jump_if(Test::NotEqual, R1, 0x45, pass);
    p.push(Instruction::load(Size::Byte, R1, R7, at::PROTOCOL));
    p.jump_if(Test::Equal, R1, 17, udp);
    p.jump_if(Test::NotEqual, R1, 6, pass);
    p.push(Instruction::load(Size::Byte, R1, R7, at::CONTROL));
    p.jump_if(Test::NotEqual, R1, SYN, drop);
    turn_round(&mut p);
    accept(&mut p);
    count_and_send(&mut p, counts, interface);
    p.place(udp);
    p.push(Instruction::load(Size::Half, R1, R7, at::PORTS[1]));
    p.jump_if(Test::NotEqual, R1, i32::from(53_u16.to_be()), pass);
    p.push(Instruction::load(Size::Byte, R1, R7, at::DNS_FLAGS));
    p.jump_if(Test::Greater, R1, 0x7f, pass);
    turn_round(&mut p);
    resolve(&mut p, drop);
    count_and_send(&mut p, counts, interface);
    p.place(drop);
    p.extend([Instruction::mov(R0, XDP_DROP), Instruction::exit()]);
    p.place(pass);
    p.extend([Instruction::mov(R0, XDP_PASS), Instruction::exit()]);
    p.finish().expect("every label is placed")
}

fn load_frame(p: &mut Assembler) {
    p.push(Instruction::load(Size::Word, R7, R6, DATA));
    p.push(Instruction::load(Size::Word, R8, R6, DATA_END));
}

/// Destroys R1.
fn check_room(p: &mut Assembler, bytes: i32, short: Label) {
    p.push(Instruction::mov(R1, R7));
    p.push(Instruction::alu(Alu::Add, R1, bytes));
    p.jump_if(Test::Greater, R1, R8, short);
}

/// Exchanges sender and receiver. Of checksums that changes nothing. Destroys R1 and R2.
fn turn_round(p: &mut Assembler) {
    swap(p, Size::Word, 0, 6);
    swap(p, Size::Half, 4, 10);
    swap(p, Size::Word, at::ADDRESSES[0], at::ADDRESSES[1]);
    swap(p, Size::Half, at::PORTS[0], at::PORTS[1]);
}

fn swap(p: &mut Assembler, size: Size, one: i16, other: i16) {
    p.push(Instruction::load(size, R1, R7, one));
    p.push(Instruction::load(size, R2, R7, other));
    p.push(Instruction::store(size, R7, one, R2));
    p.push(Instruction::store(size, R7, other, R1));
}

/// Makes a SYN an acceptance of it. It has the SYN's own sequence number and options. Destroys R1 to R3.
fn accept(p: &mut Assembler) {
    begin_sum(p, at::TCP_CHECKSUM);
    subtract(p, Size::Word, at::ACK);
    p.push(Instruction::load(Size::Word, R1, R7, at::SEQ));
    p.push(Instruction::big_endian32(R1));
    p.push(Instruction::alu32(Alu::Add, R1, 1));
    p.push(Instruction::big_endian32(R1));
    p.push(Instruction::store(Size::Word, R7, at::ACK, R1));
    p.push(Instruction::alu(Alu::Add, R3, R1));
    subtract(p, Size::Half, at::CONTROL - 1);
    p.push(Instruction::store(Size::Byte, R7, at::CONTROL, SYN_ACK));
    p.push(Instruction::load(Size::Half, R1, R7, at::CONTROL - 1));
    p.push(Instruction::alu(Alu::Add, R3, R1));
    end_sum(p, at::TCP_CHECKSUM);
}

/// Makes a query its answer; one that has nothing behind its question gets a record. Destroys R0 to R3.
fn resolve(p: &mut Assembler, drop: Label) {
    let done = p.label();
    // QR, and what the query has; RA and no error.
    p.push(Instruction::load(Size::Byte, R1, R7, at::DNS_FLAGS));
    p.push(Instruction::alu(Alu::Or, R1, 0x80));
    p.push(Instruction::store(Size::Byte, R7, at::DNS_FLAGS, R1));
    p.push(Instruction::store(Size::Byte, R7, at::DNS_FLAGS + 1, 0x80));
    // RFC 768: there is no checksum.
    p.push(Instruction::store(Size::Half, R7, at::UDP_CHECKSUM, 0));
    p.push(Instruction::load(Size::Half, R1, R7, at::ADDITIONAL_COUNT));
    p.jump_if(Test::NotEqual, R1, 0, done);
    p.push(Instruction::store(Size::Half, R7, at::ANSWER_COUNT, i32::from(1_u16.to_be())));
    grow(p);
    p.push(Instruction::mov(R1, R6));
    p.push(Instruction::mov(R2, RECORD.len() as i32));
    p.push(Instruction::call(helper::XDP_ADJUST_TAIL));
    p.jump_if(Test::NotEqual, R0, 0, drop);
    load_frame(p);
    p.jump_if(Test::Greater, R9, LONGEST, drop);
    p.push(Instruction::alu(Alu::Add, R7, R9));
    check_room(p, RECORD.len() as i32, drop);
    for (index, word) in RECORD.chunks_exact(4).enumerate() {
        let word = word.first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
        p.push(Instruction::store(Size::Word, R7, 4 * index as i16, word));
    }
    p.place(done);
}

/// Adds a record's length to those in the headers. Destroys R1 to R3.
fn grow(p: &mut Assembler) {
    begin_sum(p, at::IP_CHECKSUM);
    subtract(p, Size::Half, at::IP_LENGTH);
    for length in [at::UDP_LENGTH, at::IP_LENGTH] {
        p.push(Instruction::load(Size::Half, R1, R7, length));
        p.push(Instruction::big_endian16(R1));
        p.push(Instruction::alu(Alu::Add, R1, RECORD.len() as i32));
        p.push(Instruction::big_endian16(R1));
        p.push(Instruction::store(Size::Half, R7, length, R1));
    }
    p.push(Instruction::alu(Alu::Add, R3, R1));
    end_sum(p, at::IP_CHECKSUM);
}

/// R3 = the sum of which this is the checksum (RFC 1624 3), in the frame's byte order.
fn begin_sum(p: &mut Assembler, checksum: i16) {
    p.push(Instruction::load(Size::Half, R3, R7, checksum));
    p.push(Instruction::alu(Alu::Xor, R3, 0xffff));
}

/// R3 = R3 less what is at this place. Destroys R1.
fn subtract(p: &mut Assembler, size: Size, place: i16) {
    p.push(Instruction::load(size, R1, R7, place));
    p.push(Instruction::alu32(Alu::Xor, R1, -1));
    if let Size::Half = size {
        p.push(Instruction::alu(Alu::And, R1, 0xffff));
    }
    p.push(Instruction::alu(Alu::Add, R3, R1));
}

/// Folds R3 and makes it the checksum. Destroys R1.
fn end_sum(p: &mut Assembler, checksum: i16) {
    for _ in 0..4 {
        p.push(Instruction::mov(R1, R3));
        p.push(Instruction::alu(Alu::Rsh, R1, 16));
        p.push(Instruction::alu(Alu::And, R3, 0xffff));
        p.push(Instruction::alu(Alu::Add, R3, R1));
    }
    p.push(Instruction::alu(Alu::Xor, R3, 0xffff));
    p.push(Instruction::store(Size::Half, R7, checksum, R3));
}

/// By a redirection to where it came from: of what is sent back by `XDP_TX` a veth tells its other end only where that has a
/// program, too (`veth_xdp_flush` of drivers/net/veth.c, Linux 6.18).
fn count_and_send(p: &mut Assembler, counts: i32, interface: u32) {
    p.extend(Instruction::load_map_value(R1, counts, 0));
    p.push(Instruction::mov(R2, 1));
    p.push(Instruction::atomic_add(Size::Double, R1, 0, R2));
    p.push(Instruction::mov(R1, interface.cast_signed()));
    p.push(Instruction::mov(R2, 0));
    p.extend([Instruction::call(helper::REDIRECT), Instruction::exit()]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::need;
    use etherparse::{PacketBuilder, PacketHeaders, PayloadSlice, TransportHeader};
    use linerate_sys::bpf::TestRun;

    /// `enum xdp_action`.
    const XDP_REDIRECT: i32 = 4;

    fn run(frame: &[u8]) -> (i32, Vec<u8>) {
        let counts = Map::new(&MapSpec::array(NAME, 8, 1)).unwrap();
        let done = load(&counts, 1).unwrap().test_run(&TestRun::once(frame)).unwrap();
        (done.verdict.cast_signed(), done.data)
    }

    fn ip() -> etherparse::PacketBuilderStep<etherparse::IpHeaders> {
        PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([10, 0, 0, 1], [10, 64, 3, 4], 64)
    }

    fn datagram(payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        ip().udp(5_000, 53).write(&mut frame, payload).unwrap();
        frame
    }

    #[test]
    fn a_syn_is_accepted_with_right_checksums() {
        if !need::root() {
            return;
        }
        for seq in [7, 0xffff_ffff, 0x1234_ffff] {
            let mut frame = Vec::new();
            ip().tcp(5_000, 80, seq, 1_024).syn().write(&mut frame, &[]).unwrap();
            let (verdict, answer) = run(&frame);
            assert_eq!(verdict, XDP_REDIRECT);
            let headers = PacketHeaders::from_ethernet_slice(&answer).unwrap();
            let Some(etherparse::NetHeaders::Ipv4(ip, _)) = headers.net else { panic!("no IPv4") };
            assert_eq!((ip.source, ip.destination), ([10, 64, 3, 4], [10, 0, 0, 1]));
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            let Some(TransportHeader::Tcp(tcp)) = headers.transport else { panic!("no TCP") };
            assert_eq!((tcp.source_port, tcp.destination_port), (80, 5_000));
            assert_eq!((tcp.syn, tcp.ack), (true, true));
            assert_eq!(tcp.acknowledgment_number, seq.wrapping_add(1));
            assert_eq!(tcp.checksum, tcp.calc_checksum_ipv4(&ip, &[]).unwrap());
        }
    }

    #[test]
    fn a_query_gets_an_address() {
        if !need::root() {
            return;
        }
        let query = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x01a\x02nl\0\0\x01\0\x01";
        let (verdict, answer) = run(&datagram(query));
        assert_eq!(verdict, XDP_REDIRECT);
        let headers = PacketHeaders::from_ethernet_slice(&answer).unwrap();
        let Some(etherparse::NetHeaders::Ipv4(ip, _)) = headers.net else { panic!("no IPv4") };
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        let Some(TransportHeader::Udp(udp)) = headers.transport else { panic!("no UDP") };
        assert_eq!((udp.source_port, udp.destination_port, udp.checksum), (53, 5_000, 0));
        let PayloadSlice::Udp(message) = headers.payload else { panic!("no payload") };
        assert_eq!(usize::from(udp.length), 8 + message.len());
        assert_eq!(message[..12], *b"\x12\x34\x81\x80\0\x01\0\x01\0\0\0\0");
        assert_eq!(message[12..], [&query[12..], &RECORD].concat());
    }

    #[test]
    fn what_is_no_question_is_left_alone() {
        if !need::root() {
            return;
        }
        let answer = datagram(b"\x12\x34\x81\x80\0\x01\0\0\0\0\0\0\0\0\x01\0\x01");
        assert_eq!(run(&answer), (XDP_PASS, answer.clone()));
        let mut reset = Vec::new();
        ip().tcp(5_000, 80, 1, 0).rst().write(&mut reset, &[]).unwrap();
        assert_eq!(run(&reset).0, XDP_DROP);
        let mut echo = Vec::new();
        ip().icmpv4_echo_request(1, 2).write(&mut echo, &[0; 40]).unwrap();
        assert_eq!(run(&echo), (XDP_PASS, echo.clone()));
    }
}
