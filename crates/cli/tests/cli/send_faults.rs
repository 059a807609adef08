//! What goes wrong while packets are sent, by every way out: nothing is lost uncounted, and an error says what to do.

use std::process::Stdio;
use std::time::{Duration, Instant};

use linerate_lab::{Child, Host, Lab, Offload, need};
use serde_json::Value;

use crate::send::send;
use crate::support::{Finished, LINERATE, finish, kill_sender, quiet_pair, start, wait};

const BACKENDS: [&str; 5] = ["live", "xdp", "ring", "mmsg", "socket"];

/// Packets to nobody.
const PACKETS: &str = "Ether(dst=\"02:00:00:00:00:99\")/IP(dst=\"10.64.0.1\")/UDP()";

/// A silent pair of hosts of which `b` takes live frames.
fn pair() -> Option<Lab> {
    let plan = Lab::plan().host("a").host("b").quiet().without_offloads();
    need::root().then(|| plan.offload(Offload::GenericReceive, true).build().expect("a lab"))
}

/// A packet every millisecond for an hour, from `a`, of which some have arrived.
fn sending(lab: &Lab, backend: &str) -> Child {
    let (a, b) = (lab.host("a"), lab.host("b"));
    let before = received(b);
    let mut command = a.command(LINERATE);
    command.args(["send", "-i", a.interface(), "--backend", backend, "--json"]);
    command.args(["-r", "1000", "--for", "1h", PACKETS]);
    let child = start(command);
    eventually(|| received(b) > before + 5);
    child
}

fn received(host: &Host) -> u64 {
    host.counters().unwrap().received
}

/// Waits for what comes soon on a quiet machine.
fn eventually(mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(30), "it never came true");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The summary for programs; its sum balances.
fn record(done: &Finished) -> Value {
    let record = done.json();
    let number = |name: &str| record[name].as_u64().unwrap();
    assert_eq!(number("submitted"), number("sent") + number("refused"), "{done:?}");
    record
}

/// What `send` says when this happens in the middle.
fn during(backend: &str, fault: impl Fn(&mut Lab)) -> Option<Finished> {
    let mut lab = pair()?;
    let child = sending(&lab, backend);
    fault(&mut lab);
    let done = wait(child);
    assert_eq!((done.code(), &record(&done)["end"]), (1, &Value::Null), "{backend}: {done:?}");
    Some(done)
}

#[test]
fn a_link_that_goes_down_is_named() {
    for backend in BACKENDS {
        let Some(done) = during(backend, |lab| lab.host("a").set_link_up(false).unwrap()) else {
            return;
        };
        assert!(done.stderr.contains("went down"), "{backend}: {done:?}");
        assert!(done.stderr.contains("frames sent meanwhile may be lost"), "{backend}: {done:?}");
    }
}

#[test]
fn a_peer_that_is_deleted_or_whose_namespace_goes_takes_the_wire_with_it() {
    let delete = |lab: &mut Lab| lab.host("b").delete_link().unwrap();
    let faults: [fn(&mut Lab); 2] = [delete, |lab| lab.remove("b")];
    for (backend, fault) in BACKENDS.into_iter().flat_map(|b| faults.map(|fault| (b, fault))) {
        let Some(done) = during(backend, fault) else { return };
        let words = "the interface was deleted, or moved to another namespace";
        assert!(done.stderr.contains(words), "{backend}: {done:?}");
        assert!(done.stderr.contains("make it anew and send again"), "{backend}: {done:?}");
    }
}

#[test]
fn an_interrupt_ends_every_way_out_with_a_summary() {
    let Some(lab) = pair() else { return };
    let b = lab.host("b");
    for backend in BACKENDS {
        let before = received(b);
        let child = sending(&lab, backend);
        child.interrupt().unwrap();
        let done = wait(child).success();
        let record = record(&done);
        assert_eq!((&record["end"], &record["backend"]), (&"stopped".into(), &backend.into()));
        let sent = record["sent"].as_u64().unwrap();
        eventually(|| received(b) - before == sent);
    }
}

#[test]
fn a_killed_sender_leaves_nothing_that_sends() {
    let Some(lab) = pair() else { return };
    let a = lab.host("a");
    for backend in BACKENDS {
        kill_sender(sending(&lab, backend), a, backend);
        send(a, &["--backend", backend, PACKETS]).success();
    }
}

#[test]
fn frames_longer_than_the_mtu_are_refused_with_advice() {
    let Some(lab) = pair() else { return };
    for backend in BACKENDS {
        let packets = format!("{PACKETS}/Raw(size=1473)");
        let done = send(lab.host("a"), &["--backend", backend, &packets]);
        assert_eq!(done.code(), 1, "{backend}: {done:?}");
        assert!(done.stderr.contains("MTU of 1500 bytes"), "{backend}: {done:?}");
        assert!(done.stderr.contains("`ip link set mtu`"), "{backend}: {done:?}");
    }
}

#[test]
fn a_device_that_takes_no_redirected_frames_says_what_to_do() {
    let Some(lab) = quiet_pair() else { return };
    let done = send(lab.host("a"), &["--backend", "live", PACKETS]);
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(done.stderr.contains("the peer must have GRO switched on"), "{done:?}");
}

