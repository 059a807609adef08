//! Where a tap is to be put, and whether it may.

use std::net::IpAddr;

use linerate_base::{Error, ErrorKind, LinkType, Result, TimestampSource};
use linerate_bpf::extended::Hook;
use linerate_sys::bpf::XdpMode;
use linerate_sys::cpu;
use linerate_sys::interface::{self, Interface};

use super::build::{Build, Spot};
use super::program::Producers;
use crate::card;
use crate::live::place::{Place, snaplen};
use crate::open::RECEIVED_ONLY;
use crate::own::ports;
use crate::{Backend, Capture, Config, Directions, Owned};

/// Opens `count` sources that share the packets of one tap at the traffic-control hooks: ring i goes to
/// source i modulo their number.
pub(crate) fn open_tcx(config: &Config, count: usize) -> Result<Vec<Capture>> {
    Setup::new(config, Backend::Tap)?.open_tcx(count)
}

/// The same at the XDP hook.
pub(crate) fn open_xdp(config: &Config, count: usize) -> Result<Vec<Capture>> {
    Setup::new(config, Backend::TapXdp)?.open_xdp(count)
}

struct Setup<'a> {
    config: &'a Config,
    backend: Backend,
    place: Place,
    device: Interface,
}

/// Interfaces whose packets begin with an Ethernet header or an IP header: `ARPHRD_ETHER`,
/// `_LOOPBACK`, `_RAWIP` and `_NONE` of `linux/if_arp.h`.
const HARDWARE: [u16; 4] = [1, 772, 519, 65534];

/// Why no tap can be put on such an interface of this machine, if none can.
pub(crate) fn obstacle(device: &Interface) -> Option<&'static str> {
    if !HARDWARE.contains(&device.hardware_type) {
        return Some("it does not know such interfaces");
    }
    cpu::is_realtime().then_some("on a real-time kernel, programs of one core interrupt each other")
}

/// Bytes of a neighbour solicitation with two VLAN tags and an option.
const QUESTION: u32 = 94;

/// Drivers of interfaces that are not emptied by one core at a time for each queue: of the first,
/// processes fill them; of the second, several interfaces have queues of the same number.
const QUEUES_SHARED: [&str; 2] = ["tun", "bonding"];

/// Drivers that go on as they are when they get a program.
const UNDISTURBED: [&str; 2] = ["veth", "tun"];

impl<'a> Setup<'a> {
    fn new(config: &'a Config, backend: Backend) -> Result<Self> {
        let place = Place::find(config)?;
        if place.is_any() {
            return Err(unsupported(config, backend, "it is on one interface, not on all")
                .advise("name the interface, or use the back end ring"));
        }
        let device = interface::by_name(&place.link.name)?;
        let setup = Self { config, backend, place, device };
        setup.check()?;
        Ok(setup)
    }

    fn check(&self) -> Result<()> {
        if let Some(answer) = obstacle(&self.device) {
            return Err(self.unsupported(answer));
        }
        if self.config.fanout.is_some() {
            let advice = "use several threads, or the back end ring";
            return Err(self.invalid("it is in no fanout group", advice));
        }
        if self.config.timestamps == TimestampSource::Hardware {
            card::check(&self.device.name)?;
        }
        if let Some(owned) = &self.config.owned {
            self.check_owned(owned)?;
        }
        if self.device.is_up { Ok(()) } else { Err(self.place.link.not_up()) }
    }

    /// At the traffic-control hooks; of the loopback interface at the one for received packets only,
    /// as each packet comes by both.
    fn open_tcx(&self, count: usize) -> Result<Vec<Capture>> {
        if self.config.exclusive {
            return Err(self.unsupported("it cannot take packets away from the host"));
        }
        if self.config.owned.is_some() {
            return self.build().at_tcx(&[Hook::Ingress], count);
        }
        let hooks: &[Hook] = match (self.config.direction, self.place.is_loopback()) {
            (Directions::Both, false) => &[Hook::Ingress, Hook::Egress],
            (Directions::Both, true) | (Directions::In, _) => &[Hook::Ingress],
            (Directions::Out, false) => &[Hook::Egress],
            (Directions::Out, true) => &[],
        };
        if self.config.timestamps == TimestampSource::Hardware {
            card::stamp_all(&self.device.name)?;
        }
        self.build().at_tcx(hooks, count)
    }

    /// At the XDP hook: in the driver, or else, with a note, behind it.
    fn open_xdp(&self, count: usize) -> Result<Vec<Capture>> {
        self.check_xdp()?;
        if self.config.timestamps == TimestampSource::Hardware {
            // Where the driver stamps without being told, it does not know the request.
            let _ = card::stamp_all(&self.device.name);
        }
        let native = Spot { mode: XdpMode::Native, producers: self.native_producers() };
        match self.build().at_xdp(native, count) {
            Ok(captures) => {
                Ok(noted(captures, self.driver_note().into_iter().chain(self.way_note())))
            }
            // Behind the driver, programs are not told the card's time.
            Err(error)
                if error.kind() == ErrorKind::Unsupported
                    && self.config.timestamps != TimestampSource::Hardware =>
            {
                let generic = Spot { mode: XdpMode::Generic, producers: Producers::Cpus };
                let captures = self.build().at_xdp(generic, count)?;
                let what = "the kernel runs the program in the driver's place, which is slower";
                let note = format!("{what}: {}", error.answered());
                Ok(noted(captures, [note].into_iter().chain(self.way_note())))
            }
            Err(error) => Err(error),
        }
    }

