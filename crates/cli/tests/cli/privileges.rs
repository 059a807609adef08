//! Without privileges, and giving them up.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use linerate_lab::{Host, Lab, need};

use crate::support::{
    BACKENDS, Finished, LINERATE, Live, count, finish, live_pair, quiet_pair, send, text,
};

/// The user and group of nobody.
pub(crate) const NOBODY: u32 = 65534;

/// The command where everybody can reach it.
pub(crate) fn reachable(folder: &tempfile::TempDir) -> std::path::PathBuf {
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    let copy = folder.path().join("linerate");
    fs::copy(LINERATE, &copy).unwrap();
    copy
}

#[test]
fn without_privileges_the_error_gives_the_command_that_helps() {
    if !need::root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = reachable(&folder);
    let mut command = Command::new(&program);
    let done = finish(command.args(["capture", "-i", "lo"]).uid(NOBODY).gid(NOBODY));
    assert_eq!(done.code(), 1, "{done:?}");
    let setcap = format!("setcap cap_net_raw,cap_net_admin,cap_bpf+ep '{}'", program.display());
    assert!(done.stderr.contains(&setcap), "{done:?}");
}

/// What `setcap` is given for sending.
const SETCAP: &str = "sudo setcap cap_net_raw,cap_net_admin,cap_bpf";

#[test]
fn who_may_not_send_is_given_the_command_that_helps() {
    if !need::root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = reachable(&folder);
    for backend in ["xdp", "ring", "mmsg", "socket"] {
        let mut command = Command::new(&program);
        command.args(["send", "-i", "lo", "--backend", backend, "IP(dst=\"127.0.0.1\")/UDP()"]);
        let done = finish(command.uid(NOBODY).gid(NOBODY));
        assert_eq!(done.code(), 1, "{backend}: {done:?}");
        assert!(done.stderr.contains("CAP_NET_RAW"), "{backend}: {done:?}");
        assert!(done.stderr.contains(SETCAP), "{backend}: {done:?}");
    }
}

#[test]
fn who_lacks_cap_bpf_for_live_frames_is_told_so_and_sends_by_the_next_best() {
    if !need::program("setpriv", "util-linux") {
        return;
    }
    let Some(lab) = live_pair() else { return };
    let a = lab.host("a");
    let send = |more: &[&str]| {
        let mut command = a.command("setpriv");
        command.args(["--bounding-set", "-all,+net_raw,+net_admin", "--inh-caps", "-all"]);
        command.args([LINERATE, "send", "-i", a.interface(), "-r", "max", "-c", "10"]).args(more);
        finish(command.arg("Ether(dst=\"02:00:00:00:00:99\")/IP(dst=\"10.64.0.1\")/UDP()"))
    };
    let refused = send(&["--backend", "live"]);
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.stderr.contains("lacks CAP_BPF; run it as root"), "{refused:?}");
    assert!(refused.stderr.contains(SETCAP), "{refused:?}");
    let sent = send(&[]).success();
    assert!(sent.stderr.contains("lacks CAP_BPF"), "{sent:?}");
    assert!(sent.stderr.contains("back end ring: the fastest without live frames"), "{sent:?}");
    assert_eq!(sent.summary("packets sent"), 10);
}

#[test]
fn the_demo_runs_for_an_ordinary_user() {
    if !need::root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(reachable(&folder));
    let done = finish(command.arg("demo").env("TMPDIR", folder.path()).uid(NOBODY).gid(NOBODY));
    let allowed = done.success();
    let verdict = match allowed.stdout.contains("is not counted (that needs CAP_BPF)") {
        true => "Every packet that the filter kept is accounted for",
        false => "Every packet is accounted for",
    };
    assert!(allowed.stdout.contains(verdict), "{allowed:?}");
}

