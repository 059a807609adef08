//! More packets than fit: losses are counted to the last packet.

use linerate_base::ErrorKind;
use linerate_capture::{Backend, Config, open};
use linerate_lab::traffic::send_frames;

use crate::common::*;

#[test]
fn a_reader_that_stands_still_loses_packets_by_count() {
    let Some(lab) = quiet_pair() else { return };
    let sent = frames(20_000, 1000);
    for backend in EACH {
        let config = Config { buffer: 1 << 20, ..config(lab.host("b"), backend) };
        let mut capture = open_on(lab.host("b"), &config);
        send_frames(lab.host("a"), &sent).unwrap();
        let early = await_seen(&mut capture.source, 20_000);
        assert!(early.balances() && early.dropped > 0 && early.pending > 0, "{early:?}");
        let (packets, stats) = finish(&mut capture.source);
        assert_eq!(stats.seen, 20_000, "{backend}");
        assert_eq!(stats.delivered, packets.len() as u64);
        assert_eq!(stats.dropped, 20_000 - stats.delivered);
        assert_eq!(stats.pending, 0);
        assert_eq!(data(&packets), sent[..packets.len()], "{backend}: the first ones are kept");
    }
}

#[test]
fn packets_left_in_the_buffer_are_pending() {
    let Some(lab) = quiet_pair() else { return };
    for backend in EACH {
        let mut capture = open_on(lab.host("b"), &config(lab.host("b"), backend));
        send_frames(lab.host("a"), &frames(500, 60)).unwrap();
        await_seen(&mut capture.source, 500);
        capture.source.stop().unwrap();
        let stats = capture.source.stats().unwrap();
        assert_eq!((stats.seen, stats.delivered, stats.pending), (500, 0, 500), "{backend}");
        send_frames(lab.host("a"), &frames(500, 60)).unwrap();
        let (packets, stats) = finish(&mut capture.source);
        assert_eq!((packets.len(), stats.seen, stats.pending), (500, 500, 0), "{backend}");
    }
}

#[test]
fn a_ring_larger_than_the_memory_is_refused_with_advice() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for backend in [Backend::Tap, Backend::TapXdp, Backend::Ring] {
        for buffer in [1 << 40, u64::MAX] {
            let error = b.run(|| open(&Config { buffer, ..config(b, backend) }).map(drop));
            let error = error.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Exhausted, "{error}");
            assert!(error.asked().contains("MiB") && error.answered().contains("MiB"), "{error}");
            assert_eq!(error.advice(), Some("lower --buffer"));
        }
    }
}

#[test]
fn a_buffer_too_small_for_a_packet_is_enlarged_with_a_note() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let mut capture = open_on(b, &Config { buffer: 1, ..config(b, Backend::Ring) });
    assert_eq!(capture.notes, ["the ring takes 512 KiB, the least for 262144-byte packets"]);
    send_frames(lab.host("a"), &frames(10, 1514)).unwrap();
    assert_eq!(fetch(&mut capture.source, 10).len(), 10);
}

#[test]
fn the_smallest_ring_works() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let config = Config { buffer: 1, snaplen: 60, immediate: true, ..config(b, Backend::Ring) };
    let mut capture = open_on(b, &config);
    assert_eq!(capture.notes, ["the ring takes 16 KiB, the least for 60-byte packets"]);
    for number in 0..200 {
        send_frames(lab.host("a"), &[frame(number, 1514)]).unwrap();
        let packet = &fetch(&mut capture.source, 1)[0];
        assert_eq!((&packet.data[..], packet.length), (&frame(number, 60)[..], 1514));
        if number == 10 {
            send_frames(lab.host("a"), &frames(300, 60)).unwrap();
            await_seen(&mut capture.source, 311);
            while capture.source.stats().unwrap().pending > 0 {
                capture.source.next_batch(std::time::Duration::from_secs(1)).unwrap();
            }
        }
    }
    let (_, stats) = finish(&mut capture.source);
    assert_eq!((stats.seen, stats.pending), (500, 0));
}

#[test]
fn many_rounds_of_a_small_ring_lose_nothing_when_read() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let mut capture = open_on(b, &Config { buffer: 1 << 20, ..config(b, Backend::Ring) });
    for round in 0..30 {
        let sent: Vec<_> = (0..500).map(|n| frame(round * 500 + n, 1000)).collect();
        send_frames(lab.host("a"), &sent).unwrap();
        assert!(data(&fetch(&mut capture.source, 500)) == sent, "round {round}");
    }
    let (_, stats) = finish(&mut capture.source);
    assert_eq!((stats.seen, stats.dropped), (15_000, 0));
}
