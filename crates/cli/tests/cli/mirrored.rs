//! Two hosts, of which one is every address of some prefixes, by `linerate mirror`.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use linerate::tcp::mirror::{Answer, Behaviour, Ending, Mirror};
use linerate_lab::{Lab, need};

use crate::support::{Live, finish};

/// Two hosts, of which `b` answers for 10.64.0.0/16 behind it, and for some neighbours.
pub(crate) fn lab() -> Option<Lab> {
    let plan = Lab::plan().host("a").host("b").without_offloads();
    let lab = need::root().then(|| plan.build().expect("a lab"))?;
    let route = ["route", "add", "10.64.0.0/16", "via", "10.0.0.2"];
    finish(lab.host("a").command("ip").args(route)).success();
    // Neighbour solicitations that the kernel sends when it is asked to are from a link-local address.
    let address = ["addr", "add", "fe80::1/64", "dev", lab.host("a").interface(), "nodad"];
    finish(lab.host("a").command("ip").args(address)).success();
    Some(lab)
}

/// What `b` answers for.
pub(crate) const PREFIXES: [&str; 3] = ["10.64.0.0/16", "10.0.0.64/28", "fd00::100/124"];

/// Starts a mirror on `b`.
pub(crate) fn mirror(lab: &Lab, args: &[&str]) -> Live {
    Live::mirror(lab.host("b"), &[args, &PREFIXES].concat())
}

/// Three hosts on a wire. By `b` and `c` lead the ways to 10.64.0.0/24 and to 10.65.0.0/24; [`CROSSED`] is answered for by both,
/// each what is behind it and some neighbours, and of [`LOST`] nobody is there.
pub(crate) fn crossroads() -> Option<(Lab, [Live; 2])> {
    let plan = Lab::plan().host("a").host("b").host("c").without_offloads();
    let lab = need::root().then(|| plan.build().expect("a lab"))?;
    let a = lab.host("a");
    for (network, router) in [("10.64.0.0/24", "10.0.0.2"), ("10.65.0.0/24", "10.0.0.3")] {
        finish(a.command("ip").args(["route", "add", network, "via", router])).success();
    }
    let address = ["addr", "add", "fe80::1/64", "dev", a.interface(), "nodad"];
    finish(a.command("ip").args(address)).success();
    let mirrors = [
        Live::mirror(lab.host("b"), &["10.64.0.0/24", "10.0.0.64/28"]),
        Live::mirror(lab.host("c"), &["10.65.0.0/24", "10.0.0.80/28", "fd00::100/124"]),
    ];
    Some((lab, mirrors))
}

/// 80 addresses at crossroads.
pub(crate) const CROSSED: [&str; 4] =
    ["10.64.0.0/28", "10.65.0.0/28", "10.0.0.64/27", "fd00::100/124"];

/// Two that nobody has, the host's own, and one that is everybody's.
pub(crate) const LOST: [&str; 3] = ["10.0.0.96/31", "10.0.0.1", "10.0.0.255"];

/// The rows behind the line of names, without their order.
pub(crate) fn rows(csv: &str) -> BTreeSet<String> {
    let rows: BTreeSet<_> = csv.lines().skip(1).map(str::to_owned).collect();
    assert_eq!(rows.len() + 1, csv.lines().count(), "each answer once");
    rows
}

/// The addresses below 10.64.0.0 + `count` at which a mirror that one of so many has answers.
pub(crate) fn answering(count: u32, one_of: u32) -> Vec<IpAddr> {
    let mirror = Mirror::new(Behaviour {
        mac: [0; 6],
        ports: vec![],
        answer: Answer::Bytes(vec![]),
        ending: Ending::Fin,
        one_of,
    });
    let all = (0..count).map(|n| IpAddr::from(Ipv4Addr::from_bits(0x0a40_0000 + n)));
    all.filter(|address| mirror.answers(*address)).collect()
}

/// Waits until a file has so many lines.
pub(crate) fn wait_for_rows(file: &Path, count: usize) {
    let start = Instant::now();
    let rows = || fs::read_to_string(file).map_or(0, |text| text.lines().count());
    while rows() < count {
        assert!(start.elapsed() < Duration::from_secs(60), "{count} rows do not come");
        thread::sleep(Duration::from_millis(20));
    }
}
