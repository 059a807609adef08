//! Child processes that do not outlive their use.
//!
//! The kernel kills a child with the *thread* that started it (PR_SET_PDEATHSIG(2const)), and
//! forgets to when the child changes its user; grandchildren it leaves alone. So each guarded
//! program has a thread that lasts as long as its guard, and, with root, a PID namespace whose
//! first process that thread started: when the guard is dropped or the process is killed, the
//! kernel kills that one, and with it everything in the namespace.

use std::convert::Infallible;
use std::ops::{Deref, DerefMut};
use std::process::{self, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::process::{contain_children, die_with_parent};

/// A running program. When this is dropped the program and all that it started are killed and
/// reaped.
///
/// It lends out the `std::process::Child` for everything else: waiting, reading its pipes.
#[derive(Debug)]
pub struct Child {
    program: Option<process::Child>,
    _keeper: Keeper,
}

impl Child {
    /// Starts a program that [`Host::command`](crate::Host::command) made, or any other.
    ///
    /// It may outlive the calling thread, but neither this guard nor the process, however that
    /// ends. (An ordinary user's may, if they change their user.)
    ///
    /// # Errors
    /// When the program is not there, or cannot be started.
    pub fn start(command: Command) -> Result<Self> {
        let (release, released) = mpsc::channel();
        let (report, reported) = mpsc::channel();
        let thread = thread::spawn(move || keep(command, &report, &released));
        let keeper = Keeper { release: Some(release), thread: Some(thread) };
        let program = reported.recv().expect("the thread reports before it ends")?;
        Ok(Self { program: Some(program), _keeper: keeper })
    }

    /// Asks the program to end, as Ctrl-C does (SIGINT).
    ///
    /// # Errors
    /// When the program was waited for already.
    pub fn interrupt(&self) -> Result<()> {
        linerate_sys::process::interrupt(self.id())
    }

    /// Asks the program to end, as a service manager does (SIGTERM).
    ///
    /// # Errors
    /// When the program was waited for already.
    pub fn terminate(&self) -> Result<()> {
        linerate_sys::process::terminate(self.id())
    }

    /// Waits for the program's end and returns what it wrote to those of standard output and
    /// error that the command made pipes.
    ///
    /// # Errors
    /// When a pipe cannot be read.
    pub fn output(mut self) -> Result<Output> {
        let program = self.program.take().expect(PRESENT);
        program.wait_with_output().map_err(|e| Error::system("read a program's output", e))
    }
}

const PRESENT: &str = "the program is there until its output was taken";

impl Deref for Child {
    type Target = process::Child;

    fn deref(&self) -> &process::Child {
        self.program.as_ref().expect(PRESENT)
    }
}

impl DerefMut for Child {
    fn deref_mut(&mut self) -> &mut process::Child {
        self.program.as_mut().expect(PRESENT)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.program.iter_mut().for_each(end);
    }
}

fn end(program: &mut process::Child) {
    // An error means that it has ended already.
    let _ = program.kill();
    let _ = program.wait();
}

/// A thread that started a program and lasts until this is dropped.
#[derive(Debug)]
struct Keeper {
    /// Nothing is ever sent: the thread waits for the sender to go.
    release: Option<Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.release = None;
        // Its panic has been printed.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn keep(
    command: Command,
    report: &Sender<Result<process::Child>>,
    released: &Receiver<Infallible>,
) {
    let (container, program) = match Container::new() {
        Ok(container) => (Some(container), spawn(command)),
        Err(error) => (None, Err(error)),
    };
    // Whoever started the thread waits for the report.
    let _ = report.send(program);
    let _ = released.recv();
    drop(container);
}

fn spawn(mut command: Command) -> Result<process::Child> {
    let asked = format!("start {}", command.get_program().display());
    command.spawn().map_err(|e| Error::system(asked, e))
}

/// A PID namespace for what the calling thread starts: its first process, which does nothing and
/// ends when this is dropped. `None` without root.
struct Container(Option<process::Child>);

impl Container {
    /// The program is not to be the first process itself: signals would not end it.
    fn new() -> Result<Self> {
        match contain_children() {
            Err(error) if error.kind() == ErrorKind::Permission => return Ok(Self(None)),
            result => result?,
        }
        let mut first = Command::new("sleep");
        first.arg("infinity").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        die_with_parent(&mut first);
        spawn(first).map(|first| Self(Some(first)))
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(end);
    }
}
