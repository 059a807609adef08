//! Live frames: a program sends, and what it sends arrives.

use std::collections::HashSet;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use linerate_base::{ErrorKind, Result};
use linerate_bpf::extended::Register::{R0, R1, R2, R3, R4};
use linerate_bpf::extended::{Alu, Assembler, Instruction, Size, Test};
use linerate_lab::{Host, Lab, Offload, need};
use linerate_sys::bpf::{Link, Map, MapSpec, Program, ProgramKind, ProgramSpec, XdpMode};
use linerate_sys::{cpu, netlink};
use linerate_transmit::live::{Live, suits};
use linerate_transmit::pacing::{Gaps, Pace, Rate};
use linerate_transmit::sink::Backend;
use linerate_transmit::{End, Plan, Report, Sender};

use crate::common::*;

fn send(host: &Host, plan: &Plan<'_>) -> Result<Report> {
    let stamp = suits(plan).unwrap_or_else(|reason| panic!("{reason}"));
    let run = || Live::new(plan, &stamp, host.interface()).map(|live| live.run(&|_| false));
    let (report, result) = host.run(run)?;
    assert!(report.stats.balances(), "{report:?}");
    result.map(|()| report)
}

#[test]
fn every_frame_arrives_as_user_space_would_have_made_it() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let text = "Ether(dst='02:00:00:00:00:99')/IP(dst=permute('10.64.0.0/20'), ttl=random(1-255))/\
                TCP(dport=80, flags='S', seq=random(0-0xffffffff))/Raw(size=18)";
    let template = template(a, text);
    let mut capture = listen(b);
    let pace = Pace::new(Rate::Frames(200_000_000));
    let report =
        send(a, &Plan { pace, ..once(&template) }).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((report.stats.sent, report.end), (4096, Some(End::Complete)), "{report:?}");
    let (found, expected) = (fetch(&mut capture, 4096), expected(&template, 4096));
    assert_eq!(found.len(), 4096);
    let unique: HashSet<_> = found.iter().collect();
    assert_eq!(unique, expected.iter().collect());
}

#[test]
fn a_time_ends_it_with_a_rate_and_without() {
    let Some(lab) = quiet_pair() else { return };
    let a = lab.host("a");
    let template = template(a, "Ether(dst='02:00:00:00:00:99')/IP(dst='10.64.0.1')/UDP()");
    let duration = Duration::from_millis(100);
    for (rate, burst) in
        [(Rate::Frames(50_000_000), 1), (Rate::Frames(50_000_000), 8), (Rate::Unlimited, 1)]
    {
        let pace = Pace { burst, ..Pace::new(rate) };
        let plan = Plan { pace, count: None, duration: Some(duration), ..once(&template) };
        let report = send(a, &plan).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(report.end, Some(End::Time));
        if rate == Rate::Unlimited {
            assert!(report.stats.sent > 0 && report.elapsed >= duration, "{report:?}");
        } else {
            assert_keeps_rate(&report, duration, Duration::from_micros(20), burst);
        }
    }
}

/// `enum xdp_action`.
const XDP_DROP: i32 = 1;

/// Has a program look at what the host receives.
fn attach(host: &Host, program: Assembler) -> Link {
    let words: Vec<_> = program.finish().unwrap().iter().map(Instruction::encode).collect();
    let program = Program::load(&ProgramSpec::new(ProgramKind::Xdp, &words, "receiver")).unwrap();
    let index = host.interface_index();
    host.run(|| Link::xdp(&program, index, XdpMode::Native)).unwrap()
}

