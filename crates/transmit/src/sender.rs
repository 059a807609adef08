//! Choosing how a plan is carried out.

use linerate_base::{Error, ErrorKind, Result, Sink};

use crate::live::{self, Live, Stamp};
use crate::pacing::Rate;
use crate::run::{Plan, Report, Stop, run};
use crate::sink::{self, Backend, Config, Opened};

/// Sinks keep up with a frame in so many nanoseconds. Where more is asked the program is worth its fixed cost, and
/// that it keeps a core busy.
const SINKS_KEEP_UP: u64 = 4_000;

/// Frames that can wait for a device.
const SLOTS: usize = 512;

/// A way out that was opened for a plan.
pub struct Sender {
    engine: Engine,
    backend: Backend,
    notes: Vec<String>,
}

enum Engine {
    Live(Live),
    Sink(Box<dyn Sink + Send>),
}

impl Sender {
    /// Opens a way out of the interface called `name` for `plan`: by `backend`, or the one that suits the plan best
    /// and works here.
    ///
    /// # Errors
    /// As [`Live::new`] and [`sink::open`]; [`ErrorKind::Invalid`] when the `backend` has one thread and the plan more.
    pub fn open(plan: &Plan<'_>, name: &str, backend: Option<Backend>) -> Result<Self> {
        let is_live = match backend {
            None => is_fast(plan.pace.rate, plan.template.mean()) || plan.threads > 1,
            Some(Backend::Live) => true,
            Some(backend) if plan.threads > 1 => {
                let asked = format!("send with {} threads by the back end {backend}", plan.threads);
                return Err(Error::new(ErrorKind::Invalid, asked, "it sends with one")
                    .advise("leave out --threads, or use --backend live"));
            }
            Some(_) => false,
        };
        match live::suits(plan) {
            _ if !is_live => Self::sink(plan, name, backend, sink::open),
            Ok(stamp) => Self::live(plan, &stamp, name, backend),
            Err(reason) => {
                let mut sender = Self::sink(plan, name, backend, sink::open_fast)?;
                if sender.backend == Backend::Live {
                    let note = format!("user space makes the packets, not the kernel: {reason}");
                    sender.notes.push(note);
                }
                Ok(sender)
            }
        }
    }

    /// Has a program make the frames.
    fn live(plan: &Plan<'_>, stamp: &Stamp, name: &str, backend: Option<Backend>) -> Result<Self> {
        match Live::new(plan, stamp, name) {
            Err(error) if backend.is_none() && sink::is_about_live(&error) => {
                let mut sender = Self::sink(plan, name, None, sink::open)?;
                sender.notes.insert(0, sink::not_live(&error));
                Ok(sender)
            }
            live => {
                let engine = Engine::Live(live?);
                Ok(Self { engine, backend: Backend::Live, notes: Vec::new() })
            }
        }
    }

    fn sink(
        plan: &Plan<'_>,
        name: &str,
        backend: Option<Backend>,
        open: fn(&Config) -> Result<Opened>,
    ) -> Result<Self> {
        let opened = open(&Config {
            interface: name.to_owned(),
            backend,
            queue: 0,
            slots: SLOTS,
            longest: plan.template.longest(),
        })?;
        let Opened { sink, backend, mut notes } = opened;
        if plan.threads > 1 {
            notes.push("one thread sends: several share only packets that the kernel makes".into());
        }
        Ok(Self { engine: Engine::Sink(sink), backend, notes })
    }

    /// The way out that it is.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// What is other than best, one line each, for the user to read.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Carries out the plan that it was opened for, until it is done or `stop`, which is asked every 50 ms or more
    /// often, says true.
    ///
    /// # Errors
    /// As [`Live::run`] and [`run`](run()); the report is of what was sent all the same.
    pub fn run(&mut self, plan: &Plan<'_>, stop: &Stop<'_>) -> (Report, Result<()>) {
        match &mut self.engine {
            Engine::Live(live) => live.run(stop),
            Engine::Sink(sink) => run(plan, sink, stop),
        }
    }
}

/// True when frames of so many bytes, on average, are to leave faster than sinks can send them.
pub(crate) fn is_fast(rate: Rate, mean: usize) -> bool {
    rate.time_of(mean).is_none_or(|(time, rate)| time / rate < SINKS_KEEP_UP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_of_sizes_is_as_fast_as_its_mean() {
        let rate = Rate::Bits(1_000_000_000);
        assert!(is_fast(rate, 354), "IMIX");
        assert!(!is_fast(rate, 1514));
        assert!(is_fast(Rate::Unlimited, 1514));
    }
}
