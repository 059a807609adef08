//! AF_XDP: one queue, frames no longer than its memory's.

use linerate_base::{ErrorKind, Sink, Slots};
use linerate_capture as capture;
use linerate_lab::{Host, Lab, need};
use linerate_sys::capability::{Capability, limit_capabilities};
use linerate_transmit::pacing::{Pace, Rate};
use linerate_transmit::sink::{Backend, Config, Offloads, Opened, open};
use linerate_transmit::{Plan, Sender, run};

use crate::common::*;

fn config(host: &Host, queue: u32, longest: usize) -> Config {
    let interface = host.interface().into();
    let (backend, offloads) = (Some(Backend::Xdp), Offloads::default());
    Config { interface, backend, queue, slots: 64, longest, offloads, mark: None, alike: None }
}

fn opened(host: &Host, config: &Config) -> Opened {
    host.run(|| open(config)).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(host: &Host, config: &Config) -> linerate_base::Error {
    host.run(|| open(config).map(drop)).unwrap_err()
}

/// Pushes frames of these lengths.
fn push(mut slots: Slots<'_>, lengths: &[usize]) {
    for &length in lengths {
        slots.push(|slot| {
            slot[..length].fill(0x99);
            length
        });
    }
}

#[test]
fn the_queue_that_was_asked_for_sends() {
    if !need::root() {
        return;
    }
    let plan = Lab::plan().host("a").host("b").quiet().without_offloads().queues(2);
    let lab = plan.build().unwrap();
    let (a, b) = (lab.host("a"), lab.host("b"));
    let template = template(a, &format!("IP(dst='{}')/UDP(sport=1-500)/Raw(size=100)", b.ipv4()));
    for queue in [0, 1] {
        let mut capture = listen(b);
        let mut opened = opened(a, &config(a, queue, template.longest()));
        assert!(opened.notes[0].contains("the kernel copies frames"), "{:?}", opened.notes);
        let offers = "checksums not offered by the driver, launch times not offered by the driver";
        assert!(opened.notes.get(1).is_none_or(|note| note.contains(offers)), "{:?}", opened.notes);
        let (report, result) = run(&once(&template), &mut *opened.sink, &|_| false);
        result.unwrap();
        assert_eq!((report.stats.sent, report.stats.pending), (500, 0));
        assert!(fetch(&mut capture, 500) == expected(&template, 500), "queue {queue}");
    }
    let error = refused(a, &config(a, 2, 60));
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert_eq!(error.answered(), "the interface has no such queue");
}

#[test]
fn what_the_driver_does_not_have_is_not_asked_for() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let template = template(a, &format!("IP(dst='{}')/UDP(sport=1-50)", b.ipv4()));
    let mut capture = listen(b);
    let plan = Plan { pace: Pace::new(Rate::Frames(10_000_000)), ..once(&template) };
    let mut sender = a.run(|| Sender::open(&plan, a.interface(), Some(Backend::Xdp), 0)).unwrap();
    assert_eq!(sender.offloads(), Offloads::default());
    sender.run(&plan, &|_| false).1.unwrap();
    drop(sender);
    assert!(fetch(&mut capture, 50) == expected(&template, 50));
    let (_, checksum) = template.partial().unzip();
    let wanted = Offloads { checksum, launches: true };
    let opened = opened(a, &Config { offloads: wanted, ..config(a, 0, 60) });
    assert_eq!(opened.offloads, Offloads::default());
}

#[test]
fn a_queue_that_a_capture_holds_is_left_to_it() {
    let Some(lab) = quiet_pair() else { return };
    let a = lab.host("a");
    let interrupt = capture::Interrupt::new().unwrap();
    let held = capture::Config {
        backend: Some(capture::Backend::Xdp),
        buffer: 1 << 20,
        force: true,
        ..capture::Config::new(a.interface(), interrupt)
    };
    let capture = a.run(|| capture::open(&held)).unwrap_or_else(|error| panic!("{error}"));
    let error = refused(a, &config(a, 0, 60));
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert!(error.answered().contains("another AF_XDP socket is on that queue"), "{error}");
    assert!(error.advice().unwrap().contains("a capture by AF_XDP may hold it"), "{error}");
    drop(capture);
    drop(opened(a, &config(a, 0, 60)));
}