#[test]
fn the_capture_and_its_file_belong_to_the_user_that_it_goes_on_as() {
    let Some(lab) = quiet_pair() else { return };
    let users = ["nobody", "65534"].into_iter().cycle();
    for (backend, user) in BACKENDS.into_iter().zip(users) {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let file = folder.path().join("f.pcapng");
        let args = ["--backend", backend, "-Z", user, "-w", text(&file), "udp port 7"];
        let live = Live::start(lab.host("b"), &args);
        let status = fs::read_to_string(format!("/proc/{}/status", live.id())).unwrap();
        assert!(status.contains("\nCapEff:\t0000000000000000\n"), "{backend}: {status}");
        send(&lab, 7, 3);
        send(&lab, 9, 4);
        let done = live.interrupt().success();
        assert_eq!((done.captured(), done.summary("filtered")), (3, 4), "{backend}: {done:?}");
        assert_eq!(count(&file), 3);
        assert_eq!(fs::metadata(&file).unwrap().uid(), NOBODY);
    }
}

/// The capabilities that capture can use.
const USED: [&str; 4] = ["net_raw", "net_admin", "bpf", "perfmon"];

/// Root with these capabilities only, about to capture on `host`.
fn limited(host: &Host, capabilities: &[&str], args: &[&str]) -> Command {
    let mut command = host.command("setpriv");
    let bounding = capabilities.iter().fold("-all".to_owned(), |all, one| all + ",+" + one);
    command.args(["--bounding-set", &bounding, "--inh-caps", "-all", LINERATE]);
    command.args(["capture", "-i", host.interface()]).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The capture of what is sent to port 7, by root without one of the capabilities.
fn capture_without(lab: &Lab, missing: &str, backend: &[&str]) -> Finished {
    let capabilities: Vec<_> = USED.into_iter().filter(|one| *one != missing).collect();
    let args = [&["-c", "10", "udp port 7"], backend].concat();
    let live = Live::start_with(lab.host("b"), &[], |command| {
        *command = limited(lab.host("b"), &capabilities, &args);
    });
    send(lab, 9, 5);
    send(lab, 7, 10);
    live.wait().success()
}

#[test]
fn without_one_capability_the_best_that_is_left_captures_and_a_line_names_it() {
    let Some(lab) = pair_with_setpriv() else { return };
    for missing in ["net_admin", "bpf"] {
        let done = capture_without(&lab, missing, &[]);
        let reason = format!("(this process lacks CAP_{})", missing.to_uppercase());
        let notes = done.stderr.lines().filter(|line| line.contains(&reason)).count();
        assert_eq!(notes, 1, "{done:?}");
        assert!(done.stderr.contains("back end ring\n"), "{done:?}");
        assert_eq!(done.captured(), 10, "{done:?}");
        let uncounted = done.stderr.contains("is not counted (that needs CAP_BPF)");
        assert_eq!(uncounted, missing == "bpf", "{done:?}");
    }
}

#[test]
fn the_tap_needs_no_other_capability() {
    let Some(lab) = pair_with_setpriv() else { return };
    for backend in ["tap", "tap-xdp"] {
        let done = capture_without(&lab, "perfmon", &["--backend", backend]);
        assert_eq!((done.captured(), done.summary("filtered")), (10, 5), "{done:?}");
    }
}

#[test]
fn a_back_end_that_lacks_a_capability_names_it() {
    let Some(lab) = pair_with_setpriv() else { return };
    let all = ["tap", "tap-xdp", "xdp", "ring", "socket"];
    let lacking = |backend: &'static str, missing| (backend, missing);
    let cases = all.map(|backend| lacking(backend, "net_raw")).into_iter();
    let cases = cases.chain(
        all[..3]
            .iter()
            .flat_map(|backend| ["net_admin", "bpf"].map(|missing| lacking(backend, missing))),
    );
    for (backend, missing) in cases {
        let capabilities: Vec<_> = USED.into_iter().filter(|one| *one != missing).collect();
        let done =
            finish(&mut limited(lab.host("b"), &capabilities, &["--backend", backend, "--force"]));
        assert_eq!(done.code(), 1, "{backend}: {done:?}");
        let reason = format!("this process lacks CAP_{}; run it as root", missing.to_uppercase());
        assert!(done.stderr.contains(&reason), "{backend}: {done:?}");
        assert!(done.stderr.contains("sudo setcap cap_net_raw,cap_net_admin,cap_bpf"), "{done:?}");
    }
}

fn pair_with_setpriv() -> Option<Lab> {
    if need::program("setpriv", "util-linux") { quiet_pair() } else { None }
}
