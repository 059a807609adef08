//! Child processes that do not outlive their use.
//!
//! The kernel kills a child with the *thread* that started it (PR_SET_PDEATHSIG(2const)), and
//! forgets to when the child changes its user; grandchildren it leaves alone. So each guarded
//! program has a thread that lasts as long as its guard, and, with root, a PID namespace whose
//! first process that thread started: when the guard is dropped or the process is killed, the
//! kernel kills that one, and with it everything in the namespace.

use std::convert::Infallible;
use std::io;
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
        let asked = format!("start {}", command.get_program().display());
        let (program, keeper) = Keeper::start(command)?;
        let program = program.map_err(|e| Error::system(asked, e))?;
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

type Started = Result<io::Result<process::Child>>;

impl Keeper {
    fn start(command: Command) -> Result<(io::Result<process::Child>, Self)> {
        let (release, released) = mpsc::channel();
        let (report, reported) = mpsc::channel();
        let thread = thread::spawn(move || keep(command, &report, &released));
        let keeper = Self { release: Some(release), thread: Some(thread) };
        let started = reported.recv().expect("the thread reports before it ends")?;
        Ok((started, keeper))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.release = None;
        // Its panic has been printed.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn keep(mut command: Command, report: &Sender<Started>, released: &Receiver<Infallible>) {
    let mut first = match contain() {
        Ok(first) => first,
        Err(error) => return report.send(Err(error)).unwrap_or_default(),
    };
    // Whoever started the thread waits for the report.
    let _ = report.send(Ok(command.spawn()));
    let _ = released.recv();
    first.iter_mut().for_each(end);
}

/// Puts what this thread starts into a PID namespace, and starts its first process, which does
/// nothing. The program itself is not to be the first: signals would not end it.
fn contain() -> Result<Option<process::Child>> {
    match contain_children() {
        Err(error) if error.kind() == ErrorKind::Permission => return Ok(None),
        result => result?,
    }
    let mut first = Command::new("sleep");
    first.arg("infinity").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    die_with_parent(&mut first);
    first.spawn().map(Some).map_err(|e| Error::system("start sleep", e))
}
