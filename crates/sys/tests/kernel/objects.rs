//! Programs, maps and links by their numbers.

use linerate_sys::bpf::{Attached, Link, Map, MapSpec, Object, Position, Way};

use crate::support::*;

#[test]
fn objects_are_there_while_somebody_holds_them() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let program = classifier(TCX_NEXT);
    let map = Map::new(&MapSpec::array("test", 8, 1)).unwrap();
    let link =
        b.run(|| Link::tcx(&program, b.interface_index(), Way::Ingress, Position::First)).unwrap();
    let info = link.info().unwrap();
    let held = Object::of_process(std::process::id()).unwrap();
    for object in [Object::Program(info.program), Object::Link(info.id)] {
        assert!(held.contains(&object) && object.exists().unwrap(), "{object:?} of {held:?}");
    }
    assert!(held.iter().any(|object| matches!(object, Object::Map(_))), "{held:?}");
    let attached = Attached { program: info.program, interface: b.interface_index() };
    assert!(Attached::by_process(std::process::id()).unwrap().contains(&attached));
    drop((program, map));
    assert!(Object::Program(info.program).exists().unwrap(), "the link holds it");
    drop(link);
    while Object::Link(info.id).exists().unwrap() || Object::Program(info.program).exists().unwrap()
    {
        std::thread::yield_now();
    }
}
