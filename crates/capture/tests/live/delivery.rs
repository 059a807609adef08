//! What is sent is what is delivered.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use linerate_base::Direction;
use linerate_capture::Config;
use linerate_lab::traffic::{send_frames, tagged};

use crate::common::*;

#[test]
fn every_packet_comes_once_whole_and_in_order() {
    let Some(lab) = quiet_pair() else { return };
    let sizes = [14, 60, 61, 590, 1514];
    let sent: Vec<_> = (0..3000).map(|n| frame(n, sizes[n as usize % sizes.len()])).collect();
    for backend in EACH {
        let mut capture = open_on(lab.host("b"), &config(lab.host("b"), backend));
        assert_eq!((capture.backend, &capture.notes[..]), (backend, &[][..]));
        send_frames(lab.host("a"), &sent).unwrap();
        let packets = fetch(&mut capture.source, sent.len());
        let (rest, stats) = finish(&mut capture.source);
        assert!(rest.is_empty());
        assert!(data(&packets) == sent, "{backend}: other bytes than were sent");
        assert!(packets.iter().all(|p| p.length as usize == p.data.len()));
        assert!(packets.iter().all(|p| p.direction == Direction::In));
        assert_eq!((stats.seen, stats.delivered, stats.pending), (3000, 3000, 0), "{backend}");
        assert!(!stats.filtered_uncounted);
    }
}

#[test]
fn without_packets_batches_are_empty_and_the_end_comes_at_once() {
    let Some(lab) = quiet_pair() else { return };
    for backend in EACH {
        let mut capture = open_on(lab.host("b"), &config(lab.host("b"), backend));
        let batch = capture.source.next_batch(Duration::from_millis(1)).unwrap();
        assert!(batch.unwrap().is_empty());
        let (rest, stats) = finish(&mut capture.source);
        assert!(rest.is_empty() && stats.seen == 0, "{backend}: {stats:?}");
        assert!(capture.source.next_batch(Duration::MAX).unwrap().is_none());
        capture.source.stop().unwrap();
    }
}

#[test]
fn snaplen_cuts_bytes_but_not_lengths() {
    let Some(lab) = quiet_pair() else { return };
    let sent = frames(50, 1000);
    for backend in EACH {
        for snaplen in [1, 68, 999, 1000] {
            let config = Config { snaplen, ..config(lab.host("b"), backend) };
            let mut capture = open_on(lab.host("b"), &config);
            send_frames(lab.host("a"), &sent).unwrap();
            for (packet, sent) in fetch(&mut capture.source, 50).iter().zip(&sent) {
                assert_eq!(packet.data, sent[..snaplen as usize], "{backend}");
                assert_eq!(packet.length, 1000);
            }
        }
    }
}

#[test]
fn snaplen_0_means_all() {
    let Some(lab) = quiet_pair() else { return };
    for backend in EACH {
        let config = Config { snaplen: 0, ..config(lab.host("b"), backend) };
        let mut capture = open_on(lab.host("b"), &config);
        send_frames(lab.host("a"), &frames(1, 1514)).unwrap();
        assert_eq!(fetch(&mut capture.source, 1)[0].data.len(), 1514);
    }
}

/// The kernel takes the tag off on the way in (`skb_vlan_untag`) and keeps it on on the way out.
#[test]
fn vlan_tags_are_in_place_both_ways() {
    let Some(lab) = quiet_pair() else { return };
    let service = |mut frame: Vec<u8>| {
        frame[12..14].copy_from_slice(&[0x88, 0xa8]);
        frame
    };
    let plain = frame(1, 100);
    let sent = [
        plain.clone(),
        tagged(&plain, 5),
        tagged(&tagged(&plain, 6), 7),
        service(tagged(&tagged(&plain, 8), 9)),
        tagged(&plain, 0xe00a),
    ];
    for backend in TWO_WAY {
        for (host, direction) in [("b", Direction::In), ("a", Direction::Out)] {
            let mut capture = open_on(lab.host(host), &config(lab.host(host), backend));
            send_frames(lab.host("a"), &sent).unwrap();
            let packets = fetch(&mut capture.source, sent.len());
            assert_eq!(data(&packets), sent, "{backend} {direction:?}");
            assert!(packets.iter().all(|p| p.length as usize == p.data.len()));
            assert!(packets.iter().all(|p| p.direction == direction));
        }
    }
}

