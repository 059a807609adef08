//! Filters and directions.

use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use linerate_base::Direction;
use linerate_bpf::classic::{Instruction, Program, opcode};
use linerate_bpf::extended::{self, Alu, Assembler, Predicate, Register, Size, Test};
use linerate_capture::{Backend, Config, Directions, Filter};
use linerate_lab::Host;
use linerate_lab::traffic::send_frames;
use linerate_sys::packet_send;
use linerate_sys::packet_socket::{Level, PacketSocket};

use crate::common::*;

/// Keeps numbered frames whose number is a multiple of 4.
pub(crate) fn every_fourth() -> Program {
    let program = vec![
        Instruction::new(opcode::LDH_ABS, 12),
        Instruction::jump(opcode::JEQ_K, ETHER_TYPE.into(), 0, 2),
        Instruction::new(opcode::LDW_ABS, 14),
        Instruction::jump(opcode::JSET_K, 3, 0, 1),
        Instruction::new(opcode::RET_K, 0),
        Instruction::new(opcode::RET_K, 262_144),
    ];
    Program::new(program).unwrap()
}

/// `program`, made too long for the kernel by instructions that do nothing.
pub(crate) fn padded(program: &Program) -> Program {
    let mut instructions = vec![Instruction::new(opcode::LD_IMM, 0); 4096];
    instructions.extend(program.instructions());
    Program::new(instructions).unwrap()
}

/// The same for the tap.
fn every_fourth_in_the_tap() -> Predicate {
    use Register::{R0, R1};
    let mut code = Assembler::new();
    let end = code.label();
    code.push(extended::Instruction::mov(R0, 0));
    code.push(extended::Instruction::mov(R1, Predicate::START));
    code.push(extended::Instruction::alu(Alu::Add, R1, 18));
    code.jump_if(Test::Greater, R1, Predicate::END, end);
    code.push(extended::Instruction::load(Size::Half, R1, Predicate::START, 12));
    code.push(extended::Instruction::big_endian16(R1));
    code.jump_if(Test::NotEqual, R1, i32::from(ETHER_TYPE), end);
    code.push(extended::Instruction::load(Size::Byte, R1, Predicate::START, 17));
    code.jump_if(Test::CommonBits, R1, 3, end);
    code.push(extended::Instruction::mov(R0, 1));
    code.place(end);
    Predicate::new(code.finish().unwrap(), Vec::new())
}

/// What is for the kernel is for the tap, too.
pub(crate) fn filter(kernel: Option<Program>) -> Option<Filter> {
    let tap = kernel.is_some().then(every_fourth_in_the_tap);
    Some(Filter { text: "every fourth".into(), kernel, tap, user: Arc::new(every_fourth()) })
}

#[test]
fn the_filter_keeps_its_packets_and_the_rest_is_accounted_for() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let sent = frames(1000, 60);
    for backend in EACH {
        let config = Config { filter: filter(Some(every_fourth())), ..config(b, backend) };
        let mut capture = open_on(b, &config);
        assert_eq!(capture.notes, [] as [String; 0]);
        assert_eq!(capture.interface.filter, "every fourth");
        send_frames(lab.host("a"), &sent).unwrap();
        let packets = fetch(&mut capture.source, 250);
        let (rest, stats) = finish(&mut capture.source);
        let expected: Vec<_> = sent.iter().step_by(4).cloned().collect();
        assert!(data(&packets) == expected && rest.is_empty(), "{backend}");
        assert_eq!(stats.delivered, 250);
        assert_eq!((stats.seen, stats.filtered), (1000, 750), "{backend}");
    }
}

#[test]
fn a_filter_without_a_form_for_the_kernel_runs_in_user_space() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for backend in EACH {
        let mut capture = open_on(b, &Config { filter: filter(None), ..config(b, backend) });
        assert_eq!(capture.notes, [] as [String; 0]);
        send_frames(lab.host("a"), &frames(1000, 60)).unwrap();
        assert_eq!(fetch(&mut capture.source, 250).len(), 250);
        let (_, stats) = finish(&mut capture.source);
        assert_eq!((stats.seen, stats.delivered, stats.filtered), (1000, 250, 750));
        assert!(!stats.filtered_uncounted);
    }
}

#[test]
fn a_filter_too_long_for_a_classic_program_still_runs_in_the_kernel() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for backend in BY_SOCKET {
        let filter = filter(Some(padded(&every_fourth())));
        let mut capture = open_on(b, &Config { filter, ..config(b, backend) });
        assert_eq!(capture.notes, [] as [String; 0]);
        send_frames(lab.host("a"), &frames(1000, 60)).unwrap();
        assert_eq!(fetch(&mut capture.source, 250).len(), 250);
        let (_, stats) = finish(&mut capture.source);
        assert_eq!((stats.seen, stats.delivered, stats.filtered), (1000, 250, 750));
    }
}

