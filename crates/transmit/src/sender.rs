//! Choosing how a plan is carried out.

use linerate_base::{Result, Sink};

use crate::crew::Crew;
use crate::handover::Report;
use crate::link::Link;
use crate::live::{self, Live, Stamp};
use crate::pacing::Rate;
use crate::run::{Plan, Watch, run};
use crate::sink::{self, Backend, Config, Offloads, Opened};
use crate::template::Template;

/// Sinks keep up with a frame in so many nanoseconds. Where more is asked the program is worth its fixed cost, and
/// that it keeps a core busy.
const SINKS_KEEP_UP: u64 = 4_000;

/// Frames that can wait for a device.
const SLOTS: usize = 512;

/// A way out that was opened for a plan.
pub struct Sender {
    engine: Engine,
    backend: Backend,
    why: &'static str,
    offloads: Offloads,
    /// What is sent instead of the plan's own, so that the driver has a checksum to complete.
    partial: Option<Template>,
    notes: Vec<String>,
}

enum Engine {
    Live(Live),
    Sink(Box<dyn Sink + Send>),
    Crew(Crew),
}

impl Sender {
    /// Opens a way out of the interface called `name` for `plan`: by `backend`, or the one that suits the plan best
    /// and works here. AF_XDP takes the transmit queue `queue`, and several threads those that follow it.
    ///
    /// # Errors
    /// As [`Live::new`] and [`sink::open`]; [`Invalid`](linerate_base::ErrorKind::Invalid) when the plan's longest frame
    /// does not fit the interface's MTU, or it has more threads than there are cores.
    pub fn open(plan: &Plan<'_>, name: &str, backend: Option<Backend>, queue: u32) -> Result<Self> {
        let (link, found) = Link::find(name)?;
        link.fits(plan.template.frame(), found.mtu)?;
        let is_live = match backend {
            None => is_fast(plan.pace.rate, plan.template.mean()) || plan.threads > 1,
            Some(backend) => backend == Backend::Live,
        };
        let config = Config {
            interface: name.to_owned(),
            backend,
            queue,
            slots: SLOTS,
            longest: plan.template.longest(),
            offloads: Offloads::default(),
            mark: None,
            alike: None,
        };
        if backend == Some(Backend::Xdp) {
            return Self::offloading(plan, config);
        }
        match live::suits(plan) {
            _ if !is_live => Self::sinks(plan, &config, sink::open(&config)?),
            Ok(stamp) => Self::live(plan, &stamp, &config),
            Err(reason) => {
                let opened = sink::open_fast(&config)?;
                let mut sender = Self::sinks(plan, &config, opened)?;
                if sender.backend == Backend::Live {
                    let note = format!("user space makes the packets, not the kernel: {reason}");
                    sender.notes.push(note);
                }
                Ok(sender)
            }
        }
    }

    /// Has the driver complete checksums and keep gaps, where it can.
    fn offloading(plan: &Plan<'_>, mut config: Config) -> Result<Self> {
        let (partial, checksum) = plan.template.partial().unzip();
        config.offloads = Offloads { checksum, launches: plan.pace.rate != Rate::Unlimited };
        let opened = sink::open(&config)?;
        config.offloads = opened.offloads;
        let sender = Self::sinks(plan, &config, opened)?;
        let partial = partial.filter(|_| config.offloads.checksum.is_some());
        Ok(Self { partial, ..sender })
    }

    /// Has a program make the frames.
    fn live(plan: &Plan<'_>, stamp: &Stamp, config: &Config) -> Result<Self> {
        let why = match config.backend {
            Some(_) => sink::ASKED_FOR,
            None if plan.threads > 1 => "several threads share what the kernel makes",
            None => sink::FAST,
        };
        match Live::new(plan, stamp, &config.interface) {
            Err(error) if config.backend.is_none() && sink::is_about_live(&error) => {
                Self::sinks(plan, config, sink::open_without_live(config, &error)?)
            }
            live => {
                let live = live.map_err(|error| sink::with_remedy(error, Backend::Live))?;
                let (engine, backend) = (Engine::Live(live), Backend::Live);
                let (offloads, partial) = (Offloads::default(), None);
                Ok(Self { engine, backend, why, offloads, partial, notes: Vec::new() })
            }
        }
    }

    /// Has as many sinks as the plan has threads send, the first of which is open.
    fn sinks(plan: &Plan<'_>, config: &Config, first: Opened) -> Result<Self> {
        let Opened { sink, backend, why, offloads, mut notes } = first;
        let partial = None;
        if plan.threads == 1 || backend == Backend::Live {
            if plan.threads > 1 {
                notes.push("one thread sends: these live frames take two cores already".into());
            }
            let engine = Engine::Sink(sink);
            return Ok(Self { engine, backend, why, offloads, partial, notes });
        }
        let mut sinks = vec![sink];
        for place in 1..plan.threads as u32 {
            let queue = config.queue + place;
            let next = Config { backend: Some(backend), queue, ..config.clone() };
            sinks.push(sink::open(&next)?.sink);
        }
        let engine = Engine::Crew(Crew::new(sinks)?);
        Ok(Self { engine, backend, why, offloads, partial, notes })
    }

    /// The way out that it is.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Why it was this one.
    pub fn why(&self) -> &'static str {
        self.why
    }

    /// What the driver does with frames beside sending them.
    pub fn offloads(&self) -> Offloads {
        self.offloads
    }

    /// What is other than best, one line each, for the user to read.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Carries out the plan that it was opened for, until it is done or `watch`, which is asked every 50 ms or more
    /// often, says true.
    ///
    /// # Errors
    /// As [`Live::run`] and [`run`](run()); the report is of what was sent all the same.
    pub fn run(&mut self, plan: &Plan<'_>, watch: &Watch<'_>) -> (Report, Result<()>) {
        let plan =
            Plan { template: self.partial.as_ref().unwrap_or(plan.template), ..plan.clone() };
        match &mut self.engine {
            Engine::Live(live) => live.run(watch),
            Engine::Sink(sink) => run(&plan, sink, watch),
            Engine::Crew(crew) => crew.run(&plan, watch),
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
