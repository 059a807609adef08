//! AF_XDP: what goes to its sockets is the application's only, and counted to the last packet.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use linerate_base::{ErrorKind, Timestamp};
use linerate_bpf::classic::{Instruction as Classic, Program, opcode};
use linerate_bpf::extended::Register::{R0, R1, R7, R8};
use linerate_bpf::extended::{Alu, Assembler, Instruction, Predicate, Size, Test};
use linerate_capture::{Backend, Config, Directions, Filter, open, open_many};
use linerate_lab::traffic::live::{Frame, Load, Sender};
use linerate_lab::traffic::{send_frames, tagged};
use linerate_lab::{Host, Lab, need};
use linerate_sys::capability::{Capability, limit_capabilities};
use linerate_sys::ethtool::{self, Offload};
use linerate_sys::{interface, netlink};

use crate::common::*;
use crate::faults::fault;

fn config_xdp(host: &Host) -> Config {
    config(host, Backend::Xdp)
}

fn now() -> Timestamp {
    Timestamp::EPOCH + SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap()
}

/// Keeps the frames whose number divides by four.
fn every_fourth() -> Filter {
    let mut code = Assembler::new();
    let end = code.label();
    code.extend([
        Instruction::mov(R0, 0),
        Instruction::mov(R1, R7),
        Instruction::alu(Alu::Add, R1, 18),
    ]);
    code.jump_if(Test::Greater, R1, R8, end);
    code.push(Instruction::load(Size::Byte, R1, R7, 17));
    code.jump_if(Test::CommonBits, R1, 3, end);
    code.push(Instruction::mov(R0, 1));
    code.place(end);
    let tap = Some(Predicate::new(code.finish().unwrap(), Vec::new()));
    let user = Arc::new(Program::new(vec![Classic::new(opcode::RET_K, 0)]).unwrap());
    Filter { text: "every fourth".into(), kernel: None, tap, user }
}

fn pair(queues: u32) -> Option<Lab> {
    let plan = Lab::plan().host("a").host("b").quiet().without_offloads().queues(queues);
    need::root().then(|| plan.build().unwrap())
}

#[test]
fn every_packet_comes_once_with_its_time() {
    for queues in [1, 2] {
        let Some(lab) = pair(queues) else { return };
        let config = Config { buffer: 64 << 20, ..config_xdp(lab.host("b")) };
        let mut capture = open_on(lab.host("b"), &config);
        let before = now();
        let sent = frames(4000, 200);
        send_frames(lab.host("a"), &sent).unwrap();
        let packets = fetch(&mut capture.source, 4000);
        let (rest, stats) = finish(&mut capture.source);
        assert!(rest.is_empty());
        assert_eq!((stats.seen, stats.delivered, stats.dropped), (4000, 4000, 0));
        assert!(packets.iter().all(|p| p.length == 200 && before <= p.time && p.time <= now()));
        let mut received = data(&packets);
        received.sort();
        let mut sent = sent;
        sent.sort();
        assert!(received == sent, "{queues} queues");
    }
}

#[test]
fn a_polled_driver_loses_nothing_and_heeds_deadlines_interrupts_and_faults() {
    for queues in [1, 2] {
        let Some(lab) = pair(queues) else { return };
        let (a, b) = (lab.host("a"), lab.host("b"));
        let config = Config { busy_poll: true, buffer: 64 << 20, ..config_xdp(b) };
        let mut capture = open_on(b, &config);
        assert!(capture.source.next_batch(Duration::from_millis(5)).unwrap().unwrap().is_empty());
        for _ in 0..10 {
            send_frames(a, &frames(1000, 60)).unwrap();
            assert_eq!(fetch(&mut capture.source, 1000).len(), 1000);
        }
        config.interrupt.trigger();
        assert!(capture.source.next_batch(Duration::MAX).unwrap().unwrap().is_empty());
        config.interrupt.clear();
        b.set_link_up(false).unwrap();
        assert_eq!(fault(&mut capture.source, 0).kind(), ErrorKind::Down);
        let (rest, stats) = finish(&mut capture.source);
        assert!(rest.is_empty() && stats.balances());
        assert_eq!((stats.seen, stats.delivered), (10_000, 10_000), "{queues} queues");
    }
}

