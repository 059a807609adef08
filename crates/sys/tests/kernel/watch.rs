//! What a watch hears of an interface.

use std::os::fd::AsFd;
use std::time::Duration;

use linerate_lab::Host;
use linerate_sys::event::poll;
use linerate_sys::netlink::LinkChange::{Down, Gone, Mtu, Renamed, Up};
use linerate_sys::netlink::{LinkChange, LinkWatch};

use crate::support::quiet_pair;

fn watch(host: &Host) -> LinkWatch {
    host.run(|| LinkWatch::of(host.interface_index())).unwrap()
}

/// Waits for a change and returns all that were told with it.
fn next(watch: &mut LinkWatch) -> Vec<LinkChange> {
    loop {
        let [ready] = poll([watch.as_fd()], Duration::from_secs(10)).unwrap();
        assert!(ready.readable, "nothing was told");
        let changes = watch.read().unwrap();
        if !changes.is_empty() {
            return changes;
        }
    }
}

#[test]
fn every_change_is_told_once_and_in_order() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let mut watch = watch(b);
    assert_eq!(watch.read().unwrap(), []);
    b.set_mtu(1400).unwrap();
    assert_eq!(next(&mut watch), [Mtu(1400)]);
    b.set_link_up(false).unwrap();
    b.rename_link("other").unwrap();
    b.set_link_up(true).unwrap();
    assert_eq!(next(&mut watch), [Down, Renamed("other".into()), Up]);
    b.delete_link().unwrap();
    assert_eq!(next(&mut watch), [Down, Gone]);
    assert_eq!(watch.read().unwrap(), []);
}

#[test]
fn an_interface_that_is_not_there_is_gone() {
    let Some(lab) = quiet_pair() else { return };
    let mut watch = lab.host("b").run(|| LinkWatch::of(999)).unwrap();
    assert_eq!(watch.read().unwrap(), [Gone]);
}

#[test]
fn after_more_news_than_the_socket_holds_the_last_state_is_told() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let mut watch = watch(b);
    for round in 0..2000 {
        b.set_mtu(1300 + round % 2).unwrap();
    }
    b.set_mtu(1400).unwrap();
    b.set_link_up(false).unwrap();
    let changes = next(&mut watch);
    assert!(changes.len() < 2000, "no news were lost");
    assert_eq!(changes.last(), Some(&Down));
    let mtu = |change: &&LinkChange| matches!(change, Mtu(_));
    assert_eq!(changes.iter().rfind(mtu), Some(&Mtu(1400)));
}
