//! Capabilities missing one by one: the error names the one that is.

use linerate_base::{Error, ErrorKind};
use linerate_bpf::extended::Register::{R0, R1, R2};
use linerate_bpf::extended::{Alu, Instruction, Size};
use linerate_lab::need;
use linerate_sys::bpf::{Map, MapSpec, ProgramKind};
use linerate_sys::capability::Capability::{self, Bpf, NetAdmin};
use linerate_sys::capability::limit_capabilities;

use crate::support::*;

/// What `work` gives on a thread with no other capabilities than `kept`.
fn with<T: Send>(kept: &[Capability], work: impl FnOnce() -> T + Send) -> T {
    let limited = || {
        limit_capabilities(kept).unwrap();
        work()
    };
    std::thread::scope(|scope| scope.spawn(limited).join().unwrap())
}

fn assert_lacks(error: &Error, capability: &str) {
    assert_eq!(error.kind(), ErrorKind::Permission, "{error}");
    assert!(error.to_string().contains(&format!("lacks {capability})")), "{error}");
}

#[test]
fn maps_and_programs_say_which_capability_is_missing() {
    if !need::root() {
        return;
    }
    let trie = MapSpec::lpm_trie("test", 4, 4, 1);
    assert_lacks(&with(&[NetAdmin], || Map::new(&trie)).unwrap_err(), "CAP_BPF");
    assert!(with(&[Bpf], || Map::new(&trie)).is_ok());
    let sockets = MapSpec::xsk_map("test", 1);
    assert_lacks(&with(&[Bpf], || Map::new(&sockets)).unwrap_err(), "CAP_NET_ADMIN");
    for kind in [ProgramKind::Xdp, ProgramKind::Classifier] {
        let load =
            |kept: &[Capability]| with(kept, || try_load(kind, &returning(2)).map_err(Error::from));
        assert_lacks(&load(&[NetAdmin]).unwrap_err(), "CAP_BPF");
        assert_lacks(&load(&[Bpf]).unwrap_err(), "CAP_NET_ADMIN");
        assert_lacks(&load(&[]).unwrap_err(), "CAP_BPF and CAP_NET_ADMIN");
        assert!(load(&[Bpf, NetAdmin]).is_ok());
    }
    let filter = with(&[], || try_load(ProgramKind::SocketFilter, &returning(0)));
    assert_lacks(&filter.map_err(Error::from).unwrap_err(), "CAP_BPF");
}

#[test]
fn a_program_that_only_the_missing_capability_forbids_is_refused_with_its_name() {
    if !need::root() {
        return;
    }
    // The length of a packet as a difference of pointers, `data_end` - `data`.
    let program = encode(&[
        Instruction::load(Size::Word, R0, R1, 4),
        Instruction::load(Size::Word, R2, R1, 0),
        Instruction::alu(Alu::Sub, R0, R2),
        Instruction::exit(),
    ]);
    assert!(try_load(ProgramKind::Xdp, &program).is_ok());
    let refused = with(&[Bpf, NetAdmin], || try_load(ProgramKind::Xdp, &program)).unwrap_err();
    assert!(refused.to_string().contains("CAP_PERFMON"), "{refused}");
    assert!(refused.log().contains("prohibited"), "{}", refused.log());
}