/// A program that counts packets by the queue that they came to and drops them, and where it counts.
fn count_queues(host: &Host) -> (Link, Map) {
    /// `rx_queue_index` in `struct xdp_md`.
    const QUEUE: i16 = 16;
    let counts = Map::new(&MapSpec::array("queues", 16, 1)).unwrap();
    let mut p = Assembler::new();
    p.push(Instruction::load(Size::Word, R2, R1, QUEUE));
    p.push(Instruction::alu(Alu::And, R2, 1));
    p.push(Instruction::alu(Alu::Lsh, R2, 3));
    p.extend(Instruction::load_map_value(R1, counts.as_fd().as_raw_fd(), 0));
    p.push(Instruction::alu(Alu::Add, R1, R2));
    p.push(Instruction::mov(R2, 1));
    p.push(Instruction::atomic_add(Size::Double, R1, 0, R2));
    p.extend([Instruction::mov(R0, XDP_DROP), Instruction::exit()]);
    let link = attach(host, p);
    (link, counts)
}

#[test]
fn threads_send_each_packet_once_by_queues_of_their_own() {
    let plan = Lab::plan().host("a").host("b").quiet().without_offloads().queues(2);
    if !need::root() {
        return;
    }
    let lab = plan.offload(Offload::GenericReceive, true).build().unwrap();
    let (a, b) = (lab.host("a"), lab.host("b"));
    let text = "Ether(dst='02:00:00:00:00:99')/IP(dst=permute('10.64.0.0/20'))/UDP()";
    let template = template(a, text);
    let cores = cpu::allowed().unwrap().len();
    let threads = cores.min(2);
    let mut capture = listen(b);
    let pace = Pace::new(Rate::Frames(400_000_000));
    let report = send(a, &Plan { pace, threads, ..once(&template) });
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((report.stats.sent, report.end), (4096, Some(End::Complete)), "{report:?}");
    let (found, expected) = (fetch(&mut capture, 4096), expected(&template, 4096));
    let unique: HashSet<_> = found.iter().collect();
    assert_eq!((found.len(), unique), (4096, expected.iter().collect()));
    let (_link, counts) = count_queues(b);
    let report = send(a, &Plan { pace, threads, ..once(&template) });
    assert_eq!(report.unwrap_or_else(|error| panic!("{error}")).stats.sent, 4096);
    if threads == 2 {
        let half = 2048_u64.to_ne_bytes();
        let counted = counts.lookup(&[0; 4]).unwrap().unwrap();
        assert_eq!(counted, [half, half].concat(), "the sending core decides");
    }
    let error = send(a, &Plan { threads: cores + 1, ..once(&template) }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}

/// A program that writes over a frame's first 56 bytes, and where it counts those that had come with other addresses, hops or
/// protocol than `frame`: its first 24 bytes.
fn overwrite(host: &Host, frame: &[u8]) -> (Link, Map) {
    let counts = Map::new(&MapSpec::array("damaged", 8, 1)).unwrap();
    let mut p = Assembler::new();
    let [damaged, done, pass] = [p.label(), p.label(), p.label()];
    p.push(Instruction::load(Size::Word, R2, R1, 0));
    p.push(Instruction::load(Size::Word, R3, R1, 4));
    p.push(Instruction::mov(R4, R2));
    p.push(Instruction::alu(Alu::Add, R4, 60));
    p.jump_if(Test::Greater, R4, R3, pass);
    for (at, word) in (0..24).step_by(8).zip(frame.chunks(8)) {
        let word = u64::from_ne_bytes(word.try_into().unwrap());
        p.extend(Instruction::load_number(R3, word));
        p.push(Instruction::load(Size::Double, R4, R2, at));
        p.jump_if(Test::NotEqual, R3, R4, damaged);
    }
    p.jump(done);
    p.place(damaged);
    p.extend(Instruction::load_map_value(R1, counts.as_fd().as_raw_fd(), 0));
    p.push(Instruction::mov(R3, 1));
    p.push(Instruction::atomic_add(Size::Double, R1, 0, R3));
    p.place(done);
    (0..56).step_by(8).for_each(|at| p.push(Instruction::store(Size::Double, R2, at, 0)));
    p.place(pass);
    p.extend([Instruction::mov(R0, XDP_DROP), Instruction::exit()]);
    (attach(host, p), counts)
}

#[test]
fn what_a_receiver_writes_into_frames_is_not_sent() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let text = "Ether(dst='02:00:00:00:00:99')/IP(dst='10.64.0.1')/UDP(sport=1-60000)/Raw(size=18)";
    let template = template(a, text);
    let (_link, damaged) = overwrite(b, &expected(&template, 1)[0]);
    let before = b.counters().unwrap().received;
    let report = send(a, &once(&template)).unwrap_or_else(|error| panic!("{error}"));
    await_received(b, before, report.stats.sent);
    assert_eq!(damaged.lookup(&[0; 4]).unwrap().unwrap(), 0_u64.to_ne_bytes());
}

