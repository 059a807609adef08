//! More packets than processors can take: a binary of its own, as it disturbs other tests.

#[path = "cli/seen.rs"]
mod seen;
#[path = "cli/support.rs"]
#[expect(dead_code, reason = "what other tests need")]
mod support;

use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use linerate_lab::traffic::live::{Frame, Load, Sender};
use linerate_lab::{Lab, Offload, need};
use serde_json::Value;

use seen::{examine, finding};
use support::{LINERATE, Live, finish, text};

/// A filter of so many terms, all of which are tried for each packet, and none keeps it.
fn slow_filter(terms: u32) -> String {
    let term =
        |n: u32| format!("udp[{}] * {} + udp[{}] = {}", 8 + n % 17, 3 + n, 9 + n % 16, 1 << 20 | n);
    (0..terms).map(term).collect::<Vec<_>>().join(" or ")
}

/// Two hosts, the second of which takes live frames.
fn live_pair() -> Option<Lab> {
    let plan = Lab::plan().host("a").host("b").quiet().offload(Offload::GenericReceive, true);
    need::root().then(|| plan.build().expect("a lab"))
}

/// As many frames as these cores can send, of a bounded number.
fn flood(lab: &Lab, cores: &[usize]) -> Sender {
    let frame = Frame::mirrored(lab.host("a"), lab.host("b"), 60);
    let (limit, cores) = (Duration::from_secs(20), cores.to_vec());
    let load = Load { limit, cores, ..Load::new(frame, 40_000_000) };
    Sender::start(lab.host("a"), lab.host("b"), &load).expect("a load")
}

/// The processors' backlogs are everybody's.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_slow_filter_is_named() {
    let _alone = alone();
    let Some(lab) = live_pair() else { return };
    let b = lab.host("b");
    // A socket's filter has 4096 instructions at most.
    for (backend, terms) in [("ring", 400), ("tap", 1_500)] {
        let filter = slow_filter(terms);
        let live = Live::start(b, &["--backend", backend, "-w", "/dev/null", &filter]);
        // One core receives what both send.
        let sender = flood(&lab, &[0, 1]);
        let (done, seen) = examine(b, "3s");
        drop(sender);
        let finding = finding(&seen, "slow_filter");
        assert_eq!((done.code(), &finding["stage"]), (3, &Value::from("queue")), "{seen:#}");
        live.interrupt();
    }
}

#[test]
fn a_backlog_that_overruns_is_named() {
    let _alone = alone();
    let Some(lab) = live_pair() else { return };
    let b = lab.host("b");
    // Core 0 hands all packets over to core 1, which has more to do with each of them.
    let mut command = b.command_with_sysfs("sh");
    let setting = format!("echo 2 > /sys/class/net/{}/queues/rx-0/rps_cpus", b.interface());
    assert!(finish(command.args(["-c", &setting])).status.success());
    let live = Live::start(b, &["--backend", "ring", "-w", "/dev/null", &slow_filter(400)]);
    let sender = flood(&lab, &[0]);
    let (done, seen) = examine(b, "3s");
    drop(sender);
    let finding = finding(&seen, "backlog_overrun");
    assert_eq!((done.code(), &finding["stage"]), (3, &Value::from("backlog")), "{seen:#}");
    let drops = seen["kernel_drops"].as_array().expect("a list");
    assert!(drops.iter().any(|drop| drop["function"] == "enqueue_to_backlog"), "{seen:#}");
    live.interrupt();
}

#[test]
fn a_capture_under_full_load_is_profiled() {
    let _alone = alone();
    let Some(lab) = live_pair() else { return };
    let b = lab.host("b");
    let folder = tempfile::tempdir().unwrap();
    let sender = flood(&lab, &[0]);
    for backend in ["ring", "tap"] {
        let mut command = b.command(LINERATE);
        let page = folder.path().join(backend);
        command.args(["profile", "-i", b.interface(), "--backend", backend, "--json"]);
        command.arg("--html").arg(&page);
        let done = finish(command.args(["--for", "2s"]).stdin(Stdio::null())).success();
        let cost: Value = serde_json::from_str(&done.stdout).expect("JSON");
        assert!(cost["classified"].as_f64().unwrap() >= 0.9, "{cost:#}");
        let components = cost["components"].as_array().unwrap();
        let parts: f64 = components.iter().map(|part| part["nanoseconds"].as_f64().unwrap()).sum();
        let whole = cost["nanoseconds"].as_f64().unwrap();
        assert!((parts / whole - 1.0).abs() < 0.01, "{cost:#}");
        let is_hook = |part: &&Value| {
            ["tap", "timestamp", "first_copy"].iter().any(|name| part["component"] == *name)
        };
        let hook = components.iter().filter(is_hook);
        let share: f64 = hook.map(|part| part["share"].as_f64().unwrap()).sum();
        assert!(share > 0.005, "{backend}: {cost:#}");
        let page = std::fs::read_to_string(page).unwrap();
        assert_eq!(page.matches("<svg").count(), 2);
        // The kernel's functions and the program's own have names.
        let titles = || page.lines().filter_map(|line| Some(line.split_once("<title>")?.1));
        let told =
            || titles().map(|title| title.split('<').next().unwrap_or("")).collect::<Vec<_>>();
        assert!(titles().any(|title| title.starts_with("net_rx_action:")), "{:#?}", told());
        assert!(titles().any(|title| title.contains("linerate_capture::")), "{:#?}", told());
    }
    drop(sender);
}

#[test]
fn another_process_is_profiled_by_its_number() {
    let _alone = alone();
    let Some(lab) = live_pair() else { return };
    let b = lab.host("b");
    let live = Live::start(b, &["--backend", "ring", "-w", "/dev/null"]);
    let sender = flood(&lab, &[0]);
    let mut command = b.command(LINERATE);
    command.args(["profile", "-i", b.interface(), "--json", "--for", "1s", "--pid"]);
    let done = finish(command.arg(live.id().to_string()).stdin(Stdio::null())).success();
    drop(sender);
    let cost: Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert!(cost["packets"].as_u64().unwrap() > 0, "{cost:#}");
    assert!(cost["classified"].as_f64().unwrap() >= 0.9, "{cost:#}");
    let share = |name: &str| {
        let parts = cost["components"].as_array().unwrap().iter();
        let part = parts.clone().find(|part| part["component"] == name).expect(name);
        part["share"].as_f64().unwrap()
    };
    assert!(share("tap") > 0.01 && share("user_code") > 0.01, "{cost:#}");
    live.interrupt();
}

#[test]
fn profiles_are_shown_side_by_side_and_what_is_none_is_refused() {
    let _alone = alone();
    let Some(lab) = live_pair() else { return };
    let b = lab.host("b");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("idle.json");
    let mut command = b.command(LINERATE);
    command.args(["profile", "-i", b.interface(), "--json", "--for", "200ms"]);
    let idle = finish(command.stdin(Stdio::null())).success();
    assert!(idle.stderr.contains("no packet came"), "{idle:?}");
    std::fs::write(&file, &idle.stdout).unwrap();
    let compare = |with: &str| {
        let mut command = Command::new(LINERATE);
        finish(command.args(["profile", "--compare", text(&file), with]))
    };
    let both = compare(text(&file)).success();
    assert!(both.stdout.contains("skb allocation"), "{both:?}");
    let refused = compare("/dev/null");
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.stderr.contains("read a profile from /dev/null"), "{refused:?}");
}
