//! What programs may ask drivers about a packet.

use linerate_base::{Error, ErrorKind};
use linerate_bpf::extended::Register::{R0, R2, R10};
use linerate_bpf::extended::{Alu, Instruction, Size};
use linerate_sys::bpf::{Link, LoadError, Program, ProgramKind, ProgramSpec, XdpMode};
use linerate_sys::btf::Btf;
use linerate_sys::netlink::xdp_features;

use crate::support::*;

/// A program that asks when the hardware received a packet and passes it; for one interface.
fn asking(interface: u32) -> Result<Program, LoadError> {
    let btf = Btf::of_kernel().expect("the kernel's BTF");
    let function = btf.function("bpf_xdp_metadata_rx_timestamp").expect("Linux 6.3");
    let words = encode(&[
        Instruction::mov(R2, R10),
        Instruction::alu(Alu::Add, R2, -8),
        Instruction::store(Size::Double, R10, -8, 0),
        Instruction::call_kernel(function),
        Instruction::mov(R0, XDP_PASS),
        Instruction::exit(),
    ]);
    Program::load(&ProgramSpec::new(ProgramKind::Xdp, &words, "asking").bound_to(interface))
}

#[test]
fn a_program_of_one_interface_asks_its_driver() {
    let Some(lab) = quiet_pair() else { return };
    let [a, b] = [lab.host("a"), lab.host("b")];
    let program = b.run(|| asking(b.interface_index())).unwrap_or_else(|e| panic!("{}", e.log()));
    let attach = |mode| b.run(|| Link::xdp(&program, b.interface_index(), mode));
    drop(attach(XdpMode::Native).unwrap());
    let generic = attach(XdpMode::Generic).unwrap_err();
    assert_eq!(generic.kind(), ErrorKind::Invalid, "{generic}");
    let other = a.run(|| Link::xdp(&program, a.interface_index(), XdpMode::Native)).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Unsupported, "{other}");
}

#[test]
fn a_driver_without_metadata_says_so() {
    let Some(lab) = quiet_pair() else { return };
    let loopback = 1;
    let error = Error::from(lab.host("b").run(|| asking(loopback)).unwrap_err());
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

#[test]
fn a_driver_tells_what_it_does() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let features = b.run(|| xdp_features(b.interface_index())).unwrap().expect("Linux 6.3");
    assert!(features.runs_programs() && features.redirects() && features.fragments());
    assert!(features.timestamp() && features.vlan_tag());
    assert!(!features.zero_copy());
}
