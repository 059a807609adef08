//! The program run by the kernel on single packets, on one core.

use std::os::fd::AsFd;
use std::time::Duration;

use linerate_bpf::extended::Metadata;
use linerate_lab::traffic::send_frames;
use linerate_lab::{Lab, need};
use linerate_sys::bpf::{Link, Map, Program, ProgramKind, ProgramSpec, TestRun, XdpMode};
use linerate_sys::btf::Btf;
use linerate_sys::tap_ring::{Counters, Doorbell, TapRings};
use linerate_sys::{clock, cpu, event, interface};

use super::*;

use crate::tap::walk::{Record, Walk, size};

/// A tap without an interface, with as many rings as it takes for the first cores.
struct Bench {
    map: Map,
    rings: TapRings,
    doorbell: Doorbell,
    geometry: Geometry,
    /// For programs that ask a driver: its interface.
    interface: u32,
}

impl Bench {
    fn new(rings: u32, data: u32) -> Self {
        let geometry = Geometry { rings, data, record: size(1500) as u32 };
        let map = TapRings::make(&geometry, "test").unwrap();
        let rings = TapRings::map(map.as_fd(), &geometry).unwrap();
        for ring in 0..geometry.rings as usize {
            rings.wake_at(ring, layout::AWAKE);
        }
        Self { map, rings, doorbell: Doorbell::new("test").unwrap(), geometry, interface: 0 }
    }

    fn bell(&self) -> [BorrowedFd<'_>; 1] {
        [self.doorbell.as_fd()]
    }

    fn load<'a>(
        &'a self,
        doorbells: &'a [BorrowedFd<'a>],
        change: impl FnOnce(&mut Plan<'a>),
    ) -> Program {
        let mut plan = Plan {
            hook: Hook::Xdp,
            rings: self.map.as_fd(),
            geometry: self.geometry,
            producers: Producers::Cpus,
            predicate: None,
            owned: None,
            unseen_mark: None,
            snaplen: 1500,
            stamps: Stamps::Each,
            driver: Driver::default(),
            exclusive: false,
            doorbells,
        };
        change(&mut plan);
        let assembled = assemble(&plan);
        let words: Vec<_> = assembled.instructions.iter().map(Instruction::encode).collect();
        let spec = match plan.hook {
            Hook::Xdp => ProgramSpec::new(ProgramKind::Xdp, &words, "test").with_fragments(),
            _ => ProgramSpec::new(ProgramKind::Classifier, &words, "test"),
        };
        let spec = spec.with_parts(&assembled.parts);
        let spec = if plan.driver.is_asked() { spec.bound_to(self.interface) } else { spec };
        Program::load(&spec).unwrap_or_else(|e| panic!("{e}"))
    }

    /// What is in the first ring.
    fn records(&self) -> Vec<Record> {
        let head = self.rings.head(0);
        let mut walk = Walk::new(self.rings.data_of(0), self.geometry);
        let mut records = Vec::new();
        while let Some(record) = walk.peek(self.rings.region(), head).unwrap() {
            walk.pass(self.rings.region(), &record);
            records.push(record);
        }
        records
    }

    fn bytes_of(&self, record: &Record) -> &[u8] {
        &self.rings.region()[record.start as usize..][..record.captured as usize]
    }

    fn is_rung(&self) -> bool {
        event::poll([self.doorbell.as_fd()], Duration::ZERO).unwrap()[0].readable
    }
}

/// Runs `test` on this core, with root's rights.
fn on_core(core: usize, test: impl FnOnce() + Send) {
    if !need::root() {
        return;
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            cpu::pin(core).unwrap();
            test();
        });
    });
}

fn frame(length: usize) -> Vec<u8> {
    (0..length).map(|at| at as u8).collect()
}

fn run(program: &Program, data: &[u8]) -> i32 {
    program.test_run(&TestRun::once(data)).unwrap().verdict.cast_signed()
}

#[test]
fn a_packet_is_published_whole_or_up_to_snaplen_with_its_length_and_time() {
    on_core(0, || {
        for hook in [Hook::Xdp, Hook::Ingress, Hook::Egress] {
            let bench = Bench::new(1, 4096);
            let program = bench.load(&bench.bell(), |plan| {
                plan.hook = hook;
                plan.snaplen = 100;
            });
            let before = clock::monotonic().cast_unsigned();
            let verdicts = [60, 100, 101, 1400].map(|length| run(&program, &frame(length)));
            let after = clock::monotonic().cast_unsigned();
            let expected = if hook == Hook::Xdp { XDP_PASS } else { TCX_NEXT };
            assert_eq!(verdicts, [expected; 4], "{hook:?}");
            let records = bench.records();
            let sizes: Vec<_> = records.iter().map(|r| (r.captured, r.length)).collect();
            assert_eq!(sizes, [(60, 60), (100, 100), (100, 101), (100, 1400)], "{hook:?}");
            for record in &records {
                assert_eq!(bench.bytes_of(record), &frame(100)[..record.captured as usize]);
                assert!((before..=after).contains(&record.time));
                assert_eq!(record.flags == OUTGOING, hook == Hook::Egress);
                assert_eq!(record.vlan_protocol, 0);
            }
        }
    });
}