#[test]
fn frames_are_as_long_as_a_page_at_most() {
    if !need::root() {
        return;
    }
    let plan = Lab::plan().host("a").host("b").quiet().without_offloads().mtu(4082);
    let lab = plan.build().unwrap();
    let (a, b) = (lab.host("a"), lab.host("b"));
    let template = template(a, &format!("IP(dst='{}')/UDP()/Raw(size=[1, 2007, 4054])", b.ipv4()));
    assert_eq!(template.longest(), 4096);
    let mut capture = listen(b);
    let (report, result) = send(a, Backend::Xdp, &once(&template));
    result.unwrap();
    assert_eq!(report.stats.sent, 3);
    assert!(fetch(&mut capture, 3) == expected(&template, 3));
    let error = refused(a, &config(a, 0, 4097));
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert_eq!(
        error.answered(),
        "AF_XDP takes frames of up to 4096 bytes, and there are some of 4097"
    );
    assert!(error.advice().unwrap().contains("the back end ring"), "{error}");
}

#[test]
fn what_does_not_fit_is_refused_and_the_sink_goes_on() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let mut capture = listen(b);
    let mut sink = opened(a, &config(a, 0, 1600)).sink;
    for lengths in [[60, 1515, 60], [60, 0, 60], [60, 13, 60]] {
        push(sink.acquire(3).unwrap(), &lengths);
        assert_eq!(sink.submit().unwrap_err().kind(), ErrorKind::Invalid, "{lengths:?}");
        sink.flush(&mut || false).unwrap();
    }
    // Many rounds of the 64 slots, of which a batch has no more than there are up to the end.
    for _ in 0..100 {
        let slots = sink.acquire(33).unwrap();
        let room = slots.room();
        push(slots, &[60; 33][..room]);
        sink.submit().unwrap();
        sink.flush(&mut || false).unwrap();
    }
    let stats = sink.stats();
    assert!(stats.balances() && stats.pending == 0, "{stats:?}");
    assert_eq!((stats.refused, stats.sent_bytes), (6, stats.sent * 60));
    assert_eq!(fetch(&mut capture, stats.sent as usize).len() as u64, stats.sent);
}

#[test]
fn without_the_capability_the_error_names_it() {
    let Some(lab) = quiet_pair() else { return };
    let a = lab.host("a");
    let error = a.run(|| {
        limit_capabilities(&[Capability::NetAdmin, Capability::Bpf]).unwrap();
        open(&config(a, 0, 60)).map(drop).unwrap_err()
    });
    assert_eq!(error.kind(), ErrorKind::Permission, "{error}");
    assert!(error.advice().unwrap().contains("CAP_NET_RAW"), "{error}");
}

#[test]
fn a_sink_looks_at_its_own_interface_whatever_namespace_it_is_used_from() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    for backend in Backend::ALL {
        let config = Config { backend: Some(backend), ..config(a, 0, 60) };
        let mut sink = opened(a, &config).sink;
        let mut send = || {
            // So long that it looks again.
            std::thread::sleep(std::time::Duration::from_millis(120));
            push(sink.acquire(1)?, &[60]);
            sink.submit()?;
            sink.flush(&mut || false)
        };
        send().unwrap_or_else(|error| panic!("{backend}: {error}"));
        b.set_link_up(false).unwrap();
        assert_eq!(send().unwrap_err().kind(), ErrorKind::Down, "{backend}");
        assert_eq!(sink.stats().sent, 1, "{backend}");
        b.set_link_up(true).unwrap();
        while !a.state().unwrap().is_running {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}
