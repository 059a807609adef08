//! Putting a live source together, in the order that lets no packet slip through.
//!
//! The socket starts with no protocol and a gate that is closed. Buffer, binding and fanout follow; at
//! the end the gate opens, in one step, to what the filter keeps.

use std::io;
use std::os::fd::AsFd;

use linerate_base::{Error, ErrorKind, Result, Source, TimestampSource};
use linerate_sys::memory;
use linerate_sys::packet_socket::{ALL_PROTOCOLS, PacketSocket};

use super::gate::{self, Gate};
use super::place::{Place, no_device, snaplen};
use super::port::Port;
use super::ring::{RingIntake, geometry, hold};
use super::socket::SocketIntake;
use super::watch::Losses;
use super::{Intake, Live};
use crate::card;
use crate::link::level;
use crate::open::STAMPING;
use crate::privilege::explain;
use crate::threads::receive_queues;
use crate::{ANY, Backend, Capture, Config, Fanout, FanoutMode, Filtered, UserFilter};

/// Opens `count` sources by rings. They share packets and buffer.
pub(crate) fn open_rings(config: &Config, count: usize) -> Result<Vec<Capture>> {
    group(&share(config, count), Backend::Ring, count, Setup::ring)
}

/// Opens `count` sources by plain sockets. They share packets and buffer.
pub(crate) fn open_sockets(config: &Config, count: usize) -> Result<Vec<Capture>> {
    group(&share(config, count), Backend::Socket, count, Setup::socket)
}

/// What each of `count` sources is asked for.
fn share(config: &Config, count: usize) -> Config {
    Config { buffer: config.buffer / count as u64, ..config.clone() }
}

/// Their gates open once all have joined, so that the share of each is the same from the first packet on.
fn group<'a, I: Intake + Send + 'static>(
    member: &'a Config,
    backend: Backend,
    count: usize,
    close: fn(Setup<'a>) -> Result<Closed<'a, I>>,
) -> Result<Vec<Capture>> {
    let mut fanout = fanout(member, count)?;
    let mut members = Vec::with_capacity(count);
    for number in 0..count {
        let mut closed = close(Setup::new(member, backend, fanout)?)?;
        closed.setup.tells_all = number == 0;
        fanout = fanout.map(|fanout| Fanout { group: closed.fanout_group, ..fanout });
        members.push(closed);
    }
    members.into_iter().map(Closed::open).collect()
}

/// How `count` sources share packets.
fn fanout(config: &Config, count: usize) -> Result<Option<Fanout>> {
    if count == 1 || config.fanout.is_some() {
        return Ok(config.fanout);
    }
    let interface = &config.interface;
    let by_core = interface == ANY || receive_queues(interface)? >= count;
    let mode = if by_core { FanoutMode::Cpu } else { FanoutMode::Hash };
    Ok(Some(Fanout { mode, group: None }))
}

struct Setup<'a> {
    config: &'a Config,
    backend: Backend,
    fanout: Option<Fanout>,
    /// What holds for all members of a group is told by its first.
    tells_all: bool,
    place: Place,
    notes: Vec<String>,
}

/// A source that is complete but for its gate, which lets nothing through yet.
struct Closed<'a, I> {
    setup: Setup<'a>,
    socket: PacketSocket,
    intake: I,
    fanout_group: Option<u16>,
}

impl<'a> Setup<'a> {
    fn new(config: &'a Config, backend: Backend, fanout: Option<Fanout>) -> Result<Self> {
        let place = Place::find(config)?;
        let setup = Self { config, backend, fanout, tells_all: true, place, notes: Vec::new() };
        setup.check_options()?;
        Ok(setup)
    }

    /// A packet socket takes no packet away from the host, and the kernel stamps for it, or the network card.
    fn check_options(&self) -> Result<()> {
        if self.config.exclusive {
            return Err(self.unsupported("it cannot take packets away from the host"));
        }
        match self.config.timestamps {
            TimestampSource::Kernel => Ok(()),
            TimestampSource::Hardware if !self.place.is_any() => card::check(&self.place.link.name),
            other => {
                Err(self.unsupported(&format!("it has no {other} timestamps")).advise(STAMPING))
            }
        }
    }

    fn unsupported(&self, answer: &str) -> Error {
        let asked = format!("{} by the back end {}", self.asked(), self.backend);
        Error::new(ErrorKind::Unsupported, asked, answer)
    }

