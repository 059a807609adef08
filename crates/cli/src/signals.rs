//! Signals, turned into flags that the main loop looks at and a wake-up that ends its wait.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use linerate::capture::Interrupt;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

/// What signals have asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    stops: Arc<AtomicU32>,
    report: Arc<AtomicBool>,
}

impl Requests {
    /// Catches SIGINT, SIGTERM, SIGHUP (unless it is ignored, as nohup(1) has it) and SIGUSR1 from now
    /// on, and watches them: each triggers `interrupt`.
    ///
    /// # Errors
    /// When the system refuses a handler or a thread.
    pub(crate) fn watch(&self, interrupt: Interrupt) -> io::Result<()> {
        self.catch(interrupt)?.watch()
    }

    /// Catches them, and leaves it to [`Caught`] when they are heeded.
    ///
    /// # Errors
    /// When the system refuses a handler.
    pub(crate) fn catch(&self, interrupt: Interrupt) -> io::Result<Caught> {
        let signals = Signals::new([SIGINT, SIGTERM, SIGUSR1])?;
        if !is_ignored(SIGHUP) {
            signals.add_signal(SIGHUP)?;
        }
        Ok(Caught { signals, requests: self.clone(), interrupt })
    }

    /// Notes what `signal` asks for.
    fn note(&self, signal: i32) {
        if signal == SIGUSR1 {
            self.report.store(true, Ordering::Relaxed);
        } else {
            self.stops.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Does what `signal` asks for.
    fn heed(&self, signal: i32, interrupt: &Interrupt) {
        self.note(signal);
        interrupt.trigger();
        if self.stop_now() {
            insist(signal);
        }
    }

    /// Asks for an end, as SIGINT does.
    pub(crate) fn request_stop(&self) {
        self.note(SIGINT);
    }

    /// True once the user wants an end.
    pub(crate) fn stop(&self) -> bool {
        self.stops.load(Ordering::Relaxed) > 0
    }

    /// True once the user has asked twice: what still waits in buffers is to be left there.
    pub(crate) fn stop_now(&self) -> bool {
        self.stops.load(Ordering::Relaxed) > 1
    }

    /// True once for each time that the user asked for the counters.
    pub(crate) fn take_report(&self) -> bool {
        self.report.swap(false, Ordering::Relaxed)
    }
}

/// Signals that are caught.
pub(crate) struct Caught {
    signals: Signals,
    requests: Requests,
    interrupt: Interrupt,
}

/// How often signals are looked for while work is done.
const LOOK: Duration = Duration::from_millis(20);

impl Caught {
    /// Watches them from now on, on a thread of its own.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub(crate) fn watch(self) -> io::Result<()> {
        let Self { mut signals, requests, interrupt } = self;
        thread::Builder::new().name("signals".into()).spawn(move || {
            signals.forever().for_each(|signal| requests.heed(signal, &interrupt));
        })?;
        Ok(())
    }

    /// Watches them while `work` is done. When it returns, the thread that did is gone.
    pub(crate) fn during<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let Self { signals, requests, interrupt } = self;
        let (done, end) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let look = move || {
                while end.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                    signals.pending().for_each(|signal| requests.heed(signal, interrupt));
                }
            };
            // Where no thread can be had, they are heeded afterwards.
            let _ = thread::Builder::new().name("signals".into()).spawn_scoped(scope, look);
            let result = work();
            drop(done);
            result
        })
    }
}

/// The user has asked for an end twice. Whatever then still holds the process up, such as a pipe that
/// nobody reads from, does so no longer than this.
const PATIENCE: Duration = Duration::from_millis(500);

fn insist(signal: i32) {
    thread::sleep(PATIENCE);
    // Ends the process; where it cannot, there is nothing left to do here.
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

/// True when whoever started this process had it ignore `signal` (proc_pid_status(5), SigIgn).
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 != 0)
}
