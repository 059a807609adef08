//! Threads and programs run inside hosts, and end when they should.

use std::fs;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::thread;

use crate::common::wait_until;
use linerate_base::ErrorKind;
use linerate_lab::{Child, Lab, become_root_in_user_namespace, disk, need};
use linerate_sys::{cpu, netns::Namespace};

#[test]
fn threads_are_inside_and_their_panics_come_out() {
    if !need::root() {
        return;
    }
    let lab = Lab::pair().unwrap();
    let a = lab.host("a");
    let here = || Namespace::current().unwrap().id().unwrap();
    assert_eq!(a.run(here), a.namespace().id().unwrap());
    assert_ne!(a.run(here), here());
    let core = cpu::allowed().unwrap()[0];
    let spawned = a.spawn_on(core, move || (here(), cpu::allowed().unwrap()));
    assert_eq!(spawned.join().unwrap(), (a.run(here), vec![core]));

    let panic = catch_unwind(AssertUnwindSafe(|| a.run(|| panic!("inside")))).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"inside"));
}

#[test]
fn programs_are_inside() {
    if !need::root() {
        return;
    }
    let lab = Lab::pair().unwrap();
    let b = lab.host("b");
    let output = b.command("readlink").arg("/proc/self/ns/net").output().unwrap();
    let link = format!("net:[{}]\n", b.namespace().id().unwrap());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), link);
    let output = b.command_with_sysfs("ls").arg("/sys/class/net").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "lo\nwire0\n");
}

/// True while there is a process that has not ended; one may wait to be reaped.
fn is_alive(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[test]
fn a_guarded_program_outlives_its_thread_but_not_its_guard() {
    if !need::root() {
        return;
    }
    let lab = Lab::pair().unwrap();
    let mut command = lab.host("a").command("sleep");
    command.arg("1000");
    let mut child = thread::spawn(|| Child::start(command).unwrap()).join().unwrap();
    let id = child.id();
    assert!(child.try_wait().unwrap().is_none());
    drop(child);
    assert!(!is_alive(id));
}

#[test]
fn what_a_guarded_program_started_ends_with_its_guard() {
    if !need::root() {
        return;
    }
    let mut command = Command::new("sh");
    let inner = "read -r id rest < /proc/self/stat; echo $id; exec sleep 1000";
    command.args(["-c", &format!("({inner}) & wait")]).stdout(Stdio::piped());
    let mut child = Child::start(command).unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let id = line.trim().parse().unwrap();
    assert!(is_alive(id));
    drop(child);
    assert!(!is_alive(id));
}

#[test]
fn an_unguarded_program_ends_with_its_thread() {
    if !need::root() {
        return;
    }
    let lab = Lab::pair().unwrap();
    let mut command = lab.host("a").command("sleep");
    let child = thread::spawn(move || command.arg("1000").spawn().unwrap()).join().unwrap();
    wait_until("the program ends", || !is_alive(child.id()));
    child.wait_with_output().unwrap();
}

#[test]
fn programs_are_asked_to_end() {
    for (ask, signal) in [(Child::interrupt as fn(&Child) -> _, 2), (Child::terminate, 15)] {
        let mut command = Command::new("sleep");
        command.arg("1000").stdout(Stdio::piped());
        let child = Child::start(command).unwrap();
        ask(&child).unwrap();
        let output = child.output().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), Some(signal));
    }
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let error = Child::start(Command::new("/no-such-program")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.asked(), "start /no-such-program");
}

#[test]
fn a_small_disk_fills_up() {
    if !need::root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let write = || fs::write(&file, vec![0; 65537]).unwrap_err().kind();
    let result = disk::with_small_disk(folder.path(), 65536, write).unwrap();
    assert_eq!(result, std::io::ErrorKind::StorageFull);
    assert!(!file.exists(), "nobody else sees that disk");

    let mut command = Command::new("dd");
    command.arg("if=/dev/zero").arg(format!("of={}", file.display())).arg("status=none");
    disk::give_small_disk(&mut command, folder.path(), 65536).unwrap();
    let output = command.output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("No space left"));
    assert!(!file.exists(), "nobody else sees that disk");
}

#[test]
fn a_process_with_threads_does_not_become_root() {
    let error = become_root_in_user_namespace().unwrap_err();
    assert_eq!(error.answered(), "other threads are running already");
}
