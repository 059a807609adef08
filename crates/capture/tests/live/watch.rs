//! Waiting for packets from outside, by one descriptor.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use linerate_base::{ErrorKind, Source};
use linerate_capture::{Backend, Config, Interrupt};
use linerate_lab::traffic::send_frames;
use linerate_sys::event;

use crate::common::*;

const LONG: Duration = Duration::from_secs(10);
const SHORT: Duration = Duration::from_millis(300);

fn is_readable(fd: BorrowedFd<'_>, wait: Duration) -> bool {
    event::poll([fd], wait).unwrap()[0].readable
}

/// A descriptor of one's own for that of the source.
fn watched(source: &mut dyn Source) -> OwnedFd {
    source.watch().unwrap().try_clone_to_owned().unwrap()
}

/// Takes packets as the descriptor says that there are some, until there are `count`.
fn take(source: &mut dyn Source, fd: &OwnedFd, count: usize) -> usize {
    let mut packets = 0;
    while packets < count {
        assert!(is_readable(fd.as_fd(), LONG), "{packets} of {count}");
        // It returns at once, with or without packets.
        packets += source.next_batch(Duration::MAX).unwrap().unwrap().len();
    }
    packets
}

/// Looks as often as the descriptor says, until it says nothing more for a while.
fn settle(source: &mut dyn Source, fd: &OwnedFd, backend: Backend) {
    for _ in 0..20 {
        if !is_readable(fd.as_fd(), SHORT) {
            return;
        }
        assert!(source.next_batch(LONG).unwrap().unwrap().is_empty(), "{backend}");
    }
    panic!("{backend}: it is readable for ever");
}

#[test]
fn the_descriptor_says_that_packets_wait_and_that_none_does() {
    let Some(lab) = quiet_pair() else { return };
    for immediate in [false, true] {
        for backend in ALL {
            let config = Config { immediate, ..config(lab.host("b"), backend) };
            let mut capture = open_on(lab.host("b"), &config);
            let fd = watched(&mut capture.source);
            settle(&mut capture.source, &fd, backend);
            for count in [1, 3, 700] {
                send_frames(lab.host("a"), &frames(count, 100)).unwrap();
                assert_eq!(take(&mut capture.source, &fd, count as usize), count as usize);
            }
            settle(&mut capture.source, &fd, backend);
            let empty = capture.source.next_batch(Duration::from_millis(1)).unwrap();
            assert!(empty.unwrap().is_empty());
        }
    }
}

#[test]
fn the_descriptor_tells_of_interrupts_faults_and_the_end() {
    let Some(lab) = quiet_pair() else { return };
    for backend in ALL {
        let interrupt = Interrupt::new().unwrap();
        let config = Config { interrupt: interrupt.clone(), ..config(lab.host("b"), backend) };
        let mut capture = open_on(lab.host("b"), &config);
        let fd = watched(&mut capture.source);
        settle(&mut capture.source, &fd, backend);
        interrupt.trigger();
        assert!(is_readable(fd.as_fd(), LONG), "{backend}");
        assert!(capture.source.next_batch(Duration::MAX).unwrap().unwrap().is_empty());
        interrupt.clear();
        settle(&mut capture.source, &fd, backend);
        lab.host("b").set_link_up(false).unwrap();
        let fault = loop {
            assert!(is_readable(fd.as_fd(), LONG), "{backend}");
            if let Err(fault) = capture.source.next_batch(Duration::MAX) {
                break fault;
            }
        };
        assert_eq!(fault.kind(), ErrorKind::Down, "{backend}");
        lab.host("b").set_link_up(true).unwrap();
        capture.source.stop().unwrap();
        for _ in 0..1000 {
            assert!(is_readable(fd.as_fd(), LONG), "{backend}");
            if capture.source.next_batch(Duration::MAX).unwrap().is_none() {
                break;
            }
        }
        assert!(is_readable(fd.as_fd(), LONG), "{backend}: the end is told as long as it lasts");
    }
}