#[test]
fn polling_is_for_this_back_end() {
    let Some(lab) = pair(1) else { return };
    let b = lab.host("b");
    for backend in [None, Some(Backend::Tap), Some(Backend::Ring), Some(Backend::Socket)] {
        let config = Config { busy_poll: true, backend, ..config_xdp(b) };
        let error = b.run(|| open(&config).map(drop)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert_eq!(error.answered(), "the back end xdp only has its driver polled");
    }
}

#[test]
fn what_the_filter_turns_away_goes_to_the_host() {
    let Some(lab) = pair(1) else { return };
    let b = lab.host("b");
    let mut ring = open_on(b, &config(b, Backend::Ring));
    let filter = Some(every_fourth());
    let mut capture = open_on(b, &Config { filter, ..config_xdp(b) });
    assert_eq!(capture.notes[0], "packets that the filter keeps do not reach the host's own stack");
    send_frames(lab.host("a"), &frames(1000, 60)).unwrap();
    let packets = fetch(&mut capture.source, 250);
    let (_, stats) = finish(&mut capture.source);
    assert_eq!((stats.seen, stats.filtered, stats.delivered), (1000, 750, 250));
    let (mine, others): (Vec<_>, Vec<_>) =
        frames(1000, 60).into_iter().partition(|f| f[17] % 4 == 0);
    assert!(data(&packets) == mine);
    assert!(data(&finish(&mut ring.source).0) == others);
}

#[test]
fn once_stopped_or_dropped_the_host_has_its_packets_again() {
    let Some(lab) = pair(1) else { return };
    let b = lab.host("b");
    let mut capture = open_on(b, &config_xdp(b));
    capture.source.stop().unwrap();
    let mut ring = open_on(b, &config(b, Backend::Ring));
    send_frames(lab.host("a"), &frames(10, 60)).unwrap();
    assert_eq!(fetch(&mut ring.source, 10).len(), 10);
    assert_eq!(finish(&mut capture.source).1.seen, 0);
    drop(capture);
    drop(open_on(b, &config_xdp(b)));
    send_frames(lab.host("a"), &frames(10, 60)).unwrap();
    assert_eq!(fetch(&mut ring.source, 10).len(), 10);
}

#[test]
fn an_exclusive_capture_drops_the_rest() {
    let Some(lab) = pair(1) else { return };
    let b = lab.host("b");
    let mut ring = open_on(b, &config(b, Backend::Ring));
    let filter = Some(every_fourth());
    let mut capture = open_on(b, &Config { filter, exclusive: true, ..config_xdp(b) });
    send_frames(lab.host("a"), &frames(100, 60)).unwrap();
    fetch(&mut capture.source, 25);
    let (_, stats) = finish(&mut capture.source);
    assert_eq!((stats.filtered, stats.delivered), (75, 25));
    assert_eq!(finish(&mut ring.source).1.seen, 0);
}

#[test]
fn a_reader_that_stands_still_loses_packets_by_count() {
    for queues in [1, 2] {
        let Some(lab) = pair(queues) else { return };
        let b = lab.host("b");
        let mut capture = open_on(b, &Config { buffer: 1 << 20, ..config_xdp(b) });
        send_frames(lab.host("a"), &frames(20_000, 1000)).unwrap();
        let early = await_seen(&mut capture.source, 20_000);
        assert!(early.balances() && early.dropped > 0 && early.pending > 0, "{early:?}");
        let (packets, stats) = finish(&mut capture.source);
        assert_eq!((stats.seen, stats.delivered), (20_000, packets.len() as u64));
        assert_eq!((stats.dropped, stats.pending, stats.oversized), (early.dropped, 0, 0));
        assert!(stats.delivered >= 256 && stats.interface_dropped == Some(0), "{stats:?}");
    }
}

#[test]
fn many_rounds_of_few_frames_lose_nothing_when_read() {
    let Some(lab) = pair(1) else { return };
    let b = lab.host("b");
    let mut capture = open_on(b, &Config { buffer: 1, ..config_xdp(b) });
    assert_eq!(capture.notes[1], "1 queue with 256 frames of 2048 bytes each, 512 KiB in all");
    for round in 0..100 {
        let sent: Vec<_> = (0..100).map(|n| frame(round * 100 + n, 1000)).collect();
        send_frames(lab.host("a"), &sent).unwrap();
        assert!(data(&fetch(&mut capture.source, 100)) == sent, "round {round}");
    }
    let (_, stats) = finish(&mut capture.source);
    assert_eq!((stats.seen, stats.dropped), (10_000, 0));
}

#[test]
fn packets_are_cut_and_tags_stay() {
    let Some(lab) = pair(1) else { return };
    let b = lab.host("b");
    let mut capture = open_on(b, &Config { snaplen: 96, ..config_xdp(b) });
    let sent = [frame(1, 1514), tagged(&tagged(&frame(2, 1510), 7), 9), frame(3, 60)];
    send_frames(lab.host("a"), &sent).unwrap();
    let packets = fetch(&mut capture.source, 3);
    let expected: Vec<_> = sent.iter().map(|f| f[..f.len().min(96)].to_vec()).collect();
    assert!(data(&packets) == expected);
    assert_eq!(packets.iter().map(|p| p.length).collect::<Vec<_>>(), [1514, 1518, 60]);
}

#[test]
fn queues_are_shared_by_threads() {
    let Some(lab) = pair(2) else { return };
    let b = lab.host("b");
    let mut captures = b.run(|| open_many(&config_xdp(b), 2)).unwrap();
    let note = "2 queues with 2048 frames of 2048 bytes each, 8192 KiB in all";
    assert!(captures[0].notes.iter().filter(|line| line.contains("frames of")).eq([note]));
    assert!(captures[1].notes.is_empty());
    send_frames(lab.host("a"), &frames(1000, 60)).unwrap();
    let mut received = 0;
    captures[0].source.stop().unwrap();
    for capture in &mut captures {
        let (packets, stats) = finish(&mut capture.source);
        assert_eq!(stats.seen, packets.len() as u64);
        received += packets.len();
    }
    assert_eq!(received, 1000);
    let error = b.run(|| open_many(&config_xdp(b), 3).map(drop)).unwrap_err();
    assert_eq!((error.kind(), error.answered()), (ErrorKind::Invalid, "it has 2 receive queues"));
}

#[test]
fn what_is_there_already_is_left_alone() {
    let Some(lab) = pair(1) else { return };
    let b = lab.host("b");
    let mut first = open_on(b, &config_xdp(b));
    let error = b.run(|| open(&config_xdp(b)).map(drop)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert!(error.answered().contains("another AF_XDP socket"), "{error}");
    send_frames(lab.host("a"), &frames(10, 60)).unwrap();
    assert_eq!(fetch(&mut first.source, 10).len(), 10);
    drop(first);
    let _another = another_program(b);
    let error = b.run(|| open(&config_xdp(b)).map(drop)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert!(error.advice().unwrap().contains("left alone"), "{error}");
}

/// Attaches an XDP program that passes everything.
fn another_program(host: &Host) -> linerate_sys::bpf::Link {
    use linerate_sys::bpf::{Link, Program, ProgramKind, ProgramSpec, XdpMode};
    let code = [Instruction::mov(R0, 2).encode(), Instruction::exit().encode()];
    let program = Program::load(&ProgramSpec::new(ProgramKind::Xdp, &code, "other")).unwrap();
    host.run(|| Link::xdp(&program, host.interface_index(), XdpMode::Native)).unwrap()
}

#[test]
fn a_host_with_addresses_gives_all_its_packets_away_by_force_only() {
    let Some(lab) = pair(1) else { return };
    let b = lab.host("b");
    let unforced = Config { force: false, ..config_xdp(b) };
    let filter = Some(every_fourth());
    let exclusive = Config { exclusive: true, filter: filter.clone(), ..unforced.clone() };
    for (config, remedy) in [(&unforced, "filter"), (&exclusive, "--force")] {
        let error = b.run(|| open(config).map(drop)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert_eq!(error.answered(), "the host has the address 10.0.0.2 there");
        assert!(error.advice().unwrap().contains(remedy), "{error}");
    }
    drop(open_on(b, &Config { force: true, ..exclusive }));
    drop(open_on(b, &Config { filter, ..unforced }));
}

#[test]
fn without_addresses_no_force_is_needed() {
    if !need::root() {
        return;
    }
    let lab = Lab::plan().host("a").host("b").quiet().build().unwrap();
    lab.host("b").run(|| {
        netlink::create_bridge("spare").unwrap();
        netlink::set_link_up(interface::index("spare").unwrap(), true).unwrap();
    });
    let spare = Config { interface: "spare".into(), ..config(lab.host("b"), Backend::Xdp) };
    drop(open_on(lab.host("b"), &spare));
    drop(open_on(lab.host("b"), &Config { exclusive: true, ..spare }));
}

#[test]
fn what_it_cannot_do_is_refused_with_the_back_ends_that_can() {
    let Some(lab) = pair(1) else { return };
    let b = lab.host("b");
    let refused = |config: Config| {
        let error = b.run(|| open(&config).map(drop)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.advice().unwrap().contains("tap"), "{error}");
    };
    refused(Config { direction: Directions::Out, ..config_xdp(b) });
    refused(Config { filter: Some(Filter { tap: None, ..every_fourth() }), ..config_xdp(b) });
    let any = Config { interface: "any".into(), ..config_xdp(b) };
    let error = b.run(|| open(&any).map(drop)).unwrap_err();
    assert_eq!(error.advice(), Some("the back end ring can"), "{error}");
    b.set_mtu(9000).unwrap();
    refused(config_xdp(b));
}

#[test]
fn an_mtu_raised_while_capturing_costs_packets_by_count() {
    let Some(lab) = pair(1) else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let mut capture = open_on(b, &config_xdp(b));
    for host in [a, b] {
        host.set_mtu(3000).unwrap();
    }
    send_frames(a, &[frame(1, 60), frame(2, 3000), frame(3, 1792), frame(4, 1793)]).unwrap();
    await_seen(&mut capture.source, 4);
    let (packets, stats) = finish(&mut capture.source);
    assert_eq!(packets.iter().map(|p| p.length).collect::<Vec<_>>(), [60, 1792]);
    assert_eq!((stats.seen, stats.dropped, stats.oversized), (4, 2, 2));
}

#[test]
fn an_interrupt_ends_a_wait_and_holds_no_packets_back() {
    let Some(lab) = pair(1) else { return };
    let config = config_xdp(lab.host("b"));
    let mut capture = open_on(lab.host("b"), &config);
    config.interrupt.trigger();
    let batch = capture.source.next_batch(Duration::MAX).unwrap();
    assert!(batch.expect("not the end").is_empty());
    send_frames(lab.host("a"), &frames(100, 60)).unwrap();
    await_seen(&mut capture.source, 100);
    assert_eq!(finish(&mut capture.source).0.len(), 100);
}

#[test]
fn three_capabilities_are_enough_but_for_much_memory() {
    use Capability::{Bpf, NetAdmin, NetRaw};
    let Some(lab) = pair(1) else { return };
    let b = lab.host("b");
    let open_with = |buffer| {
        let filter = Some(every_fourth());
        b.run(|| {
            limit_capabilities(&[NetRaw, NetAdmin, Bpf]).unwrap();
            open(&Config { filter, buffer, ..config_xdp(b) })
        })
    };
    let mut capture = open_with(4 << 20).unwrap_or_else(|e| panic!("{e}"));
    send_frames(lab.host("a"), &frames(100, 60)).unwrap();
    assert_eq!(fetch(&mut capture.source, 25).len(), 25);
    drop(capture);
    // 8 MiB is what a process may lock where nobody said otherwise.
    if let Err(error) = open_with(256 << 20).map(drop) {
        assert_eq!(error.kind(), ErrorKind::Exhausted, "{error}");
        let advice = error.advice().unwrap();
        assert!(advice.contains("ulimit -l") && advice.contains("cap_ipc_lock+ep"), "{error}");
    }
}

#[test]
fn at_line_rate_every_frame_is_accounted_for() {
    let Some(lab) = pair(1) else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let mut capture = open_on(b, &config_xdp(b));
    let load = Load::new(Frame::udp(a, b, 9, 60), 500_000);
    let sender = Sender::start(a, b, &load).unwrap();
    let mut delivered = fetch(&mut capture.source, 1).len();
    let report = sender.finish().unwrap();
    let (rest, stats) = finish(&mut capture.source);
    delivered += rest.len();
    assert_eq!((stats.seen, stats.delivered), (report.packets, delivered as u64), "{report:?}");
    assert_eq!(report.packets + report.lost, 500_000);
}

#[test]
fn a_buffer_larger_than_the_memory_is_refused() {
    let Some(lab) = pair(1) else { return };
    let b = lab.host("b");
    let error = b.run(|| open(&Config { buffer: 1 << 50, ..config_xdp(b) }).map(drop)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted, "{error}");
    assert!(error.advice().unwrap().contains("--buffer"), "{error}");
}

#[test]
fn a_driver_that_tells_the_tags_it_takes_off_is_no_matter_for_a_note() {
    if !need::root() {
        return;
    }
    let lab = Lab::plan().host("a").host("b").quiet().build().unwrap();
    let b = lab.host("b");
    assert!(b.run(|| ethtool::offload(b.interface(), Offload::ReceiveVlan)).unwrap());
    let capture = open_on(b, &config_xdp(b));
    assert!(!capture.notes.iter().any(|note| note.contains("VLAN")), "{:?}", capture.notes);
}
