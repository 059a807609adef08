//! What packet sockets answer when filters ask about a packet, classic and extended alike.

use std::io::IoSlice;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use crate::support::raw;
use linerate_bpf::classic::opcode::{ADD_K, LDW_ABS, RET_A, SUB_K};
use linerate_bpf::classic::{Instruction, Program, ancillary};
use linerate_bpf::extended::{self, from_classic};
use linerate_lab::{Host, Lab, need};
use linerate_sys::bpf::{self, Map, MapKind, ProgramKind, ProgramSpec};
use linerate_sys::packet_send::send;
use linerate_sys::packet_socket::{Level, PacketSocket, Receiver, SLOTS, Slots};
use linerate_sys::socket_filter::{attach_classic, attach_extended};

const ETH_P_ALL: u16 = 3;
const FRAME_LENGTH: usize = 200;
const SLOT: Slots = Slots { headroom: 0, stride: 2048 };

/// Keeps as many bytes of a packet as the answer to `offset` is larger than `base`, and one more.
fn reveal(offset: u32, base: u32) -> Program {
    let body = [(LDW_ABS, offset), (SUB_K, base), (ADD_K, 1), (RET_A, 0)];
    Program::new(body.map(|(code, k)| Instruction::new(code, k))).expect("a valid program")
}

/// Two sockets, with the classic program and with its extended form, and what they hold on to.
fn sockets(host: &Host, program: &Program) -> ([PacketSocket; 2], (Map, bpf::Program)) {
    let counter = Map::counters(MapKind::PerCpuArray, 1, "seen").expect("a map");
    let extended = from_classic(program, counter.as_fd().as_raw_fd()).expect("translated");
    let words: Vec<_> = extended.iter().map(extended::Instruction::encode).collect();
    let spec = ProgramSpec::new(ProgramKind::SocketFilter, &words, "reveal");
    let loaded = bpf::Program::load(&spec).expect("loaded");
    let [classic, extended] = [(); 2].map(|()| PacketSocket::open(Level::Link).expect("a socket"));
    attach_classic(classic.as_fd(), &raw(program)).expect("attached");
    attach_extended(extended.as_fd(), loaded.as_fd()).expect("attached");
    for socket in [&classic, &extended] {
        socket.bind(host.interface_index(), ETH_P_ALL).expect("bound");
    }
    ([classic, extended], (counter, loaded))
}

/// How many bytes a socket got of the next packet.
fn receive(socket: &PacketSocket) -> u32 {
    let mut buffer = vec![0; SLOTS * SLOT.stride];
    let mut receiver = Receiver::new();
    let patience = Instant::now() + Duration::from_secs(10);
    while receiver.receive(socket, &mut buffer, SLOT, SLOTS).expect("no error") == 0 {
        assert!(Instant::now() < patience, "no packet came");
        std::thread::yield_now();
    }
    receiver.message(0).captured
}

/// An Ethernet frame whose type field and what follows it begin with `rest`.
fn frame(from: &Host, to: &Host, rest: &[u8]) -> Vec<u8> {
    let mut frame = [&to.mac()[..], &from.mac(), rest].concat();
    frame.resize(FRAME_LENGTH, 0);
    frame
}

#[test]
fn answers_are_those_of_the_packet() {
    if !need::root() {
        return;
    }
    let lab = Lab::plan().host("a").host("b").quiet().build().expect("a lab");
    let [a, b] = [lab.host("a"), lab.host("b")];
    let plain = frame(a, b, &[0x08, 0x00]);
    let tagged = frame(a, b, &[0x81, 0x00, 0x20, 0x64, 0x08, 0x00]);
    let index = b.interface_index();
    let cases = [
        (&plain, ancillary::PROTOCOL, 0x07f0, 0x0800),
        (&plain, ancillary::PACKET_TYPE, 0, 0),
        (&plain, ancillary::INTERFACE_INDEX, index - 1, index),
        (&plain, ancillary::VLAN_PRESENT, 0, 0),
        (&plain, ancillary::VLAN_TCI, 0, 0),
        (&tagged, ancillary::PROTOCOL, 0x07f0, 0x0800),
        (&tagged, ancillary::VLAN_PRESENT, 0, 1),
        (&tagged, ancillary::VLAN_TCI, 0x2000, 0x2064),
        (&tagged, ancillary::VLAN_PROTOCOL, 0x80f0, 0x8100),
    ];
    for (packet, offset, base, expected) in cases {
        let (sockets, (counter, _program)) = b.run(|| sockets(b, &reveal(offset, base)));
        a.run(|| {
            let socket = PacketSocket::open(Level::Link).expect("a socket");
            socket.bind(a.interface_index(), ETH_P_ALL).expect("bound");
            assert_eq!(send(&socket, &[IoSlice::new(packet)]).expect("sent"), 1);
        });
        let answers = b.run(|| sockets.each_ref().map(|socket| receive(socket) - 1 + base));
        assert_eq!(answers, [expected; 2], "{offset:#x}");
        assert_eq!(counter.sum(0).expect("a counter"), 1);
    }
}
