//! Wires break in every way that a test may ask for.

use linerate_base::ErrorKind;
use linerate_lab::{Host, Lab, need};
use linerate_sys::interface::{self, Interface};

fn wire(host: &Host) -> Interface {
    host.run(|| interface::by_name(host.interface())).unwrap()
}

#[test]
fn a_link_goes_down_and_up() {
    if !need::root() {
        return;
    }
    let lab = Lab::pair().unwrap();
    let (a, b) = (lab.host("a"), lab.host("b"));
    a.set_link_up(false).unwrap();
    assert!(!wire(a).is_up);
    assert!(wire(b).is_up && !wire(b).is_running);
    a.set_link_up(true).unwrap();
    assert!(wire(a).is_running && wire(b).is_running);
}

#[test]
fn a_link_gets_another_name_and_mtu() {
    if !need::root() {
        return;
    }
    let lab = Lab::pair().unwrap();
    let a = lab.host("a");
    a.rename_link("other").unwrap();
    a.set_mtu(1280).unwrap();
    let found = a.run(|| interface::by_name("other")).unwrap();
    assert_eq!((found.index, found.mtu), (a.interface_index(), 1280));
    let error = a.set_mtu(20).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.advice().is_some_and(|advice| advice.contains("mtu")), "{error}");
}

#[test]
fn deleting_a_link_takes_both_ends() {
    if !need::root() {
        return;
    }
    let lab = Lab::pair().unwrap();
    lab.host("a").delete_link().unwrap();
    for host in lab.hosts() {
        let names: Vec<_> =
            host.run(interface::list).unwrap().into_iter().map(|i| i.name).collect();
        assert_eq!(names, ["lo"]);
    }
    assert!(lab.host("a").delete_link().is_err());
}
