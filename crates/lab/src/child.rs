//! Child processes that do not outlive their use.

use std::io;
use std::ops::{Deref, DerefMut};
use std::process::{self, Command, Output};
use std::sync::{LazyLock, mpsc};
use std::thread;

use linerate_base::{Error, Result};

/// A running program, killed and reaped when this is dropped.
///
/// It lends out the `std::process::Child` for everything else: waiting, reading its pipes.
#[derive(Debug)]
pub struct Child(Option<process::Child>);

impl Child {
    /// Starts a program that [`Host::command`](crate::Host::command) made, or any other.
    ///
    /// It may outlive the calling thread, but neither this guard nor the process.
    ///
    /// # Errors
    /// When the program is not there, or cannot be started.
    pub fn start(command: Command) -> Result<Self> {
        let asked = format!("start {}", command.get_program().display());
        let started = start_from_lasting_thread(command);
        started.map(|child| Self(Some(child))).map_err(|e| Error::system(asked, e))
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
        let child = self.0.take().expect(PRESENT);
        child.wait_with_output().map_err(|e| Error::system("read a program's output", e))
    }
}

const PRESENT: &str = "the program is there until its output was taken";

impl Deref for Child {
    type Target = process::Child;

    fn deref(&self) -> &process::Child {
        self.0.as_ref().expect(PRESENT)
    }
}

impl DerefMut for Child {
    fn deref_mut(&mut self) -> &mut process::Child {
        self.0.as_mut().expect(PRESENT)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // An error means that it has ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

struct Order {
    command: Command,
    reply: mpsc::Sender<io::Result<process::Child>>,
}

/// The kernel kills a child with the thread that started it (PR_SET_PDEATHSIG), so children are
/// started from one thread that lasts as long as the process.
fn start_from_lasting_thread(command: Command) -> io::Result<process::Child> {
    static STARTER: LazyLock<mpsc::Sender<Order>> = LazyLock::new(|| {
        let (orders, inbox) = mpsc::channel::<Order>();
        thread::spawn(move || {
            for mut order in inbox {
                // Whoever ordered waits for the reply.
                let _ = order.reply.send(order.command.spawn());
            }
        });
        orders
    });
    let (reply, answer) = mpsc::channel();
    let sent = STARTER.send(Order { command, reply });
    sent.expect("the thread that starts children never ends");
    answer.recv().expect("every order is replied to")
}
