//! Nothing is left of a lab that was dropped, or whose owner panicked.
//! What a killed process leaves is looked at in `processes.rs`.

use std::panic::catch_unwind;
use std::thread;

use crate::common::{is_held, wait_until};
use linerate_lab::{Lab, need};
use linerate_sys::interface;
use linerate_sys::netns::Namespace;

/// Keeps hold of host `b` only. The wire goes with host `a`'s namespace.
fn check_gone(a: u64, b: &Namespace) {
    wait_until("the namespace is let go", || !is_held(a));
    wait_until("the wire is gone", || {
        thread::scope(|scope| {
            let look = scope.spawn(|| {
                b.enter().unwrap();
                interface::index("wire0").is_err()
            });
            look.join().unwrap()
        })
    });
}

fn holds(lab: &Lab) -> (u64, Namespace) {
    let a = lab.host("a").namespace().id().unwrap();
    (a, lab.host("b").namespace().try_clone().unwrap())
}

#[test]
fn a_lab_ends_when_it_is_dropped() {
    if !need::root() {
        return;
    }
    let lab = Lab::pair().unwrap();
    let (a, b) = holds(&lab);
    assert!(is_held(a));
    drop(lab);
    check_gone(a, &b);
}

#[test]
fn a_lab_ends_when_its_owner_panics() {
    if !need::root() {
        return;
    }
    let panic = catch_unwind(|| {
        let lab = Lab::pair().unwrap();
        std::panic::panic_any(holds(&lab));
    });
    let (a, b) = *panic.unwrap_err().downcast::<(u64, Namespace)>().unwrap();
    check_gone(a, &b);
}

#[test]
fn many_labs_live_side_by_side() {
    if !need::root() {
        return;
    }
    let builders: Vec<_> = (0..16).map(|_| thread::spawn(|| Lab::pair().unwrap())).collect();
    let labs: Vec<_> = builders.into_iter().map(|builder| builder.join().unwrap()).collect();
    let holds: Vec<_> = labs.iter().map(holds).collect();
    drop(labs);
    holds.iter().for_each(|(a, b)| check_gone(*a, b));
}