#[test]
fn packets_of_every_length_are_copied_to_the_last_byte_and_not_beyond() {
    on_core(0, || {
        for hook in [Hook::Xdp, Hook::Ingress, Hook::Egress] {
            for snaplen in [40, 127, 128, 1500] {
                let bench = Bench::new(1, 1 << 16);
                let program = bench.load(&bench.bell(), |plan| {
                    plan.hook = hook;
                    plan.snaplen = snaplen;
                });
                for length in 14..200 {
                    run(&program, &frame(length));
                    let records = bench.records();
                    let record = records.last().unwrap();
                    let kept = length.min(snaplen as usize);
                    assert_eq!(bench.bytes_of(record), &frame(length)[..kept], "{hook:?} {length}");
                    let end = record.start as usize + size(record.captured) - layout::PACKET;
                    assert_eq!(bench.rings.region()[end..][..64], [0; 64], "{hook:?} {length}");
                }
            }
        }
    });
}

#[test]
fn what_has_no_room_is_dropped_and_room_that_comes_back_is_used() {
    on_core(0, || {
        let mut bench = Bench::new(1, 1000);
        let program = bench.load(&bench.bell(), |_| ());
        let packet = frame(300);
        for _ in 0..5 {
            run(&program, &packet);
        }
        let counters = Counters { captured: 3, filtered: 0, dropped: 2 };
        assert_eq!(bench.rings.counters(0), counters);
        bench.rings.give_back(0, size(300) as u64);
        run(&program, &packet);
        run(&program, &packet);
        assert_eq!(bench.rings.counters(0), Counters { captured: 4, dropped: 3, ..counters });
        assert_eq!(bench.rings.head(0), 4 * size(300) as u64);
    });
}

#[test]
fn an_exclusive_program_lets_nothing_pass_even_when_the_ring_is_full() {
    on_core(0, || {
        let bench = Bench::new(1, 400);
        let program = bench.load(&bench.bell(), |plan| plan.exclusive = true);
        let verdicts = [300, 300].map(|length| run(&program, &frame(length)));
        assert_eq!(verdicts, [XDP_DROP; 2]);
        assert_eq!(bench.rings.counters(0).dropped, 1);
    });
}

#[test]
fn the_filter_decides_before_anything_is_kept() {
    on_core(0, || {
        let keep_long = vec![
            Instruction::mov(R0, R9),
            Instruction::alu(Alu::Rsh, R0, 6),
            Instruction::alu(Alu::And, R0, 1),
        ];
        let predicate = Predicate::new(keep_long, Vec::new());
        for hook in [Hook::Xdp, Hook::Ingress, Hook::Egress] {
            let bench = Bench::new(1, 4096);
            let program = bench.load(&bench.bell(), |plan| {
                plan.hook = hook;
                plan.predicate = Some(&predicate);
            });
            for length in [60, 64, 63, 100] {
                run(&program, &frame(length));
            }
            let lengths: Vec<_> = bench.records().iter().map(|r| r.length).collect();
            assert_eq!(lengths, [64, 100], "{hook:?}");
            assert_eq!(bench.rings.counters(0).filtered, 2);
        }
    });
}

#[test]
fn a_filter_is_told_what_it_needs() {
    on_core(0, || {
        let words = [
            (Metadata::InterfaceIndex, [LOOPBACK; 3]),
            (Metadata::PacketType, [0, 0, 4]),
            (Metadata::VlanTag, [0; 3]),
            (Metadata::VlanPresent, [0; 3]),
            (Metadata::Protocol, [0x0800; 3]),
        ];
        for (word, expected) in words {
            for (hook, expected) in [Hook::Xdp, Hook::Ingress, Hook::Egress].iter().zip(expected) {
                let bench = Bench::new(1, 4096);
                // Keeps the packet if the word is as expected.
                let predicate = Predicate::new(
                    vec![
                        Instruction::load(Size::Word, R0, R10, word.slot()),
                        Instruction::alu(Alu::Xor, R0, expected),
                        Instruction::alu(Alu::Sub, R0, 1),
                        Instruction::alu(Alu::Rsh, R0, 63),
                    ],
                    vec![word],
                );
                let program = bench.load(&bench.bell(), |plan| {
                    plan.hook = *hook;
                    plan.predicate = Some(&predicate);
                });
                let mut packet = frame(60);
                packet[12..14].copy_from_slice(&[8, 0]);
                run(&program, &packet);
                assert_eq!(bench.rings.counters(0).captured, 1, "{word:?} {hook:?}");
            }
        }
    });
}

/// The interface of packets that are run as a test (`LOOPBACK_IFINDEX`, net/net_namespace.h).
const LOOPBACK: i32 = 1;

