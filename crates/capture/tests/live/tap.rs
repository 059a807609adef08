//! What is special about taps: rings of cores and queues, programs of others, memory.

use linerate_base::{Direction, ErrorKind, TimestampSource};
use linerate_capture::{Backend, Capture, Config, open, open_many};
use linerate_lab::traffic::{Flow, send_frames, tagged};
use linerate_lab::{Lab, need};
use linerate_sys::bpf::{Link, Position, Program, ProgramKind, ProgramSpec, Way, XdpMode};

use crate::common::*;

const TAPS: [Backend; 2] = [Backend::Tap, Backend::TapXdp];

/// Two hosts on a wire of `queues` queues.
fn wide_pair(queues: u32) -> Option<Lab> {
    let plan = || Lab::plan().host("a").host("b").queues(queues).quiet().without_offloads();
    need::root().then(|| plan().build().unwrap())
}

/// `count` numbered datagrams from `a` to a host that is not there, of many flows.
fn datagrams(lab: &Lab, count: u16) -> Vec<Vec<u8>> {
    let datagram = |number: u16| {
        let flow = Flow::ipv4(lab.host("a"), lab.host("b"), 1000 + number % 64, 2000);
        let mut frame = flow.frame(&number.to_be_bytes());
        frame[5] ^= 0xff;
        frame
    };
    (0..count).map(datagram).collect()
}

fn sorted(mut packets: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    packets.sort();
    packets
}

#[test]
fn packets_of_all_queues_come_in_the_order_of_their_times() {
    let Some(lab) = wide_pair(4) else { return };
    let sent = datagrams(&lab, 4000);
    for backend in TAPS {
        let mut capture = open_on(lab.host("b"), &config(lab.host("b"), backend));
        send_frames(lab.host("a"), &sent).unwrap();
        let packets = fetch(&mut capture.source, sent.len());
        assert!(packets.is_sorted_by_key(|packet| packet.time), "{backend}");
        assert!(sorted(data(&packets)) == sorted(sent.clone()), "{backend}");
        assert_eq!(finish(&mut capture.source).1.seen, 4000);
    }
}

/// Queues sample by themselves, so that a packet may be told an earlier time than one that was delivered already.
#[test]
fn sampled_times_of_several_queues_do_not_step_back_while_packets_come() {
    let Some(lab) = wide_pair(4) else { return };
    let sent = datagrams(&lab, 4000);
    for backend in TAPS {
        let config = Config {
            timestamps: TimestampSource::Sampled,
            immediate: true,
            ..config(lab.host("b"), backend)
        };
        let mut capture = open_on(lab.host("b"), &config);
        let times = std::thread::scope(|scope| {
            let sender = scope.spawn(|| {
                for _ in 0..10 {
                    send_frames(lab.host("a"), &sent).unwrap();
                }
            });
            let (mut times, wait) = (Vec::new(), std::time::Duration::from_millis(50));
            while times.len() < 10 * sent.len() {
                let batch = capture.source.next_batch(wait).unwrap().unwrap();
                assert!(!batch.is_empty() || !sender.is_finished(), "{} packets", times.len());
                times.extend(batch.iter().map(|packet| packet.time));
            }
            times
        });
        assert!(times.is_sorted(), "{backend}");
    }
}

