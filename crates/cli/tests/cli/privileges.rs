//! Without privileges, and giving them up.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

use linerate_lab::need;

use crate::support::{LINERATE, Live, count, finish, quiet_pair, send, text};

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

#[test]
fn the_demo_runs_for_an_ordinary_user() {
    if !need::root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(reachable(&folder));
    let done = finish(command.arg("demo").env("TMPDIR", folder.path()).uid(NOBODY).gid(NOBODY));
    let allowed = done.success();
    assert!(allowed.stdout.contains("Every packet is accounted for"), "{allowed:?}");
}

#[test]
fn the_file_belongs_to_the_user_that_the_capture_goes_on_as() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    let file = folder.path().join("f.pcapng");
    let live = Live::start(lab.host("b"), &["-Z", "nobody", "-c", "3", "-w", text(&file)]);
    send(&lab, 7, 3);
    live.wait().success();
    assert_eq!(count(&file), 3);
    assert_eq!(fs::metadata(&file).unwrap().uid(), NOBODY);
}
