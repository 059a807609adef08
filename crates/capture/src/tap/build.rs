//! Putting a tap together: rings first, then the programs, which begin to fill them as they are attached.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use linerate_base::{Error, ErrorKind, Result, Source, TimestampSource};
use linerate_bpf::extended::{Hook, Instruction, Predicate};
use linerate_sys::bpf::{
    Link, LoadError, Map, Position, Program, ProgramKind, ProgramSpec, Way, XdpMode,
};
use linerate_sys::cpu;
use linerate_sys::tap_ring::{Doorbell, Geometry, TapRings};

use super::TapSource;
use super::attachment::Attachment;
use super::doze::Doze;
use super::driver::Driver;
use super::intake::Intake;
use super::program::{self, Plan, Producers};
use super::size::geometry;
use super::stamps::{Clock, stamps};
use super::vigil::Vigil;
use crate::live::place::{Place, snaplen};
use crate::live::setup::check_memory;
use crate::live::watch::Losses;
use crate::own::responder::Responder;
use crate::threads::receive_queues;
use crate::{Backend, Capture, Config, Filtered, Hook as Taken, UserFilter};

/// How to attach to the XDP hook.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    pub(crate) mode: XdpMode,
    pub(crate) producers: Producers,
}

/// One attempt to build a tap.
pub(crate) struct Build<'a> {
    config: &'a Config,
    backend: Backend,
    place: &'a Place,
    driver: Driver,
    notes: Vec<String>,
}

/// What programs and sources share.
struct Shared {
    rings: Map,
    geometry: Geometry,
    producers: Producers,
    doorbells: Vec<Doorbell>,
}

/// What those who list programs and maps see.
const NAME: &str = "linerate_tap";

/// Each has a doorbell, which is a map. A program can use 64 of them (the verifier's
/// `MAX_USED_MAPS`), of which some are for rings and owned addresses.
const MOST_THREADS: usize = 60;

impl<'a> Build<'a> {
    pub(crate) fn new(config: &'a Config, backend: Backend, place: &'a Place) -> Self {
        Self { config, backend, place, driver: Driver::default(), notes: Vec::new() }
    }

    /// With programs at these hooks of traffic control: first of all for received packets, last of all
    /// for those to be sent, as near to the wire as can be.
    pub(crate) fn at_tcx(self, hooks: &[Hook], count: usize) -> Result<Vec<Capture>> {
        let index = self.place.link.index;
        self.finish(Taken::Tcx, Producers::Cpus, count, hooks, |hook, program| match hook {
            Hook::Egress => Link::tcx(program, index, Way::Egress, Position::Last),
            _ => Link::tcx(program, index, Way::Ingress, Position::First),
        })
    }

    /// With a program at the XDP hook.
    pub(crate) fn at_xdp(mut self, spot: Spot, count: usize) -> Result<Vec<Capture>> {
        let index = self.place.link.index;
        if spot.mode == XdpMode::Native {
            self.ask_driver()?;
        }
        let attach = |_, program: &Program| Link::xdp(program, index, spot.mode);
        self.finish(Taken::xdp(spot.mode), spot.producers, count, &[Hook::Xdp], attach)
    }