#[test]
fn a_tag_that_is_put_back_does_not_exceed_snaplen() {
    let Some(lab) = quiet_pair() else { return };
    let sent = tagged(&frame(1, 100), 5);
    for backend in EACH {
        for snaplen in [11, 12, 15, 16, 64, 103] {
            let config = Config { snaplen, ..config(lab.host("b"), backend) };
            let mut capture = open_on(lab.host("b"), &config);
            send_frames(lab.host("a"), std::slice::from_ref(&sent)).unwrap();
            let packet = &fetch(&mut capture.source, 1)[0];
            assert_eq!(packet.data, sent[..snaplen as usize], "{backend} {snaplen}");
        }
    }
}

#[test]
fn times_are_nanoseconds_of_now_in_order() {
    let Some(lab) = quiet_pair() else { return };
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
    for backend in EACH {
        let mut capture = open_on(lab.host("b"), &config(lab.host("b"), backend));
        let before = now();
        send_frames(lab.host("a"), &frames(200, 60)).unwrap();
        let times: Vec<_> =
            fetch(&mut capture.source, 200).iter().map(|p| p.time.nanos()).collect();
        assert!(times.is_sorted(), "{backend}");
        assert!(before <= times[0] && times[199] <= now(), "{backend}");
        assert!(times.iter().any(|nanos| nanos % 1000 != 0), "{backend}: microseconds only");
    }
}

#[test]
fn immediate_mode_delivers_each_packet_as_it_comes() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for backend in EACH {
        let config = Config { immediate: true, ..config(b, backend) };
        let mut capture = open_on(b, &config);
        for sent in frames(3, 60) {
            send_frames(lab.host("a"), std::slice::from_ref(&sent)).unwrap();
            assert_eq!(fetch(&mut capture.source, 1)[0].data, sent);
        }
    }
}

#[test]
fn jumbo_frames_come_whole() {
    if !linerate_lab::need::root() {
        return;
    }
    let plan = linerate_lab::Lab::plan().host("a").host("b").quiet().mtu(65535);
    let lab = plan.build().unwrap();
    for backend in EACH {
        let mut capture = open_on(lab.host("b"), &config(lab.host("b"), backend));
        let sent = frames(20, 65_000);
        send_frames(lab.host("a"), &sent).unwrap();
        assert!(data(&fetch(&mut capture.source, 20)) == sent, "{backend}");
    }
}

/// With offloads on, what one host hands the wire are segments of up to 64 KiB.
#[test]
fn segments_larger_than_any_frame_come_whole() {
    if !linerate_lab::need::root() {
        return;
    }
    let lab = linerate_lab::Lab::plan().host("a").host("b").quiet().build().unwrap();
    for backend in TWO_WAY {
        let config = Config { buffer: 64 << 20, ..config(lab.host("b"), backend) };
        let mut capture = open_on(lab.host("b"), &config);
        linerate_lab::traffic::transfer(lab.host("a"), lab.host("b"), 0, 4 << 20).unwrap();
        let (packets, stats) = finish(&mut capture.source);
        assert_eq!((stats.dropped, stats.seen), (0, packets.len() as u64), "{backend}");
        assert!(packets.iter().all(|p| p.data.len() == p.length as usize), "{backend}");
        assert!(packets.iter().any(|p| p.length > 1514), "{backend}");
        let received = packets.iter().filter(|p| p.direction == Direction::In);
        let bytes: usize = received.map(|p| p.data.len()).sum();
        assert!(bytes > 4 << 20, "{backend}: {bytes} bytes");
    }
}
