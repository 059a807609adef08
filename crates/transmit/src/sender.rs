//! Choosing how a plan is carried out.

use std::fmt;
use std::str::FromStr;

use linerate_base::{Error, ErrorKind, Result, Sink};

use crate::live::Live;
use crate::run::{Plan, Report, Stop, run};
use crate::sink::{self, Config};

/// A way out of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A program in the kernel makes the frames and gives them to the driver.
    Live,
    /// User space makes the frames and gives them to a sink.
    Sink(sink::Backend),
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Live => f.pad("live"),
            Self::Sink(backend) => backend.fmt(f),
        }
    }
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        if text == "live" {
            return Ok(Self::Live);
        }
        text.parse().map(Self::Sink).map_err(|sinks: String| format!("{sinks}; and live"))
    }
}

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
    /// As [`Live::new`] and [`sink::open`].
    pub fn open(plan: &Plan<'_>, name: &str, backend: Option<Backend>) -> Result<Self> {
        match backend {
            Some(Backend::Live) => Self::live(plan, name),
            Some(Backend::Sink(backend)) => Self::sink(plan, name, Some(backend)),
            None if is_fast(plan) => {
                Self::live(plan, name).or_else(|error| match is_about_live(&error) {
                    true => {
                        let mut sender = Self::sink(plan, name, None)?;
                        sender
                            .notes
                            .insert(0, format!("not by live frames, which are faster: {error}"));
                        Ok(sender)
                    }
                    false => Err(error),
                })
            }
            None => Self::sink(plan, name, None),
        }
    }

    fn live(plan: &Plan<'_>, name: &str) -> Result<Self> {
        let engine = Engine::Live(Live::new(plan, name)?);
        Ok(Self { engine, backend: Backend::Live, notes: Vec::new() })
    }

    fn sink(plan: &Plan<'_>, name: &str, backend: Option<sink::Backend>) -> Result<Self> {
        let opened = sink::open(&Config {
            interface: name.to_owned(),
            backend,
            slots: SLOTS,
            longest: plan.template.longest(),
        })?;
        let backend = Backend::Sink(opened.backend);
        Ok(Self { engine: Engine::Sink(opened.sink), backend, notes: opened.notes })
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

/// True when frames are to leave faster than sinks can.
fn is_fast(plan: &Plan<'_>) -> bool {
    let time = plan.pace.rate.time_of(plan.template.longest());
    time.is_none_or(|(time, rate)| time / rate < SINKS_KEEP_UP)
}

/// True for errors that sinks do not have.
fn is_about_live(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Permission)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_back_ends_are_one_to_one() {
        for name in ["live", "ring", "mmsg", "socket"] {
            assert_eq!(name.parse::<Backend>().unwrap().to_string(), name);
        }
        let error = "rocket".parse::<Backend>().unwrap_err();
        assert_eq!(error, "there is no back end `rocket`: they are ring, mmsg, socket; and live");
    }
}
