//! Signals, turned into flags that the main loop looks at and a wake-up that ends its wait.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

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
    /// Watches SIGINT, SIGTERM, SIGHUP and SIGUSR1 from now on; each of them triggers `interrupt`.
    ///
    /// # Errors
    /// When the system refuses a handler or a thread.
    pub(crate) fn watch(interrupt: Interrupt) -> io::Result<Self> {
        let requests = Self::default();
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1])?;
        let seen = requests.clone();
        thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in signals.forever() {
                seen.note(signal);
                interrupt.trigger();
            }
        })?;
        Ok(requests)
    }

    fn note(&self, signal: i32) {
        if signal == SIGUSR1 {
            self.report.store(true, Ordering::Relaxed);
        } else {
            self.stops.fetch_add(1, Ordering::Relaxed);
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