/// A queueing discipline that holds a few frames, and lets few go: what it drops is ENOBUFS to the sender, what it holds
/// fills the socket's buffer until that is EAGAIN.
#[test]
fn a_queue_without_room_loses_nothing_uncounted() {
    let Some(lab) = quiet_pair() else { return };
    if !need::program("tc", "iproute2") {
        return;
    }
    let (a, b) = (lab.host("a"), lab.host("b"));
    for limit in ["3000", "30000000"] {
        let mut queue = a.command("tc");
        queue.args(["qdisc", "replace", "dev", a.interface(), "root", "tbf"]);
        finish(queue.args(["rate", "40mbit", "burst", "5000", "limit", limit])).success();
        for backend in &BACKENDS[1..] {
            let before = received(b);
            let packets = format!("{PACKETS}/Raw(size=1000)");
            let args = ["--backend", backend, "--json", "-r", "max", "-c", "1000", &packets];
            let record = record(&send(a, &args).success());
            assert_eq!((&record["submitted"], &record["end"]), (&1000.into(), &"complete".into()));
            let sent = record["sent"].as_u64().unwrap();
            assert!(sent > 0, "{backend}: {record}");
            eventually(|| received(b) - before >= sent);
            assert_eq!(received(b) - before, sent, "{backend}, limit {limit}: {record}");
        }
    }
}

/// A megabit a second: what waits for the device would need seconds to leave. AF_XDP goes past the queue.
#[test]
fn an_interrupt_does_not_wait_for_a_slow_device() {
    let Some(lab) = quiet_pair() else { return };
    if !need::program("tc", "iproute2") {
        return;
    }
    let (a, b) = (lab.host("a"), lab.host("b"));
    let mut queue = a.command("tc");
    queue.args(["qdisc", "replace", "dev", a.interface(), "root", "tbf"]);
    finish(queue.args(["rate", "1mbit", "burst", "5000", "limit", "3000"])).success();
    for backend in ["ring", "mmsg", "socket"] {
        let before = received(b);
        let mut command = a.command(LINERATE);
        command.args(["send", "-i", a.interface(), "--backend", backend, "--json", "-r", "max"]);
        let packets = format!("{PACKETS}/Raw(size=1400)");
        command.args(["--for", "1h", &packets]);
        let child = start(command);
        eventually(|| received(b) > before);
        child.interrupt().unwrap();
        let record = record(&wait(child).success());
        assert_eq!(record["end"], "stopped", "{backend}");
        assert!(record["refused"].as_u64().unwrap() > 0, "{backend}: it waited: {record}");
        let sent = record["sent"].as_u64().unwrap();
        eventually(|| received(b) - before >= sent);
        assert_eq!(received(b) - before, sent, "{backend}: {record}");
    }
}

#[test]
fn a_next_hop_is_asked_for_its_hardware_address() {
    let Some(lab) = need::root().then(|| Lab::pair().unwrap()) else { return };
    if !need::program("ip", "iproute2") {
        return;
    }
    let (a, b) = (lab.host("a"), lab.host("b"));
    let mut route = a.command("ip");
    let gateway = b.ipv4().to_string();
    finish(route.args(["route", "add", "10.64.0.0/10", "via", &gateway])).success();
    // Neighbours are solicited from a link-local address, which hosts of a lab do not have.
    let mut address = a.command("ip");
    let args = ["-6", "addr", "add", "fe80::1/64", "dev", a.interface(), "nodad"];
    finish(address.args(args)).success();
    let mac = b.mac().map(|byte| format!("{byte:02x}")).join(":");
    // Who only looks asks nobody.
    let shown = send(a, &["--show=1", "IP(dst=\"10.64.0.1\")/UDP()"]);
    let note = format!("the hardware address of {gateway} is asked for when sending");
    assert!(shown.success().stderr.contains(&note));
    for packets in
        ["IP(dst=\"10.64.0.1\")/UDP()".to_owned(), format!("IPv6(dst=\"{}\")/UDP()", b.ipv6())]
    {
        send(a, &[&packets]).success();
        let shown = send(a, &["--show=1", "-e", &packets]).success();
        assert!(shown.stdout.contains(&mac), "{shown:?}");
    }
    // Of a network, the first that can be a neighbour: not the network's own address, nor ours.
    let [x, y, z, _] = b.ipv4().octets();
    let many = send(a, &["-c", "3", &format!("IP(dst=\"{x}.{y}.{z}.0/24\")/UDP()")]).success();
    let note = format!("Ether.dst: {mac}, that of {gateway}, for all 256 values of IP.dst");
    assert!(many.stderr.contains(&note), "{many:?}");
    let silent = send(a, &["IP(dst=\"10.0.0.77\")/UDP()"]);
    assert_eq!(silent.code(), 2, "{silent:?}");
    assert!(silent.stderr.contains("10.0.0.77 does not answer"), "{silent:?}");
    assert!(silent.stderr.contains("say where packets go first: Ether(dst="), "{silent:?}");
}

#[test]
fn a_terminal_shows_how_far_it_is() {
    let Some(lab) = quiet_pair() else { return };
    if !need::program("script", "bsdutils") {
        return;
    }
    let a = lab.host("a");
    let line = format!("{LINERATE} send -i {} -r 1000 --for 1500ms '{PACKETS}'", a.interface());
    let mut command = a.command("script");
    let done = finish(command.args(["-qec", &line, "/dev/null"]).stdin(Stdio::null())).success();
    assert!(done.stdout.contains(" packets  ") && done.stdout.contains("/s"), "{done:?}");
    assert!(done.stdout.contains("packets sent in"), "{done:?}");
}
