//! Sources that share packets.

use std::collections::BTreeSet;

use linerate_base::ErrorKind;
use linerate_capture::{Backend, Config, Fanout, FanoutMode, open, open_many};
use linerate_lab::traffic::{Flow, send_frames};

use crate::common::*;

#[test]
fn two_members_of_a_group_share_all_packets() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let sent: Vec<_> = (0..1000u16)
        .map(|n| {
            let mut frame = Flow::ipv4(a, b, 1000 + n % 50, 2000).frame(&n.to_be_bytes());
            frame[5] ^= 0xff; // to somebody else, so that the stack does not answer
            frame
        })
        .collect();
    for backend in BY_SOCKET {
        for mode in [FanoutMode::Hash, FanoutMode::Cpu] {
            let member = |group| {
                let fanout = Some(Fanout { mode, group });
                open_on(b, &Config { fanout, ..config(b, backend) })
            };
            let first = member(None);
            let second = member(first.fanout_group);
            assert_eq!(second.fanout_group, first.fanout_group);
            send_frames(a, &sent).unwrap();
            let mut members = [first, second];
            let seen = |members: &mut [linerate_capture::Capture; 2]| -> u64 {
                members.iter_mut().map(|m| m.source.stats().unwrap().seen).sum()
            };
            while seen(&mut members) < 1000 {
                std::thread::yield_now();
            }
            let shares = members.map(|mut member| finish(&mut member.source).0);
            let all: BTreeSet<_> = shares.iter().flatten().map(|p| p.data.clone()).collect();
            assert_eq!(shares[0].len() + shares[1].len(), 1000, "{backend} {mode:?}");
            assert!(all == sent.iter().cloned().collect(), "{backend} {mode:?}");
            let shared = shares.iter().all(|share| !share.is_empty());
            assert!(mode == FanoutMode::Cpu || shared, "{backend}: 50 flows, one member");
        }
    }
}

#[test]
fn a_group_of_another_kind_cannot_be_joined() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let member = |mode, group| {
        let fanout = Some(Fanout { mode, group });
        b.run(|| open(&Config { fanout, ..config(b, Backend::Ring) }))
    };
    let first = member(FanoutMode::Hash, Some(7)).unwrap();
    assert_eq!(first.fanout_group, Some(7));
    let error = member(FanoutMode::Cpu, Some(7)).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.asked().contains("fanout group 7"), "{error}");
}

#[test]
fn sources_for_several_threads_share_all_packets() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for backend in EACH {
        let captures = b.run(|| open_many(&config(b, backend), 2)).unwrap();
        // The interface has one queue, whose ring one source has.
        assert_eq!(captures.len(), if backend == Backend::TapXdp { 1 } else { 2 });
        send_frames(lab.host("a"), &frames(1000, 60)).unwrap();
        let mut all: Vec<_> = captures
            .into_iter()
            .flat_map(|mut capture| data(&finish(&mut capture.source).0))
            .collect();
        all.sort();
        assert!(all == frames(1000, 60), "{backend}: {} packets", all.len());
    }
    let error = b.run(|| open_many(&config(b, Backend::Ring), 0).map(drop)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}
