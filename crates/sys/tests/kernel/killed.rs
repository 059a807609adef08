//! What a killed process leaves behind: nothing.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use linerate_lab::Child;
use linerate_sys::bpf::{Link, XdpMode};
use linerate_sys::interface;

use crate::support::*;

const ROLE: &str = "LINERATE_SYS_TEST_ROLE";
const READY: &str = "attached";

/// Runs itself again, as the process that is killed.
#[test]
fn a_killed_process_leaves_no_program_attached() {
    if let Ok(interface) = std::env::var(ROLE) {
        attach_and_wait(&interface);
    }
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let mut command = b.command(std::env::current_exe().unwrap());
    let name = "killed::a_killed_process_leaves_no_program_attached";
    command.args(["--exact", name, "--nocapture"]).env(ROLE, b.interface());
    let mut child = Child::start({
        command.stdout(Stdio::piped());
        command
    })
    .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains(READY)));
    let program = xdp(XDP_PASS);
    let attach = || b.run(|| Link::xdp(&program, b.interface_index(), XdpMode::Native));
    assert!(attach().is_err());
    let killed = Instant::now();
    drop(child);
    while let Err(error) = attach() {
        assert!(killed.elapsed() < Duration::from_secs(10), "{error}");
        thread::sleep(Duration::from_millis(1));
    }
    println!("free again {:?} after the kill", killed.elapsed());
}

fn attach_and_wait(name: &str) -> ! {
    let index = interface::by_name(name).unwrap().index;
    let _link = Link::xdp(&xdp(XDP_DROP), index, XdpMode::Native).unwrap();
    println!("{READY}");
    loop {
        thread::park();
    }
}