#[test]
fn threads_share_the_rings_and_each_is_woken_for_its_own() {
    let Some(lab) = wide_pair(4) else { return };
    let (b, sent) = (lab.host("b"), datagrams(&lab, 1000));
    for backend in TAPS {
        let config = config(b, backend);
        let captures = b.run(|| open_many(&config, 3)).unwrap();
        let readers = captures.into_iter().map(|mut capture| {
            std::thread::spawn(move || {
                let (mut all, wait) = (Vec::new(), std::time::Duration::MAX);
                while let batch = capture.source.next_batch(wait).unwrap().unwrap()
                    && !batch.is_empty()
                {
                    all.extend(batch.iter().map(|packet| packet.data.to_vec()));
                }
                all.extend(data(&finish(&mut capture.source).0));
                (all, capture.source.stats().unwrap())
            })
        });
        let readers: Vec<_> = readers.collect();
        for part in sent.chunks(100) {
            send_frames(lab.host("a"), part).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        config.interrupt.trigger();
        let (mut all, mut seen) = (Vec::new(), 0);
        for reader in readers {
            let (packets, stats) = reader.join().unwrap();
            assert_eq!((stats.delivered, stats.dropped), (packets.len() as u64, 0));
            all.extend(packets);
            seen += stats.seen;
        }
        assert_eq!(seen, 1000, "{backend}");
        assert!(sorted(all) == sorted(sent.clone()), "{backend}");
    }
}

#[test]
fn there_are_no_more_threads_than_rings_and_a_note_says_so() {
    let Some(lab) = wide_pair(4) else { return };
    let b = lab.host("b");
    let cores = linerate_sys::cpu::online().unwrap().last().unwrap() + 1;
    for (backend, most, one) in [(Backend::Tap, cores, "core"), (Backend::TapXdp, 4, "queue")] {
        let captures = b.run(|| open_many(&config(b, backend), 200)).unwrap();
        assert_eq!(captures.len(), most.min(60), "{backend}");
        let note = captures[0].notes.iter().find(|note| note.contains("of 200 asked for"));
        assert!(note.unwrap().contains(one) || most > 60, "{note:?}");
    }
}

#[test]
fn a_buffer_that_is_too_small_for_a_ring_of_each_core_is_enlarged_with_a_note() {
    let Some(lab) = wide_pair(4) else { return };
    let b = lab.host("b");
    let config = Config { buffer: 1 << 20, ..config(b, Backend::TapXdp) };
    let capture = open_on(b, &config);
    let told = |note: &String| {
        note.contains("the least for 262144-byte packets in 4 rings")
            && note.contains("each receive queue fills its own")
    };
    assert!(capture.notes.iter().any(told), "{:?}", capture.notes);
}

#[test]
fn captures_side_by_side_all_see_everything() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let backends = [Backend::Tap, Backend::TapXdp, Backend::Tap, Backend::Ring];
    let mut captures = backends.map(|backend| open_on(b, &config(b, backend)));
    send_frames(lab.host("a"), &frames(500, 60)).unwrap();
    for Capture { source, backend, .. } in &mut captures {
        assert!(data(&fetch(source, 500)) == frames(500, 60), "{backend}");
        assert_eq!(finish(source).1.seen, 500);
    }
}

#[test]
fn an_exclusive_tap_keeps_packets_from_everybody_else() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let exclusive = Config { exclusive: true, force: true, ..config(b, Backend::TapXdp) };
    let mut beside = open_on(b, &config(b, Backend::Tap));
    let mut capture = open_on(b, &exclusive);
    send_frames(lab.host("a"), &frames(500, 60)).unwrap();
    assert!(data(&fetch(&mut capture.source, 500)) == frames(500, 60));
    assert_eq!(finish(&mut capture.source).1.seen, 500);
    send_frames(lab.host("a"), &frames(10, 60)).unwrap();
    assert_eq!(fetch(&mut beside.source, 10).len(), 10);
    assert_eq!(finish(&mut beside.source).1.seen, 10);
}

/// A program that lets everything pass: `r0 = 2; exit`.
const PASS: [u64; 2] = [0x0000_0002_0000_00b7, 0x0000_0000_0000_0095];

#[test]
fn another_owners_xdp_program_is_left_alone() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let index = b.run(|| linerate_sys::interface::by_name(b.interface())).unwrap().index;
    let other = Program::load(&ProgramSpec::new(ProgramKind::Xdp, &PASS, "other")).unwrap();
    for mode in [XdpMode::Native, XdpMode::Generic] {
        let link = b.run(|| Link::xdp(&other, index, mode)).unwrap();
        for exclusive in [false, true] {
            let config = Config { exclusive, force: true, ..config(b, Backend::TapXdp) };
            let error = b.run(|| open(&config).map(drop)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
            let unasked = Config { backend: None, ..config };
            let unasked = b.run(|| open(&unasked).map(|capture| capture.backend));
            assert_eq!(unasked.ok(), (!exclusive).then_some(Backend::Tap));
        }
        assert_eq!(link.info().unwrap().interface, index);
    }
}

#[test]
fn the_loopback_interface_has_its_xdp_programs_run_by_the_kernel() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let config = Config { interface: "lo".into(), ..config(b, Backend::TapXdp) };
    let mut capture = open_on(b, &config);
    let [note] = &capture.notes[..] else { panic!("{:?}", capture.notes) };
    assert!(note.contains("slower"), "{note}");
    b.run(|| {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..10 {
            socket.send_to(&[7; 100], socket.local_addr().unwrap()).unwrap();
        }
    });
    assert!(fetch(&mut capture.source, 10).iter().all(|p| p.data.len() == 14 + 20 + 8 + 100));
}

#[test]
fn sampled_times_are_of_now_in_order_and_fewer_than_packets() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for backend in TAPS {
        let config = Config { timestamps: TimestampSource::Sampled, ..config(b, backend) };
        let mut capture = open_on(b, &config);
        assert_eq!(capture.interface.timestamps, Some(TimestampSource::Sampled));
        let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let before = now().as_nanos() as i64;
        send_frames(lab.host("a"), &frames(2000, 60)).unwrap();
        let packets = fetch(&mut capture.source, 2000);
        let mut times: Vec<_> = packets.iter().map(|packet| packet.time.nanos()).collect();
        assert!(times.is_sorted(), "{backend}");
        assert!(before <= times[0] && times[1999] <= now().as_nanos() as i64, "{backend}");
        times.dedup();
        assert!((125..2000).contains(&times.len()), "{backend}: {} times", times.len());
    }
}

