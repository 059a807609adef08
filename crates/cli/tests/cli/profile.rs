//! `linerate profile` where not everything may be looked at: what can be known is told, and a line says what would
//! allow the rest.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use linerate_lab::{Child, Lab, need};
use serde_json::Value;

use crate::support::{Finished, LINERATE, finish, quiet_pair, send};

/// Runs a command that prints an object, while packets come.
fn run_under_traffic(lab: &Lab, command: &mut Command) -> (Finished, Value) {
    let done = thread::scope(|scope| {
        let running = scope.spawn(|| finish(command.stdin(Stdio::null())));
        while !running.is_finished() {
            send(lab, 7, 100);
            thread::sleep(Duration::from_millis(10));
        }
        running.join().expect("no panic").success()
    });
    let object = serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}: {done:?}"));
    (done, object)
}

/// Runs the command on `b` where `hide` has hidden something, in a mount namespace of its own.
fn run_behind(lab: &Lab, hide: &str, name: &str) -> (Finished, Value) {
    let b = lab.host("b");
    let mut command = b.command("unshare");
    let script = format!("{hide} && exec \"$0\" \"$@\"");
    command.args(["-m", "sh", "-c", &script, LINERATE, name, "-i", b.interface()]);
    run_under_traffic(lab, command.args(["--json", "--for", "500ms"]))
}

fn missing(object: &Value) -> &str {
    let missing = object["missing"].as_array().expect("a list");
    missing.first().and_then(Value::as_str).unwrap_or_default()
}

#[test]
fn hidden_symbols_leave_user_mode_and_the_kernel_apart() {
    let Some(lab) = quiet_pair() else { return };
    // As `kernel.kptr_restrict` leaves it: no address of any function.
    let (done, cost) = run_behind(&lab, "mount --bind /dev/null /proc/kallsyms", "profile");
    assert!(missing(&cost).contains("`sysctl kernel.kptr_restrict=0`, or CAP_SYSLOG"), "{done:?}");
    assert!(done.stderr.contains(missing(&cost)), "{done:?}");
    assert!(cost["packets"].as_u64().unwrap() > 0, "{cost:#}");
    assert!(cost["samples"].as_u64().unwrap() > 0, "{cost:#}");
    let parts = cost["components"].as_array().unwrap().iter();
    let told = parts.filter(|part| part["seconds"].as_f64() > Some(0.0));
    let told: Vec<_> = told.map(|part| part["component"].as_str().unwrap()).collect();
    assert!(told.iter().all(|name| ["user_code", "unclassified"].contains(name)), "{told:?}");
}

#[test]
fn without_leave_to_sample_the_processors_time_is_told() {
    let paranoia = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    if !need::program("setpriv", "util-linux") {
        return;
    }
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let mut command = b.command("setpriv");
    command.args(["--bounding-set", "-all,+net_raw,+net_admin,+bpf", "--inh-caps", "-all"]);
    command.args([LINERATE, "profile", "-i", b.interface(), "--json", "--for", "500ms"]);
    let (done, cost) = run_under_traffic(&lab, &mut command);
    assert!(cost["packets"].as_u64().unwrap() > 0, "{cost:#}");
    // Up to 0 everybody may sample processors (Documentation/admin-guide/sysctl/kernel.rst).
    if paranoia.trim().parse::<i32>().is_ok_and(|level| level > 0) {
        assert!(missing(&cost).contains("`sysctl kernel.perf_event_paranoid=-1`"), "{done:?}");
        assert!(done.stderr.contains(missing(&cost)), "{done:?}");
        assert_eq!((&cost["samples"], &cost["sampled_by"]), (&0.into(), &"nothing".into()));
        assert_eq!(cost["components"].as_array().unwrap().len(), 14);
    }
}

#[test]
fn without_sysfs_tracefs_and_the_kernels_types_the_rest_is_told() {
    let Some(lab) = quiet_pair() else { return };
    let (done, seen) = run_behind(&lab, "mount -t tmpfs none /sys", "doctor");
    assert!(missing(&seen).contains("/sys/kernel/btf/vmlinux"), "{done:?}");
    assert!(seen["interfaces"][0]["received"].as_u64().unwrap() > 0, "{seen:#}");
    let (done, cost) = run_behind(&lab, "mount -t tmpfs none /sys", "profile");
    assert!(cost["packets"].as_u64().unwrap() > 0, "{done:?}");
    assert!(cost["classified"].as_f64().unwrap() > 0.0, "{cost:#}");
}

#[test]
fn a_process_that_ends_meanwhile_is_told_of_so_far() {
    if !need::root() {
        return;
    }
    let mut command = Command::new("sleep");
    command.arg("0.5");
    let process = Child::start(command).expect("sleep");
    let id = process.id();
    let mut command = Command::new(LINERATE);
    command.args(["profile", "--json", "--for", "60s", "--pid", &id.to_string()]);
    let done = finish(command.stdin(Stdio::null())).success();
    drop(process);
    assert!(done.stderr.contains(&format!("the process {id} has ended; so far:")), "{done:?}");
    let cost: Value = serde_json::from_str(&done.stdout).unwrap();
    assert!(cost["seconds"].as_f64().unwrap() < 30.0, "{cost:#}");
    let gone = finish(&mut command);
    assert_eq!(gone.code(), 1, "{gone:?}");
    assert!(gone.stderr.contains(&format!("look at the process {id}")), "{gone:?}");
}

#[test]
fn a_process_of_another_network_namespace_is_told_of() {
    let Some(lab) = quiet_pair() else { return };
    let mut command = lab.host("b").command("sleep");
    command.arg("60");
    let process = Child::start(command).expect("sleep");
    let id = process.id().to_string();
    let profile = |mut command: Command| {
        command.args(["profile", "--json", "--for", "100ms", "--pid", &id]);
        finish(command.stdin(Stdio::null())).success()
    };
    let outside = profile(Command::new(LINERATE));
    assert!(outside.stderr.contains(&format!("`nsenter -n -t {id} linerate")), "{outside:?}");
    let inside = profile(lab.host("b").command(LINERATE));
    assert!(!inside.stderr.contains("nsenter"), "{inside:?}");
}
