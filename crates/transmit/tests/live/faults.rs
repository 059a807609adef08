//! What goes wrong has a name, and nothing is lost uncounted.

use std::time::{Duration, Instant};

use linerate_base::ErrorKind;
use linerate_sys::netlink;
use linerate_transmit::pacing::{Pace, Rate};
use linerate_transmit::sink::Backend;
use linerate_transmit::{Plan, Report};

use crate::common::*;

#[test]
fn a_frame_longer_than_the_mtu_is_refused_and_counted() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let text = format!("IP(dst='{}')/UDP(sport=1-9)/Raw(size=1473)", b.ipv4());
    let template = template(a, &text);
    for backend in Backend::ALL {
        let (report, result) = send(a, backend, &once(&template));
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{backend}: {error}");
        assert!(error.to_string().contains("MTU of 1500 bytes"), "{backend}: {error}");
        assert_eq!(
            (report.stats.sent, report.stats.refused, report.end),
            (0, 9, None),
            "{backend}"
        );
    }
}

#[test]
fn packets_before_one_that_is_too_long_are_sent() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let template = template(a, &format!("IP(dst='{}')/UDP()/Raw(size=1471-1475)", b.ipv4()));
    for backend in Backend::ALL {
        let mut capture = listen(b);
        let (report, result) = send(a, backend, &once(&template));
        assert!(result.is_err());
        assert_eq!((report.stats.sent, report.stats.refused), (2, 3), "{backend}");
        assert_eq!(fetch(&mut capture, 2).len(), 2, "{backend}");
    }
}

/// Sends packets until after some of them `fault` happens, and returns how it ended.
fn during(
    backend: Backend,
    fault: impl FnOnce(&linerate_lab::Lab) + Send,
) -> Option<(Report, ErrorKind)> {
    let lab = quiet_pair()?;
    let a = lab.host("a");
    let template = template(a, &format!("IP(dst='{}')/UDP()", lab.host("b").ipv4()));
    let duration = Some(Duration::from_secs(20));
    let plan =
        Plan { pace: Pace::new(Rate::Frames(500_000)), count: None, duration, ..once(&template) };
    let enough = a.counters().unwrap().sent + 100;
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| send(a, backend, &plan));
        let start = Instant::now();
        while a.counters().unwrap().sent < enough && !sending.is_finished() {
            assert!(start.elapsed() < Duration::from_secs(60), "{backend}: nothing is sent");
            std::thread::sleep(Duration::from_millis(10));
        }
        fault(&lab);
        let (report, result) = sending.join().unwrap();
        Some((report, result.unwrap_err().kind()))
    })
}

#[test]
fn a_link_that_goes_down_ends_it() {
    for backend in Backend::ALL {
        let down = |lab: &linerate_lab::Lab| {
            let a = lab.host("a");
            a.run(|| netlink::set_link_up(a.interface_index(), false)).unwrap();
        };
        let Some((report, kind)) = during(backend, down) else { return };
        assert_eq!((kind, report.stats.sent > 0), (ErrorKind::Down, true), "{backend}: {report:?}");
    }
}

#[test]
fn a_peer_that_loses_the_wire_ends_it() {
    for backend in Backend::ALL {
        let down = |lab: &linerate_lab::Lab| {
            let b = lab.host("b");
            b.run(|| netlink::set_link_up(b.interface_index(), false)).unwrap();
        };
        let Some((_, kind)) = during(backend, down) else { return };
        assert_eq!(kind, ErrorKind::Down, "{backend}");
    }
}

#[test]
fn an_interface_that_is_deleted_ends_it() {
    for backend in Backend::ALL {
        let delete = |lab: &linerate_lab::Lab| {
            let b = lab.host("b");
            b.run(|| netlink::delete_link(b.interface_index())).unwrap();
        };
        let Some((_, kind)) = during(backend, delete) else { return };
        assert_eq!(kind, ErrorKind::Gone, "{backend}");
    }
}

#[test]
fn a_wire_without_carrier_is_not_sent_on() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    b.run(|| netlink::set_link_up(b.interface_index(), false)).unwrap();
    let error = open_on(lab.host("a"), None, 60).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Down, "{error}");
}

#[test]
fn a_receiver_without_room_is_waited_for_or_counted() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let template = template(a, &format!("IP(dst='{}')/UDP()/Raw(size=1000)", b.ipv4()));
    let before = b.counters().unwrap().received;
    let mut sent = 0;
    for backend in Backend::ALL {
        let plan = Plan { count: Some(20_000), ..once(&template) };
        let (report, result) = send(a, backend, &plan);
        result.unwrap();
        assert_eq!(report.stats.submitted, 20_000);
        sent += report.stats.sent;
    }
    await_received(b, before, sent);
}