/// As when a core is switched on after the rings were made.
#[test]
fn a_packet_for_which_there_is_no_ring_is_dropped_and_counted() {
    if !cpu::allowed().unwrap().contains(&1) {
        return;
    }
    on_core(1, || {
        let keep_long = vec![Instruction::mov(R0, R9), Instruction::alu(Alu::Rsh, R0, 6)];
        let predicate = Predicate::new(keep_long, Vec::new());
        let bench = Bench::new(1, 4096);
        run(&bench.load(&bench.bell(), |_| ()), &frame(60));
        assert_eq!(bench.rings.strays(), Counters { dropped: 1, ..Counters::default() });
        let filtering = bench.load(&bench.bell(), |plan| plan.predicate = Some(&predicate));
        run(&filtering, &frame(60));
        run(&filtering, &frame(64));
        let expected = Counters { dropped: 2, filtered: 1, captured: 0 };
        assert_eq!((bench.rings.strays(), bench.rings.head(0)), (expected, 0));
    });
}

#[test]
fn the_doorbell_rings_once_where_it_was_asked_to() {
    on_core(0, || {
        let bench = Bench::new(1, 4096);
        let program = bench.load(&bench.bell(), |_| ());
        let packet = frame(60);
        let step = size(60) as u64;
        run(&program, &packet);
        assert!(!bench.is_rung(), "nobody sleeps");
        bench.rings.wake_at(0, 3 * step);
        run(&program, &packet);
        assert!(!bench.is_rung(), "there are two");
        run(&program, &packet);
        assert!(bench.is_rung());
        bench.doorbell.silence();
        run(&program, &packet);
        assert!(!bench.is_rung(), "it was rung for this");
        bench.rings.wake_at(0, 4 * step + 1);
        run(&program, &packet);
        assert!(bench.is_rung());
    });
}

#[test]
fn consumers_have_doorbells_of_their_own() {
    if !cpu::allowed().unwrap().contains(&1) {
        return;
    }
    for (core, expected) in [(0, [true, false]), (1, [false, true])] {
        on_core(core, || {
            let bench = Bench::new(2, 4096);
            let other = Doorbell::new("test").unwrap();
            let doorbells = [bench.doorbell.as_fd(), other.as_fd()];
            let program = bench.load(&doorbells, |_| ());
            bench.rings.wake_at(core, 1);
            run(&program, &frame(60));
            let rung = event::poll(doorbells, Duration::ZERO).unwrap();
            assert_eq!(rung.map(|doorbell| doorbell.readable), expected);
        });
    }
}

#[test]
fn sampled_times_are_read_for_the_first_packet_and_every_sixteenth() {
    on_core(0, || {
        let bench = Bench::new(1, 8192);
        let program = bench.load(&bench.bell(), |plan| plan.stamps = Stamps::Sampled);
        // All within a tick, but perhaps not: then some more are read.
        program.test_run(&TestRun { repeat: 48, ..TestRun::once(&frame(60)) }).unwrap();
        let times: Vec<_> = bench.records().iter().map(|record| record.time).collect();
        assert_eq!(times.len(), 48);
        let mut read = times.clone();
        read.dedup();
        assert!((3..48).contains(&read.len()), "{times:?}");
        assert!([16, 32].iter().all(|&at| times[at - 1] < times[at]), "{times:?}");
        assert!(times.is_sorted());
    });
}

#[test]
fn packets_without_a_time_of_the_cards_have_the_kernels_and_say_so() {
    on_core(0, || {
        for hook in [Hook::Ingress, Hook::Egress] {
            let bench = Bench::new(1, 4096);
            let program = bench.load(&bench.bell(), |plan| {
                plan.hook = hook;
                plan.stamps = Stamps::Card;
            });
            let before = clock::monotonic().cast_unsigned();
            run(&program, &frame(60));
            let after = clock::monotonic().cast_unsigned();
            let records = bench.records();
            assert!((before..=after).contains(&records[0].time), "{hook:?}");
            let outgoing = if hook == Hook::Egress { OUTGOING } else { 0 };
            assert_eq!(records[0].flags, BY_KERNEL | outgoing, "{hook:?}");
        }
    });
}

/// The driver of veth has a function that tells the hardware's time, and no hardware.
#[test]
fn a_driver_that_has_no_time_to_tell_leaves_it_to_the_kernel() {
    if !need::root() {
        return;
    }
    let lab = Lab::plan().host("a").host("b").quiet().build().unwrap();
    let b = lab.host("b");
    let interface = b.run(|| interface::index(b.interface())).unwrap();
    let timestamp = Btf::of_kernel().unwrap().function("bpf_xdp_metadata_rx_timestamp");
    let before = clock::monotonic().cast_unsigned();
    let (bench, _link) = b.run(|| {
        let bench = Bench { interface, ..Bench::new(1, 4096) };
        let program = bench.load(&bench.bell(), |plan| {
            plan.stamps = Stamps::Card;
            plan.driver.timestamp = timestamp;
            plan.producers = Producers::Queues;
        });
        let link = Link::xdp(&program, interface, XdpMode::Native).unwrap();
        (bench, link)
    });
    send_frames(lab.host("a"), &[frame(60)]).unwrap();
    let came = (0..10_000).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        bench.rings.head(0) > 0
    });
    assert!(came);
    let record = bench.records()[0];
    assert_eq!((record.flags, record.length), (BY_KERNEL, 60));
    assert!((before..=clock::monotonic().cast_unsigned()).contains(&record.time));
}
