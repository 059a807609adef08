//! Which back end is taken.

use linerate_base::{ErrorKind, TimestampSource};
use linerate_capture::{ANY, Backend, Capture, Config, Directions, Fanout, FanoutMode, open};
use linerate_lab::Host;
use linerate_lab::traffic::send_frames;
use linerate_sys::capability::{Capability, limit_capabilities};

use crate::common::*;

fn opened(host: &Host, config: &Config) -> Capture {
    open_on(host, &Config { backend: None, ..config.clone() })
}

#[test]
fn the_tap_is_preferred_where_it_can_do_what_is_asked() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let plain = config(b, Backend::Tap);
    let fanout = Some(Fanout { mode: FanoutMode::Hash, group: None });
    for (config, expected) in [
        (plain.clone(), Backend::Tap),
        (Config { immediate: true, ..plain.clone() }, Backend::Tap),
        (Config { interface: "lo".into(), ..plain.clone() }, Backend::Tap),
        (Config { interface: ANY.into(), ..plain.clone() }, Backend::Ring),
        (Config { fanout, ..plain.clone() }, Backend::Ring),
        (Config { interface: ANY.into(), immediate: true, ..plain }, Backend::Socket),
    ] {
        let capture = opened(b, &config);
        assert_eq!((capture.backend, &capture.notes[..]), (expected, &[][..]));
    }
}

#[test]
fn without_the_privilege_for_a_tap_the_ring_is_taken_and_a_note_says_what_is_missing() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for (has, missing) in [
        (&[Capability::NetRaw][..], "CAP_BPF"),
        (&[Capability::NetRaw, Capability::Bpf], "CAP_NET_ADMIN"),
        (&[Capability::NetRaw, Capability::NetAdmin], "CAP_BPF"),
    ] {
        let config = Config { backend: None, ..config(b, Backend::Tap) };
        let mut capture = b.run(|| {
            limit_capabilities(has).unwrap();
            open(&config).unwrap_or_else(|e| panic!("{e}"))
        });
        assert_eq!(capture.backend, Backend::Ring);
        let [note] = &capture.notes[..] else { panic!("{:?}", capture.notes) };
        assert!(note.contains(&format!("this process lacks {missing}")), "{note}");
        send_frames(lab.host("a"), &frames(10, 60)).unwrap();
        assert_eq!(fetch(&mut capture.source, 10).len(), 10);
    }
}

#[test]
fn cap_bpf_net_admin_and_net_raw_are_all_that_a_tap_needs() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for backend in [Backend::Tap, Backend::TapXdp] {
        let filter = crate::gate::filter(Some(crate::gate::every_fourth()));
        let config = Config { filter, ..config(b, backend) };
        let mut capture = b.run(|| {
            limit_capabilities(&[Capability::NetRaw, Capability::NetAdmin, Capability::Bpf])
                .unwrap();
            open(&config).unwrap_or_else(|e| panic!("{e}"))
        });
        assert_eq!(capture.notes, [] as [String; 0]);
        send_frames(lab.host("a"), &frames(20, 60)).unwrap();
        assert_eq!(fetch(&mut capture.source, 5).len(), 5);
    }
}

#[test]
fn exclusive_capture_leaves_the_hosts_own_interfaces_alone_unless_forced() {
    if !linerate_lab::need::root() {
        return;
    }
    let lab = linerate_lab::Lab::plan().host("a").host("b").build().unwrap();
    let b = lab.host("b");
    let exclusive = Config { exclusive: true, backend: None, ..config(b, Backend::TapXdp) };
    let error = b.run(|| open(&exclusive).map(drop)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.answered().contains("address"), "{error}");
    let capture = open_on(b, &Config { force: true, ..exclusive.clone() });
    assert_eq!(capture.backend, Backend::TapXdp);
    for backend in TWO_WAY {
        let config = Config { backend: Some(backend), force: true, ..exclusive.clone() };
        let error = b.run(|| open(&config).map(drop)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
}

#[test]
fn what_a_back_end_cannot_do_is_an_error_with_its_name() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let fanout = Some(Fanout { mode: FanoutMode::Hash, group: None });
    let direction = Directions::Out;
    let tap = config(b, Backend::Tap);
    for (config, kind) in [
        (Config { interface: ANY.into(), ..tap.clone() }, ErrorKind::Unsupported),
        (Config { fanout, ..tap.clone() }, ErrorKind::Invalid),
        (Config { direction, ..config(b, Backend::TapXdp) }, ErrorKind::Invalid),
    ] {
        let error = b.run(|| open(&config).map(drop)).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.asked().contains("back end tap"), "{error}");
    }
}

#[test]
fn advice_names_what_can_do_all_that_was_asked_for() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let advice = |config: Config, word: &str| {
        let error = b.run(|| open(&config).map(drop)).unwrap_err();
        let advice = error.advice().unwrap_or_else(|| panic!("{error}"));
        assert!(advice.contains(word), "{error}");
        error.asked().to_owned()
    };
    let sampled = |config| Config { timestamps: TimestampSource::Sampled, ..config };
    for backend in [Backend::Xdp, Backend::Ring, Backend::Socket] {
        advice(sampled(config(b, backend)), "tap and tap-xdp have them");
    }
    let any = Config { interface: ANY.into(), backend: None, ..config(b, Backend::Tap) };
    let asked = advice(sampled(any.clone()), "name the interface");
    assert_eq!(asked, "capture on any with sampled timestamps");
    let asked = advice(Config { exclusive: true, ..any }, "name the interface");
    assert!(!asked.contains("back end"), "{asked}");
    for backend in [Backend::TapXdp, Backend::Xdp] {
        let out = Config { direction: Directions::Out, ..config(b, backend) };
        advice(out.clone(), "tap");
        advice(Config { exclusive: true, force: true, ..out }, "leave out the direction");
    }
}

#[test]
fn who_asks_for_both_directions_at_the_xdp_hook_is_told_that_only_one_comes() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let both = Config { direction: Directions::Both, ..config(b, Backend::TapXdp) };
    let exclusive = Config { exclusive: true, force: true, backend: None, ..both.clone() };
    for config in [both, exclusive] {
        let capture = open_on(b, &config);
        assert_eq!(capture.notes, ["received packets only are captured"]);
    }
}