#[test]
fn only_the_direction_asked_for_is_delivered() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for backend in TWO_WAY {
        for (directions, expected) in [
            (Directions::In, &[Direction::In][..]),
            (Directions::Out, &[Direction::Out]),
            (Directions::Both, &[Direction::In, Direction::Out]),
        ] {
            let config = Config { direction: directions, ..config(b, backend) };
            let mut capture = open_on(b, &config);
            send_frames(lab.host("a"), &frames(1, 60)).unwrap();
            send_frames(b, &frames(1, 60)).unwrap();
            let packets = fetch(&mut capture.source, expected.len());
            let (rest, stats) = finish(&mut capture.source);
            let seen: Vec<_> = packets.iter().chain(&rest).map(|p| p.direction).collect();
            assert_eq!(seen, expected, "{backend} {directions:?}");
            // A tap is not even where the others come by.
            let seen = if backend == Backend::Tap { expected.len() } else { 2 };
            assert_eq!(stats.seen, seen as u64);
        }
    }
}

#[test]
fn loopback_shows_each_packet_once() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for backend in EACH {
        for (name, header) in [("lo", 14), ("any", 20)] {
            if name == "any" && !BY_SOCKET.contains(&backend) {
                continue;
            }
            let config = Config { interface: name.into(), ..config(b, backend) };
            let mut capture = open_on(b, &config);
            b.run(|| {
                let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
                for _ in 0..10 {
                    socket.send_to(&[7; 100], socket.local_addr().unwrap()).unwrap();
                }
            });
            let packets = fetch(&mut capture.source, 10);
            let (rest, _) = finish(&mut capture.source);
            assert_eq!(packets.len() + rest.len(), 10, "{backend} {name}");
            assert!(packets.iter().all(|p| p.data.len() == header + 20 + 8 + 100));
            assert!(packets.iter().all(|p| p.direction == Direction::In));
        }
    }
}

#[test]
fn nothing_slips_through_before_the_filter_is_in_place() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let ends = AtomicBool::new(false);
    let unwanted: Vec<_> = (0..64).map(|n| frame(n * 4 + 1, 60)).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                send_frames(a, &unwanted).unwrap();
            }
        });
        for backend in EACH.repeat(10) {
            let config = Config { filter: filter(Some(every_fourth())), ..config(b, backend) };
            let mut capture = open_on(b, &config);
            let (packets, stats) = finish(&mut capture.source);
            assert!(packets.is_empty(), "{backend}: {packets:?}");
            assert_eq!((stats.delivered, stats.dropped), (0, 0));
        }
        ends.store(true, Ordering::Relaxed);
    });
}

#[test]
fn counts_are_exact_when_stopped_in_the_middle_of_a_flood() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                send_frames(a, &frames(64, 60)).unwrap();
            }
        });
        for backend in EACH.repeat(10) {
            let config = Config { filter: filter(Some(every_fourth())), ..config(b, backend) };
            let mut capture = open_on(b, &config);
            let first = fetch(&mut capture.source, 100);
            let (rest, stats) = finish(&mut capture.source);
            assert_eq!(stats.delivered, (first.len() + rest.len()) as u64);
            assert_eq!((stats.pending, stats.balances()), (0, true), "{backend}: {stats:?}");
        }
        ends.store(true, Ordering::Relaxed);
    });
}

/// Sends frames on the host with a mark.
fn send_marked(host: &Host, mark: u32, frames: &[Vec<u8>]) {
    host.run(|| {
        let socket = PacketSocket::open(Level::Link).unwrap();
        socket.set_mark(mark).unwrap();
        socket.bind(host.interface_index(), 0).unwrap();
        for frame in frames {
            assert_eq!(packet_send::send(&socket, &[IoSlice::new(frame)]).unwrap(), 1);
        }
    });
}

#[test]
fn what_is_sent_with_the_mark_is_not_seen() {
    const MARK: u32 = 0xfedc_ba98;
    let Some(lab) = quiet_pair() else { return };
    let (a, sent) = (lab.host("a"), frames(4, 60));
    for backend in TWO_WAY {
        for filter in [None, filter(Some(every_fourth()))] {
            let expected: Vec<_> = match filter {
                None => sent.clone(),
                Some(_) => sent[..1].to_vec(),
            };
            let config = Config { unseen_mark: Some(MARK), filter, ..config(a, backend) };
            let mut capture = open_on(a, &config);
            for mark in [MARK, 7, MARK] {
                send_marked(a, mark, &sent);
            }
            let (packets, _) = finish(&mut capture.source);
            assert_eq!(data(&packets), expected, "{backend}");
        }
    }
}
