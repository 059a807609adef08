//! Putting the sources together, in the order that lets no packet slip through: sockets with all
//! their frames first, then the program, which finds every socket in its place.

use std::sync::Arc;
use std::time::Duration;

use linerate_base::{Error, ErrorKind, LinkType, Result, TimestampSource};
use linerate_bpf::extended::Predicate;
use linerate_sys::bpf::XdpMode;
use linerate_sys::ethtool::{self, Offload};
use linerate_sys::interface::{self, Interface};
use linerate_sys::netlink::LinkWatch;
use linerate_sys::xsk::Umem;

use super::inlet::{Bound, Inlet};
use super::intake::Intake;
use super::plan::Plan;
use super::wait::{Rest, Wait};
use super::{Clock, Xsk};
use crate::live::place::{Place, snaplen};
use crate::live::setup::check_memory;
use crate::live::watch::Losses;
use crate::open::{RECEIVED_ONLY, STAMPING};
use crate::tap::driver::Driver;
use crate::tap::setup::check_can_be_spared;
use crate::threads::receive_queues;
use crate::{Backend, Capture, Config, Directions, Hook};

/// Opens `count` sources, each with its share of the interface's queues.
///
/// # Errors
/// As [`open_many`](crate::open_many); [`ErrorKind::Invalid`] when there are fewer queues than
/// sources, or the host would lose all packets to its own addresses unforced; [`ErrorKind::Busy`] when a queue or the program's place is taken.
pub(crate) fn open(config: &Config, count: usize) -> Result<Vec<Capture>> {
    let place = Place::find(config)?;
    check_options(config, &place)?;
    let watches: Vec<_> =
        (0..count).map(|_| LinkWatch::of(place.link.index)).collect::<Result<_>>()?;
    let device = interface::by_index(place.link.index)?;
    if !device.is_up {
        return Err(place.link.not_up());
    }
    check_host(config, &device)?;
    let interface = place.link.index;
    // A kernel that does not know what drivers tell is no reason not to capture.
    let told = Driver::of(&place.link, false);
    let vlan_tag = told.as_ref().ok().and_then(|told| told.vlan_tag);
    let driver = vlan_tag.map(|vlan_tag| Bound { interface, vlan_tag });
    let setup = Setup { config, place, device, driver };
    let plan = setup.plan(count)?;
    let inlet = Arc::new(setup.inlet()?);
    let share = |first| (first..plan.queues).step_by(count);
    let intakes: Vec<_> = (0..count as u32)
        .map(|first| setup.intake(&inlet, &plan, share(first)))
        .collect::<Result<_>>()?;
    let mode = inlet.open(interface, setup.place.unbound_socket(config)?)?;
    setup.check_polled(mode)?;
    let mut notes = setup.notes(&plan, mode);
    notes.extend(setup.tag_note(told.err()));
    if !intakes.iter().all(Intake::is_zero_copy) {
        notes.push("the kernel copies packets: the driver has no zero-copy".into());
    }
    let parts = intakes.into_iter().zip(watches);
    let captures = parts.enumerate().map(|(number, (intake, watch))| {
        let source = setup.source(&inlet, &plan, intake, watch);
        let (source, notes) = match number {
            0 => (setup.speaker(source, &plan), std::mem::take(&mut notes)),
            _ => (source, Vec::new()),
        };
        setup.capture(source, mode, notes)
    });
    Ok(captures.collect())
}

struct Setup<'a> {
    config: &'a Config,
    place: Place,
    device: Interface,
    /// The driver, if it takes VLAN tags off and tells them.
    driver: Option<Bound>,
}

/// After packets of a stream the next ones are left to themselves so long, or as long as the frames
/// last at [`FASTEST`].
const NAP: Duration = Duration::from_millis(1);

/// The time between two packets of one queue, at the most that one core can receive, with as much
/// again to spare.
const FASTEST: Duration = Duration::from_nanos(25);

/// What AF_XDP cannot do.
fn check_options(config: &Config, place: &Place) -> Result<()> {
    let refuse = |answered: &str, advice| {
        let asked = format!("capture on {} by the back end {}", config.interface, Backend::Xdp);
        Err(Error::new(ErrorKind::Unsupported, asked, answered).advise(advice))
    };
    if place.link_type != LinkType::ETHERNET {
        return refuse("it takes Ethernet frames of one interface only", "the back end ring can");
    }
    if config.direction == Directions::Out {
        let advice = match config.exclusive {
            true => "leave out the direction: only received packets can be kept from the host",
            false => "the back ends tap and ring can",
        };
        return refuse("it sees received packets only", advice);
    }
    if config.fanout.is_some() {
        return refuse(
            "it shares packets by queue, not as fanout groups do",
            "the back ends ring and socket can",
        );
    }
    if config.filter.as_ref().is_some_and(|filter| filter.tap.is_none()) {
        let answered = "this filter does not run in the kernel, and packets that it turns away must \
                        go to the host";
        return refuse(answered, "the back ends tap and ring can");
    }
    match config.timestamps {
        TimestampSource::Kernel => Ok(()),
        other => refuse(&format!("it has no {other} timestamps"), STAMPING),
    }
}

/// Whether the host keeps what it needs to be reached: AF_XDP takes what the filter keeps.
fn check_host(config: &Config, device: &Interface) -> Result<()> {
    match config {
        Config { force: true, .. } => Ok(()),
        Config { exclusive: true, .. } => check_can_be_spared(device),
        Config { filter: Some(_), .. } => Ok(()),
        _ => check_can_be_spared(device).map_err(|error| {
            error.advise(format!(
                "{} leaves the host what a filter turns away, {} all; --force does it all the same",
                Backend::Xdp,
                Backend::Tap
            ))
        }),
    }
}

