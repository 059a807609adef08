//! What is said of an interface is what happens on it.

use linerate_capture::{Backend, Capturable, Config, Prober, Support, interfaces, open};
use linerate_sys::capability::Capability::{self, Bpf, NetAdmin, NetRaw};
use linerate_sys::capability::limit_capabilities;
use linerate_sys::{interface, netlink};

use crate::common::*;

/// What has this name in the calling thread's namespace.
fn capturable(name: &str) -> Capturable {
    interfaces().unwrap().into_iter().find(|capturable| capturable.name == name).unwrap()
}

#[test]
fn a_capture_takes_the_back_end_that_was_foretold() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let capturable = b.run(|| capturable(b.interface()));
    let sets: [&[Capability]; 4] = [&[NetRaw], &[NetRaw, Bpf], &[NetRaw, NetAdmin, Bpf], &[]];
    for kept in sets {
        b.run(|| {
            limit_capabilities(kept).unwrap();
            let probe = Prober::new().probe(&capturable);
            let config = Config { backend: None, ..config(b, Backend::Socket) };
            let opened = open(&config).ok().map(|capture| capture.backend);
            assert_eq!(probe.chosen, opened, "{kept:?}: {probe:?}");
        });
    }
}

#[test]
fn an_exclusive_capture_begins_where_that_was_foretold() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    b.run(|| {
        netlink::create_bridge("spare").unwrap();
        netlink::set_link_up(interface::index("spare").unwrap(), true).unwrap();
        for (name, expected) in [("spare", true), (b.interface(), false)] {
            let probe = Prober::new().probe(&capturable(name));
            assert_eq!(probe.exclusive == Support::Yes, expected, "{name}: {probe:?}");
            let config = config(b, Backend::TapXdp);
            let config = Config { interface: name.into(), exclusive: true, ..config };
            assert_eq!(open(&config).is_ok(), expected, "{name}");
        }
    });
}

#[test]
fn another_owners_xdp_program_is_told_of() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let _owner = open_on(b, &config(b, Backend::TapXdp));
    let probe = b.run(|| Prober::new().probe(&capturable(b.interface())));
    for (backend, support) in probe.backends {
        let taken = matches!(&support, Support::No(reason) if reason.contains("another XDP"));
        let at_xdp = [Backend::TapXdp, Backend::Xdp].contains(&backend);
        assert_eq!(taken, at_xdp, "{backend}: {support:?}");
        let config = Config { force: true, ..config(b, backend) };
        let busy = b.run(|| open(&config).map(drop)).is_err();
        assert_eq!(busy, at_xdp, "{backend}");
    }
}

#[test]
fn packets_that_no_frame_holds_are_not_for_af_xdp() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let config = Config { force: true, ..config(b, Backend::Xdp) };
    for (mtu, expected) in [(3818, true), (3819, false), (9000, false)] {
        b.set_mtu(mtu).unwrap();
        let probe = b.run(|| Prober::new().probe(&capturable(b.interface())));
        let (_, support) = probe.backends.iter().find(|(one, _)| *one == Backend::Xdp).unwrap();
        assert_eq!(*support == Support::Yes, expected, "MTU {mtu}: {support:?}");
        assert_eq!(b.run(|| open(&config).is_ok()), expected, "MTU {mtu}");
    }
    let lo = b.run(|| Prober::new().probe(&capturable("lo")));
    let refused = Support::No("it takes an MTU of 3818 at most".into());
    assert!(lo.backends.contains(&(Backend::Xdp, refused)), "{lo:?}");
}
