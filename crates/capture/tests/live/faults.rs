//! Interfaces that go away, waits that are ended.

use std::time::Duration;

use linerate_base::{Error, ErrorKind, Source};
use linerate_capture::{Backend, Config, open};
use linerate_lab::Lab;
use linerate_lab::traffic::send_frames;

use crate::common::*;

/// Reads until the fault comes; what came before it are `expected` packets.
pub(crate) fn fault(source: &mut dyn Source, expected: usize) -> Error {
    let mut packets = 0;
    for _ in 0..200 {
        match source.next_batch(Duration::from_millis(50)) {
            Ok(batch) => packets += batch.expect("no end without a fault").len(),
            Err(error) => {
                assert_eq!(packets, expected, "packets before the fault");
                return error;
            }
        }
    }
    panic!("no fault came");
}

#[test]
fn a_deleted_interface_ends_the_source_after_its_packets() {
    for backend in ALL {
        let Some(lab) = quiet_pair() else { return };
        let mut capture = open_on(lab.host("b"), &config(lab.host("b"), backend));
        send_frames(lab.host("a"), &frames(100, 60)).unwrap();
        await_seen(&mut capture.source, 100);
        lab.host("b").delete_link().unwrap();
        let error = fault(&mut capture.source, 100);
        assert_eq!(error.kind(), ErrorKind::Gone, "{backend}: {error}");
        assert!(capture.source.next_batch(Duration::MAX).unwrap().is_none());
        let (_, stats) = finish(&mut capture.source);
        assert_eq!((stats.seen, stats.delivered), (100, 100));
    }
}

#[test]
fn a_namespace_that_goes_takes_the_other_end_of_its_wire_along() {
    if !linerate_lab::need::root() {
        return;
    }
    for backend in ALL {
        let lab = Lab::plan().host("a").host("b").quiet().build().unwrap();
        let mut capture = open_on(lab.host("b"), &config(lab.host("b"), backend));
        send_frames(lab.host("a"), &frames(10, 60)).unwrap();
        await_seen(&mut capture.source, 10);
        drop(lab);
        let mut error = fault(&mut capture.source, 10);
        if error.kind() == ErrorKind::Down {
            error = fault(&mut capture.source, 0);
        }
        assert_eq!(error.kind(), ErrorKind::Gone, "{backend}: {error}");
    }
}

#[test]
fn an_interface_that_goes_down_is_reported_once_and_captured_again_when_up() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    for backend in ALL {
        let mut capture = open_on(b, &config(b, backend));
        send_frames(a, &frames(100, 60)).unwrap();
        await_seen(&mut capture.source, 100);
        b.set_link_up(false).unwrap();
        let error = fault(&mut capture.source, 100);
        assert_eq!(error.kind(), ErrorKind::Down, "{backend}: {error}");
        let quiet = capture.source.next_batch(Duration::from_millis(300)).unwrap();
        assert!(quiet.expect("not the end").is_empty());
        b.set_link_up(true).unwrap();
        while !(a.state().unwrap().is_running && b.state().unwrap().is_running) {
            std::thread::yield_now();
        }
        send_frames(a, &frames(50, 60)).unwrap();
        assert!(data(&fetch(&mut capture.source, 50)) == frames(50, 60), "{backend}");
        let (_, stats) = finish(&mut capture.source);
        assert_eq!((stats.seen, stats.delivered), (150, 150));
    }
}

#[test]
fn an_interface_deleted_while_down_is_noticed() {
    for backend in ALL {
        let Some(lab) = quiet_pair() else { return };
        let mut capture = open_on(lab.host("b"), &config(lab.host("b"), backend));
        lab.host("b").set_link_up(false).unwrap();
        assert_eq!(fault(&mut capture.source, 0).kind(), ErrorKind::Down);
        lab.host("b").delete_link().unwrap();
        assert_eq!(fault(&mut capture.source, 0).kind(), ErrorKind::Gone, "{backend}");
    }
}

#[test]
fn a_source_that_is_stopped_does_not_complain_that_the_interface_went_down() {
    let Some(lab) = quiet_pair() else { return };
    for backend in ALL {
        let mut capture = open_on(lab.host("b"), &config(lab.host("b"), backend));
        send_frames(lab.host("a"), &frames(10, 60)).unwrap();
        await_seen(&mut capture.source, 10);
        lab.host("b").set_link_up(false).unwrap();
        let (packets, _) = finish(&mut capture.source);
        assert_eq!(packets.len(), 10, "{backend}");
        lab.host("b").set_link_up(true).unwrap();
        while !lab.host("a").state().unwrap().is_running {
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_renamed_interface_is_captured_on() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let captures = EACH.map(|backend| open_on(b, &config(b, backend)));
    b.rename_link("renamed").unwrap();
    send_frames(lab.host("a"), &frames(10, 60)).unwrap();
    for mut capture in captures {
        assert_eq!(fetch(&mut capture.source, 10).len(), 10);
        assert_eq!(capture.source.interfaces()[0].name, b.interface());
    }
}

#[test]
fn an_interface_that_is_down_is_not_opened() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    b.set_link_up(false).unwrap();
    for backend in ALL {
        let error = b.run(|| open(&config(b, backend)).map(drop)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Down, "{error}");
        assert!(error.advice().unwrap().contains(" up`"), "{error}");
    }
}

#[test]
fn an_unknown_interface_is_told_with_the_name_that_was_meant() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let slip = format!("{}0", b.interface());
    for interface in [slip.as_str(), "", "a-name-longer-than-any", "zero\0byte"] {
        let config = Config { interface: interface.into(), ..config(b, Backend::Ring) };
        let error = b.run(|| open(&config).map(drop)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(error.advice().unwrap().contains("`linerate interfaces`"), "{error}");
        let tells = error.advice().unwrap().contains(&format!("is {} meant?", b.interface()));
        assert_eq!(tells, interface == slip, "{error}");
    }
}

#[test]
fn an_interrupt_ends_every_wait_until_it_is_cleared() {
    let Some(lab) = quiet_pair() else { return };
    // Of the others, an interface takes one only.
    for backend in TWO_WAY {
        let config = config(lab.host("b"), backend);
        let mut captures = [open_on(lab.host("b"), &config), open_on(lab.host("b"), &config)];
        let interrupt = config.interrupt.clone();
        let waker = std::thread::spawn(move || interrupt.trigger());
        for capture in &mut captures {
            for _ in 0..2 {
                let batch = capture.source.next_batch(Duration::MAX).unwrap();
                assert!(batch.expect("not the end").is_empty(), "{backend}");
            }
        }
        waker.join().unwrap();
        config.interrupt.clear();
        send_frames(lab.host("a"), &frames(1, 60)).unwrap();
        for capture in &mut captures {
            assert_eq!(fetch(&mut capture.source, 1).len(), 1);
        }
    }
}

#[test]
fn a_triggered_interrupt_does_not_hold_packets_back() {
    let Some(lab) = quiet_pair() else { return };
    for backend in ALL {
        let config = config(lab.host("b"), backend);
        let mut capture = open_on(lab.host("b"), &config);
        send_frames(lab.host("a"), &frames(100, 60)).unwrap();
        await_seen(&mut capture.source, 100);
        config.interrupt.trigger();
        assert_eq!(finish(&mut capture.source).0.len(), 100, "{backend}");
    }
}