    fn ring(mut self) -> Result<Closed<'a, RingIntake>> {
        let (config, snaplen) = (self.config, snaplen(self.config));
        let geometry = geometry(config.buffer, snaplen, hold(config));
        check_memory(geometry.bytes() as u64)?;
        if geometry.bytes() as u64 > config.buffer {
            let least = geometry.bytes() >> 10;
            self.notes
                .push(format!("the ring takes {least} KiB, the least for {snaplen}-byte packets"));
        }
        let socket = self.closed_socket()?;
        let intake = RingIntake::new(&socket, &geometry, self.place.framer(config))?;
        self.connect(socket, intake)
    }

    fn socket(mut self) -> Result<Closed<'a, SocketIntake>> {
        let socket = self.closed_socket()?;
        socket.enable_aux_data().map_err(|e| explain(self.asked(), e))?;
        self.size_queue(&socket)?;
        let intake = SocketIntake::new(snaplen(self.config), self.place.framer(self.config));
        self.connect(socket, intake)
    }

    fn asked(&self) -> String {
        format!("capture on {}", self.config.interface)
    }

    /// A socket that lets nothing through yet.
    ///
    /// With timestamps on, the kernel stamps packets when they arrive, once for all who capture them;
    /// otherwise a ring would get the time of the copy into it. A packet that the network card was to
    /// stamp and did not, such as every one that the host sends, keeps the kernel's time.
    fn closed_socket(&self) -> Result<PacketSocket> {
        let socket = PacketSocket::open(level(self.place.link_type))
            .map_err(|e| explain(self.asked(), e))?;
        Gate::close(socket.as_fd())?;
        socket.enable_timestamps().map_err(|e| explain(self.asked(), e))?;
        if self.config.timestamps == TimestampSource::Hardware {
            card::stamp_all(&self.place.link.name)?;
            socket.enable_hardware_timestamps().map_err(|e| explain(self.asked(), e))?;
        }
        Ok(socket)
    }

    /// The kernel doubles what it is asked for, for its own use.
    fn size_queue(&mut self, socket: &PacketSocket) -> Result<()> {
        let asked = usize::try_from(self.config.buffer).unwrap_or(usize::MAX).min(LARGEST_QUEUE);
        let granted = socket.set_receive_buffer(asked).map_err(|e| explain(self.asked(), e))? / 2;
        if granted < asked {
            let limit = "an administrator, or the sysctl net.core.rmem_max, can allow more";
            self.notes.push(format!("the buffer has {granted} of {asked} bytes: {limit}"));
        }
        Ok(())
    }

    fn connect<I>(self, socket: PacketSocket, intake: I) -> Result<Closed<'a, I>> {
        self.bind(&socket)?;
        let fanout_group = self.join_fanout(&socket)?;
        Ok(Closed { setup: self, socket, intake, fanout_group })
    }

    fn bind(&self, socket: &PacketSocket) -> Result<()> {
        let link = &self.place.link;
        let refused = |error| no_device(&link.name, error);
        if self.config.promiscuous && !self.place.is_any() {
            socket.set_promiscuous(link.index).map_err(refused)?;
        }
        socket.bind(link.index, ALL_PROTOCOLS).map_err(refused)?;
        match socket.take_error().map_err(refused)? {
            Some(error) if error.kind() == io::ErrorKind::NetworkDown => Err(link.not_up()),
            Some(error) => Err(refused(error)),
            None => Ok(()),
        }
    }

    fn join_fanout(&self, socket: &PacketSocket) -> Result<Option<u16>> {
        let Some(fanout) = self.fanout else { return Ok(None) };
        let joined = socket.join_fanout(fanout.group, fanout.mode);
        let group = joined.and_then(|()| socket.fanout_group());
        group.map(Some).map_err(|e| {
            let number =
                fanout.group.map_or("a new fanout group".into(), |g| format!("fanout group {g}"));
            Error::system(format!("{} as part of {number}", self.asked()), e)
        })
    }

    /// Opens the gate to what the filter keeps; where the filter does not run in the kernel, to all,
    /// and tells the filter for user space.
    fn open_gate(&mut self, socket: &PacketSocket) -> Result<(Gate, Option<UserFilter>)> {
        let (ways, snaplen) = (self.place.ways(self.config), snaplen(self.config));
        let filter = self.config.filter.as_ref();
        if let Some(program) = filter.and_then(|filter| filter.kernel.as_ref()) {
            match Gate::open(socket.as_fd(), &gate::compose(program, ways, snaplen)) {
                Ok(gate) => return Ok((gate, None)),
                Err(e) => self.notes.push(format!("filtering in user space: {}", e.answered())),
            }
        } else if filter.is_some_and(|filter| filter.tap.is_some()) {
            self.notes.push("filtering in user space: only a tap takes a filter this large".into());
        }
        let gate = Gate::open(socket.as_fd(), &gate::keep_all(ways, snaplen))?;
        Ok((gate, filter.map(|filter| filter.user.clone())))
    }
}

impl<I: Intake + Send + 'static> Closed<'_, I> {
    fn open(self) -> Result<Capture> {
        let Self { mut setup, socket, intake, fanout_group } = self;
        let (gate, user) = setup.open_gate(&socket)?;
        let Setup { config, backend, tells_all, place, mut notes, .. } = setup;
        let keeper = || gate.keeper(socket.as_fd(), place.ways(config), snaplen(config));
        let gatekeeper = user.is_none().then(keeper).transpose()?;
        if !tells_all {
            notes.clear();
        }
        let interface = place.interface(config);
        let Place { link, inquiry, .. } = place;
        let index = (link.index != 0).then_some(link.index);
        let losses = if tells_all { Losses::of(&link) } else { None };
        let port = Port::new(socket, gate, link, losses, config.interrupt.clone(), inquiry);
        let live = Live::new(port, intake);
        let source: Box<dyn Source + Send> = match user {
            Some(filter) => Box::new(Filtered::new(live, filter).on_interface(index)),
            None => Box::new(live),
        };
        Ok(Capture { source, backend, hook: None, interface, fanout_group, gatekeeper, notes })
    }
}

/// The largest queue that setsockopt(2) can express, and the kernel can double.
const LARGEST_QUEUE: usize = (i32::MAX / 2) as usize;

/// The kernel would rather take memory from others than refuse a ring of so many bytes.
pub(crate) fn check_memory(bytes: u64) -> Result<()> {
    let Ok(available) = memory::available() else { return Ok(()) };
    if bytes <= available {
        return Ok(());
    }
    let asked = format!("allocate a capture ring of {} MiB", bytes >> 20);
    let answered = format!("{} MiB of memory are free", available >> 20);
    Err(Error::new(ErrorKind::Exhausted, asked, answered).advise("lower --buffer"))
}
