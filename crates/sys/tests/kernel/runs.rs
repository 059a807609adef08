//! Programs run on packets that nobody sent.

use linerate_bpf::extended::Instruction;
use linerate_bpf::extended::Register::{R0, R1};
use linerate_bpf::extended::Size;
use linerate_lab::need;
use linerate_sys::bpf::Link;
use linerate_sys::bpf::{LiveEnd, LiveRun, ProgramKind, TestRun, XdpContext, XdpMode};

use crate::support::*;

#[test]
fn verdicts_come_back_as_they_are() {
    if !need::root() {
        return;
    }
    let frame: Vec<u8> = (0..60).collect();
    for (program, verdict) in [(xdp(XDP_DROP), 1), (classifier(TCX_NEXT), u32::MAX)] {
        let result = program.test_run(&TestRun::once(&frame)).unwrap();
        assert_eq!((result.verdict, &result.data), (verdict, &frame));
    }
}

#[test]
fn a_context_says_where_the_packet_came_from() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    // Offset of `ingress_ifindex` in `struct xdp_md`.
    let words = encode(&[Instruction::load(Size::Word, R0, R1, 12), Instruction::exit()]);
    let program = load(ProgramKind::Xdp, &words);
    let _link = b.run(|| Link::xdp(&xdp(XDP_PASS), b.interface_index(), XdpMode::Native)).unwrap();
    let context = XdpContext { ingress_ifindex: b.interface_index(), ..XdpContext::new(60) };
    let context = context.to_bytes();
    let run = TestRun { context: &context, ..TestRun::once(&[0; 60]) };
    let result = b.run(|| program.test_run(&run)).unwrap();
    assert_eq!(result.verdict, b.interface_index());
}

#[test]
fn what_cannot_be_run_is_an_error() {
    if !need::root() {
        return;
    }
    let (xdp, classifier) = (xdp(XDP_DROP), classifier(TCX_NEXT));
    assert!(xdp.test_run(&TestRun::once(&[0; 4])).is_err());
    let live = LiveRun { frame: &[0; 60], interface: 0, repeat: 1, batch: 257 };
    assert_eq!(xdp.live_run(&live).unwrap_err().raw_os_error(), Some(7));
    assert_eq!(classifier.live_run(&live).unwrap_err().raw_os_error(), Some(22));
}

#[test]
fn live_frames_reach_the_interface() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let before = b.run(broken_headers);
    let frame = broken_ip(b);
    let program = xdp(XDP_PASS);
    let _link = b.run(|| Link::xdp(&program, b.interface_index(), XdpMode::Native)).unwrap();
    let run = LiveRun { frame: &frame, interface: b.interface_index(), repeat: 1000, batch: 64 };
    assert_eq!(b.run(|| program.live_run(&run)).unwrap(), LiveEnd::Complete);
    assert_eq!(b.run(broken_headers) - before, 1000);
}
