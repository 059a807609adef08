//! Programs attached to interfaces, and what becomes of them.

use linerate_base::ErrorKind;
use linerate_lab::Host;
use linerate_sys::bpf::{Link, LiveEnd, LiveRun, Position, Program, Way, XdpMode};

use crate::support::*;

fn attach(host: &Host, program: &Program, mode: XdpMode) -> linerate_base::Result<Link> {
    host.run(|| Link::xdp(program, host.interface_index(), mode))
}

#[test]
fn a_second_xdp_program_is_refused_and_the_first_left_alone() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let program = xdp(XDP_PASS);
    for mode in [XdpMode::Native, XdpMode::Generic] {
        let first = attach(b, &program, mode).unwrap();
        for second in [XdpMode::Native, XdpMode::Generic] {
            let error = attach(b, &program, second).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
            assert!(error.to_string().contains("left alone"), "{error}");
        }
        let first = first.info().unwrap();
        assert_eq!(first.interface, b.interface_index());
        assert_eq!(b.state().unwrap().xdp_program, Some(first.program));
    }
    assert_eq!(b.state().unwrap().xdp_program, None);
    drop(attach(b, &program, XdpMode::Native).expect("dropped links leave nothing attached"));
}

/// Frames, of `sent`, that come past the TCX programs of `b` to its network stack.
fn passed(b: &Host, sent: u32) -> u64 {
    let frame = broken_ip(b);
    // They come from the driver's hook, so that the program there is theirs alone.
    let xdp = xdp(XDP_PASS);
    let _link = attach(b, &xdp, XdpMode::Native).unwrap();
    let run = LiveRun { frame: &frame, interface: b.interface_index(), repeat: sent, batch: 64 };
    b.run(|| {
        let before = broken_headers();
        assert_eq!(xdp.live_run(&run).unwrap(), LiveEnd::Complete);
        broken_headers() - before
    })
}

#[test]
fn tcx_programs_run_in_the_order_that_was_asked_for() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let [next, drop, pass] = [TCX_NEXT, TCX_DROP, TCX_PASS].map(classifier);
    let attach = |program: &Program, position| {
        b.run(|| Link::tcx(program, b.interface_index(), Way::Ingress, position)).unwrap()
    };
    let _next = attach(&next, Position::First);
    assert_eq!(passed(b, 100), 100);
    let _drop = attach(&drop, Position::Last);
    assert_eq!(passed(b, 100), 0);
    let _pass = attach(&pass, Position::First);
    assert_eq!(passed(b, 100), 100);
    let again = b.run(|| Link::tcx(&pass, b.interface_index(), Way::Ingress, Position::Last));
    assert_eq!(again.unwrap_err().kind(), ErrorKind::Busy);
}

#[test]
fn a_link_tells_that_its_interface_is_gone() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let (xdp, classifier) = (xdp(XDP_PASS), classifier(TCX_NEXT));
    let links = b.run(|| {
        let index = b.interface_index();
        [
            Link::xdp(&xdp, index, XdpMode::Native).unwrap(),
            Link::tcx(&classifier, index, Way::Ingress, Position::First).unwrap(),
            Link::tcx(&classifier, index, Way::Egress, Position::First).unwrap(),
        ]
    });
    for link in &links {
        assert_eq!(link.info().unwrap().interface, b.interface_index());
    }
    b.delete_link().unwrap();
    for link in &links {
        assert_eq!(link.info().unwrap().interface, 0);
    }
}

#[test]
fn a_link_stays_with_an_interface_that_is_set_down_and_renamed() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let link = attach(b, &xdp(XDP_PASS), XdpMode::Native).unwrap();
    b.set_link_up(false).unwrap();
    b.rename_link("other").unwrap();
    b.set_link_up(true).unwrap();
    assert_eq!(link.info().unwrap().interface, b.interface_index());
}

#[test]
fn what_is_not_there_or_cannot_be_is_named() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let (xdp, classifier) = (xdp(XDP_PASS), classifier(TCX_NEXT));
    let errors = b.run(|| {
        [
            Link::xdp(&xdp, 999, XdpMode::Native).unwrap_err(),
            Link::tcx(&classifier, 999, Way::Ingress, Position::First).unwrap_err(),
        ]
    });
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
    let lo = b.run(|| Link::xdp(&xdp, 1, XdpMode::Native)).unwrap_err();
    assert_eq!(lo.kind(), ErrorKind::Unsupported, "{lo}");
    // Without the flag for several buffers, a page is too small for what the other end may send.
    lab.host("a").set_mtu(9000).unwrap();
    let jumbo = attach(b, &xdp, XdpMode::Native).unwrap_err();
    assert_eq!(jumbo.kind(), ErrorKind::Unsupported, "{jumbo}");
}