    fn finish(
        mut self,
        taken: Taken,
        producers: Producers,
        count: usize,
        hooks: &[Hook],
        attach: impl Fn(Hook, &Program) -> Result<Link>,
    ) -> Result<Vec<Capture>> {
        let shared = self.share(producers, count)?;
        let count = shared.doorbells.len();
        let vigils = (0..count).map(|_| Vigil::over(&self.place.link));
        let vigils: Vec<_> = vigils.collect::<Result<_>>()?;
        let intakes = (0..count).map(|consumer| self.intake(&shared, consumer, count));
        let intakes: Vec<_> = intakes.collect::<Result<_>>()?;
        let mut responders = self.responders(count)?.into_iter();
        let (programs, user) = self.load_all(&shared, hooks)?;
        let socket = self.place.unbound_socket(self.config)?;
        let links = hooks.iter().zip(&programs).map(|(hook, program)| attach(*hook, program));
        let attachment = Arc::new(Attachment::new(links.collect::<Result<_>>()?, socket));
        let mut losses = Losses::of(&self.place.link);
        let enough = u64::from(shared.geometry.data / 4);
        let parts = intakes.into_iter().zip(shared.doorbells).zip(vigils);
        let sources = parts.map(|((intake, doorbell), vigil)| TapSource {
            intake,
            attachment: Arc::clone(&attachment),
            interfaces: [self.place.interface(self.config)],
            doorbell,
            interrupt: self.config.interrupt.clone(),
            vigil,
            doze: Doze::new(enough, self.config.immediate),
            responder: responders.next(),
            losses: losses.take(),
            has_stopped: false,
            has_ended: false,
            lookout: None,
        });
        let sources: Vec<_> = sources.collect();
        let mut notes = self.notes;
        let index = self.place.link.index;
        Ok(sources
            .into_iter()
            .map(|source| Capture {
                source: filtered(source, user.clone(), index),
                backend: self.backend,
                hook: Some(taken),
                interface: self.place.interface(self.config),
                fanout_group: None,
                gatekeeper: None,
                notes: std::mem::take(&mut notes),
            })
            .collect())
    }

    /// A kernel that does not know what drivers tell is no reason not to capture.
    fn ask_driver(&mut self) -> Result<()> {
        let stamps = self.config.timestamps == TimestampSource::Hardware;
        self.driver = Driver::of(&self.place.link, stamps).unwrap_or_default();
        if stamps && self.driver.timestamp.is_none() {
            let asked = format!("capture on {} with hardware timestamps", self.place.link.name);
            let answered = "the driver does not give them to XDP programs";
            return Err(Error::new(ErrorKind::Invalid, asked, answered)
                .advise("use the back end tap, or kernel timestamps"));
        }
        Ok(())
    }

    fn share(&mut self, producers: Producers, count: usize) -> Result<Shared> {
        let rings = match producers {
            Producers::Cpus => cpu::online()?.last().map_or(1, |last| last + 1),
            Producers::Queues => receive_queues(&self.place.link.name)?.max(1),
        };
        let (config, snaplen) = (self.config, snaplen(self.config));
        let geometry = geometry(config.buffer, rings, snaplen);
        let bytes = geometry.bytes() as u64;
        check_memory(bytes.max(config.buffer))?;
        let filled = match rings {
            1 => "one ring".into(),
            _ => format!("{rings} rings: each {} fills its own", producers.one()),
        };
        if bytes > config.buffer {
            let what = format!("{snaplen}-byte packets in {filled}");
            self.notes.push(format!("the buffer takes {} KiB, the least for {what}", bytes >> 10));
        } else if config.buffer - bytes > bytes / 8 {
            self.notes.push(format!("the buffer takes {} MiB, the most for {filled}", bytes >> 20));
        }
        let count = self.limit(count, producers, rings);
        let map = TapRings::make(&geometry, NAME).map_err(|e| no_memory(e, &geometry))?;
        let doorbells = (0..count).map(|_| Doorbell::new(NAME)).collect::<Result<_>>()?;
        Ok(Shared { rings: map, geometry, producers, doorbells })
    }

    /// Of `count` threads as many as there is work for.
    fn limit(&mut self, count: usize, producers: Producers, rings: usize) -> usize {
        let most = rings.min(MOST_THREADS);
        if count <= most {
            return count;
        }
        let why = match producers.one() {
            one if most == rings => format!("there is one ring for each {one}"),
            _ => "the program can wake no more".into(),
        };
        let noun = if most == 1 { "thread" } else { "threads" };
        self.notes.push(format!("{most} {noun} of {count} asked for: {why}"));
        most
    }