#[test]
fn what_does_not_suit_has_a_reason() {
    let Some(lab) = quiet_pair() else { return };
    let a = lab.host("a");
    let template = template(a, "Ether(dst='02:00:00:00:00:99')/IP(dst='10.64.0.1')/UDP()");
    let poisson = Pace { gaps: Gaps::Poisson, ..Pace::new(Rate::Frames(1_000_000)) };
    let reason = suits(&Plan { pace: poisson, ..once(&template) }).err();
    assert_eq!(reason, Some("the gaps vary"));
    let other = Lab::plan().host("a").host("b").quiet().without_offloads().build().unwrap();
    let error = send(other.host("a"), &once(&template)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("the peer must have GRO switched on"), "{error}");
    let error = open_on(other.host("a"), Some(Backend::Live), 60).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

#[test]
fn what_the_device_has_no_room_for_is_refused() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let template = template(a, "Ether(dst='02:00:00:00:00:99')/IP(dst='10.64.0.1')/UDP()");
    let before = b.counters().unwrap().received;
    let plan = Plan { count: Some(300_000), ..once(&template) };
    let report = send(a, &plan).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.stats.submitted, 300_000);
    await_received(b, before, report.stats.sent);
}

#[test]
fn a_frame_longer_than_the_mtu_is_not_sent() {
    let Some(lab) = quiet_pair() else { return };
    let a = lab.host("a");
    let text =
        |size| format!("Ether(dst='02:00:00:00:00:99')/IP(dst='10.64.0.1')/UDP()/Raw(size={size})");
    for backend in Backend::ALL.map(Some).into_iter().chain([None]) {
        // One of its frames is enough.
        let long = template(a, &text("1-1473"));
        let open = || Sender::open(&once(&long), a.interface(), backend, 0).map(drop);
        let error = a.run(open).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{backend:?}: {error}");
    }
    let mut capture = listen(lab.host("b"));
    let report =
        send(a, &once(&template(a, &text("1472")))).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((report.stats.sent, fetch(&mut capture, 1)[0].len()), (1, 1514));
}

/// Sends live frames while `fault` happens, and returns how that ended.
fn during(fault: impl FnOnce(&Lab) + Send) -> Option<ErrorKind> {
    let lab = quiet_pair()?;
    let a = lab.host("a");
    let template = template(a, "Ether(dst='02:00:00:00:00:99')/IP(dst='10.64.0.1')/UDP()");
    let duration = Some(Duration::from_secs(60));
    let plan =
        Plan { pace: Pace::new(Rate::Frames(500_000)), count: None, duration, ..once(&template) };
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| send(a, &plan));
        std::thread::sleep(Duration::from_millis(300));
        fault(&lab);
        Some(sending.join().unwrap().unwrap_err().kind())
    })
}

#[test]
fn a_peer_that_goes_down_ends_it() {
    let down = |lab: &Lab| {
        let b = lab.host("b");
        b.run(|| netlink::set_link_up(b.interface_index(), false)).unwrap();
    };
    assert!(during(down).is_none_or(|kind| kind == ErrorKind::Down));
}

#[test]
fn an_interface_that_is_deleted_ends_it() {
    let delete = |lab: &Lab| {
        let b = lab.host("b");
        b.run(|| netlink::delete_link(b.interface_index())).unwrap();
    };
    assert!(during(delete).is_none_or(|kind| kind == ErrorKind::Gone));
}
