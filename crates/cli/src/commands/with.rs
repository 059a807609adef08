//! `linerate with`: a program of others, by our libpcap.

pub(crate) mod library;
mod program;

use std::ffi::{OsStr, OsString};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::{env, fs, thread};

use anyhow::Result;
use linerate::base::Error;
use linerate::capture::Backend;
use linerate::sys::process;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::args::WithArgs;
use crate::exit::Outcome;
use crate::output;

/// Where programs look for libraries first (ld.so(8)).
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";
/// Where our library says what it has done, and by which back end it is to capture.
const REPORT: &str = "LINERATE_REPORT";
const BACKEND: &str = "LINERATE_BACKEND";

pub(super) fn run(args: &WithArgs) -> Result<Outcome> {
    let (name, arguments) = args.program.split_first().expect("clap asks for one");
    let program = program::find(name)?;
    program::check(&program)?;
    let folder = library::linked(&library::find()?)?;
    let report = folder.path().join("report");
    let mut command = Command::new(&program);
    command.arg0(name).args(arguments).env(LIBRARY_PATH, path_from(folder.path()));
    if let Some(backend) = args.backend {
        command.env(BACKEND, Backend::from(backend).name());
    }
    if args.report {
        command.env(REPORT, &report);
    }
    process::die_with_parent(&mut command);
    let status = carry_out(&mut command, name)?;
    if args.report {
        tell(&fs::read_to_string(&report).unwrap_or_default());
    }
    Ok(Outcome::Program(code(status)))
}

/// The folder, before those where libraries are looked for now.
fn path_from(folder: &Path) -> OsString {
    let mut path = folder.as_os_str().to_owned();
    if let Some(others) = env::var_os(LIBRARY_PATH).filter(|others| !others.is_empty()) {
        path.push(":");
        path.push(others);
    }
    path
}

/// Runs it until it ends.
fn carry_out(command: &mut Command, name: &OsStr) -> Result<ExitStatus> {
    let failed = |error| Error::system(format!("run {}", name.display()), error);
    // A terminal sends its signals to the program as well, which decides what they mean.
    let signals = Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP]).map_err(failed)?;
    let handle = signals.handle();
    let mut child = command.spawn().map_err(failed)?;
    let number = child.id();
    let forwarding = thread::spawn(move || forward(signals, number));
    let status = child.wait().map_err(failed);
    handle.close();
    // It does nothing but forward signals, and ends with the handle.
    let _ = forwarding.join();
    Ok(status?)
}

/// Passes on what is sent to this process alone.
fn forward(mut signals: Signals, program: u32) {
    for signal in signals.forever() {
        if matches!(signal, SIGTERM | SIGHUP) {
            // Where it has ended already, nobody has to be told.
            let _ = process::terminate(program);
        }
    }
}

fn tell(report: &str) {
    if report.is_empty() {
        output::tell(
            "no capture by our library has told anything: the program began none, or was killed",
        );
    }
    report.lines().for_each(output::tell);
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