impl Setup<'_> {
    /// For `count` sources: queue `n` goes to source `n` modulo their number.
    fn plan(&self, count: usize) -> Result<Plan> {
        let queues = receive_queues(&self.device.name)?;
        if queues < count {
            let asked = format!("capture on {} by {count} threads", self.config.interface);
            let answered = format!("it has {queues} receive queues");
            return Err(Error::new(ErrorKind::Invalid, asked, answered).advise(
                "AF_XDP gives each queue to one thread: ask for no more threads than queues",
            ));
        }
        let buffer = self.config.buffer;
        let plan = Plan::new(buffer, self.device.mtu, queues as u32, count as u32)?;
        check_memory(plan.bytes().max(buffer))?;
        Ok(plan)
    }

    fn inlet(&self) -> Result<Inlet> {
        let filter: Option<&Predicate> =
            self.config.filter.as_ref().and_then(|filter| filter.tap.as_ref());
        Inlet::new(self.all_queues(), filter, self.driver, self.config.exclusive)
    }

    /// Those included that the interface does not use now.
    fn all_queues(&self) -> u32 {
        self.device.receive_queues.max(1)
    }

    /// Of the queues with these numbers.
    fn intake(
        &self,
        inlet: &Inlet,
        plan: &Plan,
        numbers: impl ExactSizeIterator<Item = u32>,
    ) -> Result<Intake> {
        let Plan { size, frames, .. } = *plan;
        let mut umem = Umem::new(size, frames, numbers.len() as u32)?;
        if !umem.populate(|| !self.config.interrupt.is_triggered())? {
            let asked = format!("open {}", self.config.interface);
            return Err(Error::new(ErrorKind::Interrupted, asked, "interrupted"));
        }
        let mut opened = Vec::with_capacity(numbers.len());
        for number in numbers {
            let mut queue = umem.open_queue(self.place.link.index, number)?;
            if self.config.busy_poll {
                queue.prefer_busy_poll()?;
            }
            inlet.add(number, &queue)?;
            opened.push((number, queue));
        }
        Ok(Intake::new(umem, opened, frames, snaplen(self.config)))
    }

    /// Generic XDP does not tell a socket which driver its packets come from (`__netif_alloc_rx_queues` in
    /// net/core/dev.c, Linux 6.18: the id is 0).
    fn check_polled(&self, mode: XdpMode) -> Result<()> {
        if !self.config.busy_poll || mode == XdpMode::Native {
            return Ok(());
        }
        let asked = format!("capture on {} with busy polling", self.config.interface);
        let answered = "its driver has no XDP, and only one that has can be polled";
        Err(Error::new(ErrorKind::Unsupported, asked, answered).advise("leave out --busy-poll"))
    }

    fn source(&self, inlet: &Arc<Inlet>, plan: &Plan, intake: Intake, watch: LinkWatch) -> Xsk {
        let rest = match self.config {
            Config { busy_poll: true, .. } => Rest::Never,
            Config { immediate: true, .. } => Rest::Sleep,
            _ => Rest::Nap(nap(plan)),
        };
        let link = self.place.link.clone();
        Xsk {
            inlet: Arc::clone(inlet),
            intake,
            wait: Wait::new(link, watch, self.config.interrupt.clone(), rest),
            clock: Clock::new(),
            interfaces: vec![self.place.interface(self.config)],
            delivered: 0,
            strays: Vec::new(),
            losses: None,
        }
    }

    /// The source that tells what holds for all of them.
    fn speaker(&self, source: Xsk, plan: &Plan) -> Xsk {
        let strays = (plan.queues..self.all_queues()).collect();
        Xsk { strays, losses: Losses::of(&self.place.link), ..source }
    }

    fn capture(&self, source: Xsk, mode: XdpMode, notes: Vec<String>) -> Capture {
        Capture {
            source: Box::new(source),
            backend: Backend::Xdp,
            hook: Some(Hook::xdp(mode)),
            interface: self.place.interface(self.config),
            fanout_group: None,
            gatekeeper: None,
            notes,
        }
    }
}

fn nap(plan: &Plan) -> Duration {
    NAP.min(FASTEST * plan.frames)
}

impl Setup<'_> {
    /// What the user should know.
    fn notes(&self, plan: &Plan, mode: XdpMode) -> Vec<String> {
        let name = &self.device.name;
        let mut notes = vec![format!("{} do not reach the host's own stack", self.taken())];
        notes.push(plan.note());
        if self.config.direction == Directions::Both {
            notes.push(RECEIVED_ONLY.into());
        }
        if mode == XdpMode::Generic {
            notes.push(format!("the driver of {name} has no XDP; the kernel's own is slower"));
        }
        notes
    }

    /// Where the driver may take tags off and nobody can ask it for them, with the reason.
    fn tag_note(&self, reason: Option<Error>) -> Option<String> {
        let name = &self.device.name;
        let strips = ethtool::offload(name, Offload::ReceiveVlan).is_ok_and(|on| on);
        if !strips || self.driver.is_some() {
            return None;
        }
        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        let what = "VLAN tags that the driver takes off packets are missing";
        Some(format!("{what}{reason}: `ethtool -K {name} rxvlan off` leaves them on"))
    }

    fn taken(&self) -> &'static str {
        match self.config {
            Config { exclusive: false, filter: Some(_), .. } => "packets that the filter keeps",
            _ => "packets that come in",
        }
    }
}
