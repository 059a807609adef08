//! Live frames out of a ring: what the back ends do not have in common.

use std::time::Duration;

use linerate_base::{ErrorKind, Result, Sink};
use linerate_lab::Host;
use linerate_sys::cpu;
use linerate_transmit::Sender;
use linerate_transmit::sink::{self, Alike, Backend, Config, Offloads};

use crate::common::*;

/// A frame to nobody, with its number.
fn frame(number: u32, size: usize) -> Vec<u8> {
    let mut frame = vec![0; size];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 9, 9, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    frame[14..18].copy_from_slice(&number.to_be_bytes());
    frame
}

fn open(host: &Host, longest: usize) -> Box<dyn Sink + Send> {
    open_on(host, Some(Backend::Live), longest).unwrap_or_else(|error| panic!("{error}")).sink
}

/// Submits all frames, and waits until they have left.
fn send(host: &Host, sink: &mut (dyn Sink + Send), frames: &[Vec<u8>]) -> Result<()> {
    host.run(|| {
        let sent = submit(sink, frames).and_then(|()| sink.flush(&mut || false));
        assert!(sink.stats().balances(), "{:?}", sink.stats());
        sent
    })
}

fn submit(sink: &mut dyn Sink, mut rest: &[Vec<u8>]) -> Result<()> {
    while !rest.is_empty() {
        let mut slots = sink.acquire(rest.len())?;
        let (now, later) = rest.split_at(rest.len().min(slots.room()));
        for frame in now {
            slots.push(|slot| {
                slot[..frame.len()].copy_from_slice(frame);
                frame.len()
            });
        }
        sink.submit()?;
        rest = later;
    }
    Ok(())
}

#[test]
fn every_size_arrives_in_order() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let frames: Vec<_> = (18..=1514).map(|size| frame(size as u32, size)).collect();
    let mut capture = listen(b);
    let mut sink = open(a, 1514);
    send(a, &mut *sink, &frames).unwrap();
    let bytes = frames.iter().map(|frame| frame.len() as u64).sum::<u64>();
    assert_eq!((sink.stats().sent, sink.stats().sent_bytes), (frames.len() as u64, bytes));
    assert!(fetch(&mut capture, frames.len()) == frames, "other frames than were sent");
}

#[test]
fn frames_that_are_alike_arrive_whole() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let mut all: Vec<_> = (0..5_000).map(|number| frame(number, 75)).collect();
    for frame in &mut all {
        frame[20] = 7;
        frame.copy_within(17..18, 74);
    }
    let alike = Alike::new(all[9].clone(), vec![14..18, 74..75]);
    let mut capture = listen(b);
    let mut sink = open_alike(a, alike).unwrap();
    send(a, &mut *sink, &all).unwrap();
    assert_eq!((sink.stats().sent, sink.stats().sent_bytes), (5_000, 5_000 * 75));
    assert!(fetch(&mut capture, all.len()) == all, "other frames than were sent");
    let shorter = [frame(5_000, 75), frame(5_001, 74)];
    let error = send(a, &mut *sink, &shorter).unwrap_err();
    assert!(error.to_string().contains("74 bytes is not like the others"), "{error}");
    assert_eq!((sink.stats().submitted, sink.stats().refused), (5_002, 1));
    let long = Alike::new(vec![0; 1_515], vec![]);
    assert_eq!(open_alike(a, long).err().map(|error| error.kind()), Some(ErrorKind::Invalid));
}

fn open_alike(host: &Host, alike: Alike) -> Result<Box<dyn Sink + Send>> {
    let (interface, offloads) = (host.interface().into(), Offloads::default());
    let (backend, alike) = (Some(Backend::Live), Some(alike));
    let config = Config {
        interface,
        backend,
        queue: 0,
        slots: 256,
        longest: 1_515,
        offloads,
        mark: None,
        alike,
    };
    host.run(|| sink::open(&config)).map(|opened| opened.sink)
}

#[test]
fn after_a_long_pause_it_sends_again() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let frames = [frame(1, 60), frame(2, 42)];
    let mut capture = listen(b);
    let mut sink = open(a, 60);
    send(a, &mut *sink, &frames[..1]).unwrap();
    // Long enough for the thread to go to sleep; if it did not, the test is passed all the same.
    std::thread::sleep(Duration::from_millis(1300));
    send(a, &mut *sink, &frames[1..]).unwrap();
    assert_eq!(sink.stats().sent, 2);
    assert_eq!(fetch(&mut capture, 2), frames);
}

#[test]
fn after_a_fault_it_sends_again() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let mut sink = open(a, 60);
    b.set_link_up(false).unwrap();
    let error = send(a, &mut *sink, &[frame(1, 60), frame(2, 60)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Down, "{error}");
    assert_eq!((sink.stats().sent, sink.stats().refused), (0, 2));
    b.set_link_up(true).unwrap();
    let running = || a.state().unwrap().is_running;
    while !running() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut capture = listen(b);
    send(a, &mut *sink, &[frame(3, 60)]).unwrap();
    assert_eq!(fetch(&mut capture, 1), [frame(3, 60)]);
}

#[test]
fn what_is_no_frame_is_refused_and_what_comes_before_it_is_sent() {
    let Some(lab) = quiet_pair() else { return };
    let a = lab.host("a");
    let mut sink = open(a, 60);
    let error = send(a, &mut *sink, &[frame(1, 60), vec![0; 13], frame(2, 60)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    a.run(|| sink.flush(&mut || false)).unwrap();
    assert_eq!((sink.stats().sent, sink.stats().refused), (1, 2));
    let error = open_on(a, Some(Backend::Live), 3073).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

#[test]
fn on_one_core_it_is_taken_only_when_asked_for() {
    let Some(lab) = quiet_pair() else { return };
    let a = lab.host("a");
    let text = "Ether(dst='02:00:00:00:00:99')/IP(dst='10.64.0.1')/UDP()/Raw(size=1-9)";
    let template = template(a, text);
    let open = |backend| {
        let sender = a.run(|| Sender::open(&once(&template), a.interface(), backend, 0));
        sender.unwrap_or_else(|error| panic!("{error}"))
    };
    cpu::pin(cpu::allowed().unwrap()[0]).unwrap();
    let sender = open(None);
    assert_eq!(sender.backend(), Backend::Ring);
    assert!(sender.notes()[0].contains("one core"), "{:?}", sender.notes());
    assert_eq!(open(Some(Backend::Live)).backend(), Backend::Live);
}
