//! Programs, maps and links by their numbers.

use linerate_lab::need;
use linerate_sys::bpf::{
    Attached, Link, Map, MapSpec, Object, Part, Position, Program, ProgramKind, ProgramSpec, Way,
    compiled_parts,
};

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

#[test]
fn parts_of_a_loaded_program_are_told_in_their_order() {
    if !need::root() {
        return;
    }
    const NAME: &str = "test_parts";
    let words = returning(XDP_PASS);
    let parts = [Part { instruction: 0, name: "verdict" }, Part { instruction: 1, name: "end" }];
    let spec = ProgramSpec::new(ProgramKind::Xdp, &words, NAME).with_parts(&parts);
    let program = Program::load(&spec).unwrap_or_else(|e| panic!("{e}"));
    let told = compiled_parts(NAME).unwrap();
    let names: Vec<_> = told.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["verdict", "end"]);
    assert!(told[0].address < told[1].address, "{told:?}");
    assert_eq!(compiled_parts("test_part").unwrap(), []);
    drop(program);
}