    fn intake(&self, shared: &Shared, consumer: usize, count: usize) -> Result<Intake> {
        let rings = TapRings::map(shared.rings.as_fd(), &shared.geometry)?;
        let own = (consumer..shared.geometry.rings as usize).step_by(count);
        let clock = Clock::of(self.config.timestamps)?;
        Ok(Intake::new(rings, own, clock, snaplen(self.config)))
    }

    /// One for each source, where there are owned addresses.
    fn responders(&self, count: usize) -> Result<Vec<Responder>> {
        let Some(owned) = &self.config.owned else { return Ok(Vec::new()) };
        (0..count).map(|_| Responder::new(owned.clone(), &self.place.link)).collect()
    }

    /// The programs, one for each hook, and the filter that is to run in user space, if it must.
    fn load_all(
        &mut self,
        shared: &Shared,
        hooks: &[Hook],
    ) -> Result<(Vec<Program>, Option<UserFilter>)> {
        let load = |predicate| -> std::result::Result<Vec<_>, LoadError> {
            hooks.iter().map(|hook| self.load(shared, *hook, predicate)).collect()
        };
        let Some(filter) = &self.config.filter else {
            return Ok((load(None).map_err(refused)?, None));
        };
        let mut note = None;
        if let Some(predicate) = &filter.tap {
            match load(Some(predicate)) {
                Ok(programs) => return Ok((programs, None)),
                Err(error) if error.log().is_empty() => return Err(error.into()),
                Err(error) => note = Some(Error::from(error)),
            }
        }
        let programs = load(None).map_err(refused)?;
        let note = note.map(|error| format!("filtering in user space: {}", error.answered()));
        self.notes.extend(note);
        Ok((programs, Some(filter.user.clone())))
    }

    fn load(
        &self,
        shared: &Shared,
        hook: Hook,
        predicate: Option<&Predicate>,
    ) -> std::result::Result<Program, LoadError> {
        let doorbells: Vec<BorrowedFd<'_>> = shared.doorbells.iter().map(AsFd::as_fd).collect();
        let program = program::assemble(&Plan {
            hook,
            rings: shared.rings.as_fd(),
            geometry: shared.geometry,
            producers: shared.producers,
            predicate,
            owned: self.config.owned.as_ref(),
            unseen_mark: self.config.unseen_mark,
            snaplen: snaplen(self.config),
            stamps: stamps(self.config.timestamps),
            driver: self.driver,
            exclusive: self.config.exclusive,
            doorbells: &doorbells,
        });
        let words: Vec<_> = program.instructions.iter().map(Instruction::encode).collect();
        let spec = match hook {
            Hook::Xdp => ProgramSpec::new(ProgramKind::Xdp, &words, NAME).with_fragments(),
            Hook::Ingress | Hook::Egress => ProgramSpec::new(ProgramKind::Classifier, &words, NAME),
        };
        let spec = spec.with_parts(&program.parts);
        let is_bound = self.driver.is_asked();
        Program::load(&if is_bound { spec.bound_to(self.place.link.index) } else { spec })
    }
}

fn filtered(source: TapSource, user: Option<UserFilter>, index: u32) -> Box<dyn Source + Send> {
    match user {
        Some(filter) => Box::new(Filtered::new(source, filter).on_interface(Some(index))),
        None => Box::new(source),
    }
}

/// Without a filter in it the program is always the same: a kernel that refuses it is too old.
fn refused(error: LoadError) -> Error {
    let verified = !error.log().is_empty();
    let error = Error::from(error);
    if verified { error.as_kind(ErrorKind::Unsupported) } else { error }
}

fn no_memory(error: Error, geometry: &Geometry) -> Error {
    if error.kind() != ErrorKind::Exhausted {
        return error;
    }
    let asked = format!("allocate capture rings of {} MiB", geometry.bytes() >> 20);
    Error::new(ErrorKind::Exhausted, asked, error.answered()).advise("lower --buffer")
}