#[test]
fn jumbo_frames_of_several_buffers_come_whole_through_the_driver() {
    if !need::root() {
        return;
    }
    let lab = Lab::plan().host("a").host("b").quiet().mtu(9000).build().unwrap();
    let sent = frames(100, 9014);
    for backend in TAPS {
        let mut capture = open_on(lab.host("b"), &config(lab.host("b"), backend));
        assert_eq!(capture.notes, [] as [String; 0]);
        send_frames(lab.host("a"), &sent).unwrap();
        let packets = fetch(&mut capture.source, 100);
        assert!(data(&packets) == sent, "{backend}");
        assert!(packets.iter().all(|p| p.length == 9014 && p.direction == Direction::In));
    }
}

#[test]
fn times_by_the_processor_are_those_of_batches() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for backend in TAPS {
        let config = Config { timestamps: TimestampSource::Tsc, ..config(b, backend) };
        let mut capture = match b.run(|| open(&config)) {
            Ok(capture) => capture,
            Err(error) => return assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}"),
        };
        send_frames(lab.host("a"), &frames(1000, 60)).unwrap();
        await_seen(&mut capture.source, 1000);
        let mut latest = None;
        let mut left = 1000;
        while left > 0 {
            let batch = capture.source.next_batch(std::time::Duration::from_secs(1)).unwrap();
            let times: Vec<_> = batch.unwrap().iter().map(|packet| packet.time).collect();
            assert!(times.iter().all(|time| Some(*time) >= latest && *time == times[0]));
            latest = times.first().copied();
            left -= times.len();
        }
    }
}

#[test]
fn who_cannot_stamp_as_asked_says_so() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for (backend, timestamps) in
        [(Backend::Ring, TimestampSource::Sampled), (Backend::Socket, TimestampSource::Tsc)]
    {
        let error = b.run(|| open(&Config { timestamps, ..config(b, backend) }).map(drop));
        let error = error.unwrap_err();
        assert!(error.answered().contains(timestamps.name()), "{error}");
    }
}

/// Tags packets beside their bytes, with the number 5: `bpf_skb_vlan_push(r1, htons(0x8100), 5)`, then
/// `r0 = TCX_NEXT; exit`.
const TAG: [u64; 5] = [
    0x0000_0081_0000_02b7,
    0x0000_0005_0000_03b7,
    0x0000_0012_0000_0085,
    0xffff_ffff_0000_00b7,
    0x0000_0000_0000_0095,
];

/// A veth carries a tag beside the packet, and tells programs in it of that.
#[test]
fn tags_that_the_driver_took_off_are_put_back_at_every_hook() {
    if !need::root() {
        return;
    }
    let lab = Lab::plan().host("a").host("b").quiet().build().unwrap();
    let (a, b) = (lab.host("a"), lab.host("b"));
    let tag = Program::load(&ProgramSpec::new(ProgramKind::Classifier, &TAG, "tag")).unwrap();
    let index = a.run(|| linerate_sys::interface::by_name(a.interface())).unwrap().index;
    let _link = a.run(|| Link::tcx(&tag, index, Way::Egress, Position::Last)).unwrap();
    let sent = frames(10, 100);
    let expected: Vec<_> = sent.iter().map(|frame| tagged(frame, 5)).collect();
    for backend in [Backend::Tap, Backend::TapXdp, Backend::Xdp] {
        for snaplen in [262_144, 60] {
            let config = Config { snaplen, force: true, ..config(b, backend) };
            let mut capture = open_on(b, &config);
            send_frames(a, &sent).unwrap();
            for (packet, expected) in fetch(&mut capture.source, 10).iter().zip(&expected) {
                let kept = expected.len().min(snaplen as usize);
                assert_eq!(packet.data, expected[..kept], "{backend}");
                assert_eq!(packet.length, 104);
            }
        }
    }
}

/// The driver of veth has a function that tells programs the hardware's time, and no hardware.
#[test]
fn hardware_times_are_refused_where_the_hardware_has_none() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for backend in EACH.map(Some).into_iter().chain([None]) {
        let timestamps = TimestampSource::Hardware;
        let config = Config { backend, timestamps, ..config(b, Backend::Tap) };
        let error = b.run(|| open(&config).map(drop)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert_eq!(error.answered(), "the hardware stamps no packets", "{error}");
        assert!(error.advice().unwrap().contains("the kernel stamps"), "{error}");
    }
}
