//! What only whole processes can show: the lab of a process that is killed, and of a user's.
//!
//! This file has its own `main`: it starts itself again in the role that a test needs, and a
//! process that is to become root in a user namespace must have one thread, which the test
//! harness has not.

#[path = "lab/common.rs"]
mod common;

use std::env;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{ChildStdout, Command, Stdio};
use std::thread;

use common::{bind, is_held, wait_until};
use linerate_base::ErrorKind;
use linerate_lab::{Child, Lab, become_root_in_user_namespace, need};
use linerate_sys::netns::Namespace;

const ROLE: &str = "LINERATE_LAB_TEST_ROLE";

fn main() {
    match env::var(ROLE).as_deref() {
        Ok("owner") => own_a_lab(),
        Ok("user") => build_as_a_user(),
        _ => run_tests(),
    }
}

/// Every test has a thread of its name, as in the harness.
fn run_tests() {
    let tests: [(&str, fn()); 2] = [
        ("nothing_outlives_a_killed_owner", nothing_outlives_a_killed_owner),
        ("an_ordinary_user_builds_a_lab", an_ordinary_user_builds_a_lab),
    ];
    for (name, test) in tests {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(test).unwrap();
        thread.join().unwrap_or_else(|_| std::process::exit(101));
        println!("test {name} ... ok");
    }
}

/// Says which namespaces it holds, and waits to be killed.
fn own_a_lab() {
    let lab = Lab::pair().unwrap();
    // It changes its user and starts another, as tools do that give up root.
    let mut command = lab.host("a").command("setpriv");
    command.args(["--reuid=65534", "--clear-groups", "sh", "-c", "sleep 1000 & echo; wait"]);
    command.stdout(Stdio::piped());
    let mut child = Child::start(command).unwrap();
    read_line(child.stdout.take());
    let [a, b] = [0, 1].map(|i| lab.hosts()[i].namespace().id().unwrap());
    println!("{a} {b}");
    thread::park();
}

fn read_line(pipe: Option<ChildStdout>) -> String {
    let mut line = String::new();
    BufReader::new(pipe.unwrap()).read_line(&mut line).unwrap();
    line
}

fn nothing_outlives_a_killed_owner() {
    if !need::root() {
        return;
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command.env(ROLE, "owner").stdout(Stdio::piped());
    let mut owner = command.spawn().unwrap();
    let line = read_line(owner.stdout.take());
    let ids: Vec<u64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let [a, b] = ids[..] else { panic!("the owner said {line:?}") };
    assert!(is_held(a) && is_held(b));

    owner.kill().unwrap();
    owner.wait().unwrap();
    // Nobody is in them any more: the programs have ended, too.
    wait_until("the namespaces are let go", || !is_held(a) && !is_held(b));
}

fn build_as_a_user() {
    let outside = Namespace::current().unwrap().id().unwrap();
    become_root_in_user_namespace().unwrap();
    assert_ne!(Namespace::current().unwrap().id().unwrap(), outside);
    check_advice();
    let lab = Lab::plan().host("a").host("b").queues(2).without_offloads().build().unwrap();
    let (a, b) = (lab.host("a"), lab.host("b"));
    let receiver = b.run(|| bind((b.ipv4(), 7)));
    let sender = a.run(|| bind((a.ipv4(), 0)));
    sender.send_to(b"hello", (b.ipv4(), 7)).unwrap();
    let mut buffer = [0; 5];
    receiver.recv(&mut buffer).unwrap();
    let mut command = a.command_with_sysfs("id");
    command.arg("-u").stdout(Stdio::piped());
    assert_eq!(Child::start(command).unwrap().output().unwrap().stdout, b"0\n");
    assert_eq!(&buffer, b"hello");
}

/// Forbids further user namespaces, which root may do in its own one, and asks for one.
fn check_advice() {
    fs::write("/proc/sys/user/max_user_namespaces", "0").unwrap();
    let error = become_root_in_user_namespace().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Permission);
    assert!(error.to_string().contains("sysctl -w user.max_user_namespaces="), "{error}");
}

/// A user without a name, and without a right to anything.
fn an_ordinary_user_builds_a_lab() {
    if !(need::root() && need::program("setpriv", "util-linux")) {
        return;
    }
    // The folder that this program was built in may be closed to other users.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let copy = folder.path().join("processes");
    fs::copy(env::current_exe().unwrap(), &copy).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(copy).env(ROLE, "user");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