    /// Most drivers set their queues up anew to run a program, and then lose what comes meanwhile.
    fn driver_note(&self) -> Option<String> {
        let driver = self.device.driver.as_deref()?;
        let note =
            "may have lost packets while it took the program in, and may when it gives it back";
        (!UNDISTURBED.contains(&driver)).then(|| format!("the driver {driver} {note}"))
    }

    /// All of the loopback interface's packets are received, and so are all to owned addresses.
    fn way_note(&self) -> Option<String> {
        let both = self.config.direction == Directions::Both;
        let all = self.place.is_loopback() || self.config.owned.is_some();
        (both && !all).then(|| RECEIVED_ONLY.into())
    }

    fn check_xdp(&self) -> Result<()> {
        if self.place.link_type != LinkType::ETHERNET {
            return Err(self.unsupported("XDP is for Ethernet"));
        }
        if self.config.direction == Directions::Out {
            let advice = match self.config.exclusive {
                true => "leave out the direction: only received packets can be kept from the host",
                false => "use the back end tap, which sees both directions",
            };
            return Err(self.invalid("it sees received packets only", advice));
        }
        if self.config.exclusive && !self.config.force {
            return check_can_be_spared(&self.device);
        }
        Ok(())
    }

    fn check_owned(&self, owned: &Owned) -> Result<()> {
        if self.place.link_type != LinkType::ETHERNET {
            return Err(self.unsupported("owned addresses are for Ethernet"));
        }
        if self.config.exclusive {
            let answered =
                "to take all packets and to take those to owned addresses exclude each other";
            return Err(self.invalid(answered, "ask for one of them"));
        }
        if self.config.direction == Directions::Out {
            let advice = "leave out the direction, or ask for received packets";
            return Err(self.invalid("packets to owned addresses are received ones", advice));
        }
        if snaplen(self.config) < QUESTION {
            let advice = format!("keep {QUESTION} bytes of a packet at least");
            return Err(self.invalid("questions for owned addresses must be seen whole", &advice));
        }
        if self.config.force { Ok(()) } else { self.check_spared(owned) }
    }

    /// The host could not be reached by an address that is taken from it, nor use its ports.
    fn check_spared(&self, owned: &Owned) -> Result<()> {
        for address in &self.device.addresses {
            if let Some(ports) = owned.ports(address.ip)? {
                ports::check(address.ip, &ports)?;
            }
            if owned.contains(address.ip)? {
                let asked = format!("own addresses on {}", self.device.name);
                let answered = format!("{} is the host's own there", address.ip);
                let advice = "own one that nobody has; \
                              `linerate capture --force` takes it from the host all the same";
                return Err(Error::new(ErrorKind::Invalid, asked, answered).advise(advice));
            }
        }
        Ok(())
    }

    fn native_producers(&self) -> Producers {
        let driver = self.device.driver.as_deref().unwrap_or_default();
        if QUEUES_SHARED.contains(&driver) { Producers::Cpus } else { Producers::Queues }
    }

    fn build(&self) -> Build<'_> {
        Build::new(self.config, self.backend, &self.place)
    }

    fn unsupported(&self, answer: &str) -> Error {
        unsupported(self.config, self.backend, answer)
    }

    fn invalid(&self, answer: &str, advice: &str) -> Error {
        self.unsupported(answer).as_kind(ErrorKind::Invalid).advise(advice)
    }
}

fn unsupported(config: &Config, backend: Backend, answer: &str) -> Error {
    let asked = format!("capture on {} by the back end {backend}", config.interface);
    Error::new(ErrorKind::Unsupported, asked, answer)
}

/// The host could not be reached by its own addresses on `device` any more if it got nothing from there.
pub(crate) fn check_can_be_spared(device: &Interface) -> Result<()> {
    match own_address(device) {
        Some(ip) => Err(Error::new(
            ErrorKind::Invalid,
            format!("take the packets of {} away from the host", device.name),
            format!("the host has the address {ip} there"),
        )
        .advise("--force does it all the same")),
        None => Ok(()),
    }
}

/// An address by which the host could not be reached any more without the interface's packets.
/// Link-local addresses come by themselves.
pub(crate) fn own_address(device: &Interface) -> Option<IpAddr> {
    device.addresses.iter().map(|address| address.ip).find(|ip| !is_link_local(ip))
}

/// The sources, with more notes that hold for all of them.
fn noted(mut captures: Vec<Capture>, notes: impl Iterator<Item = String>) -> Vec<Capture> {
    captures[0].notes.splice(0..0, notes);
    captures
}

fn is_link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}
