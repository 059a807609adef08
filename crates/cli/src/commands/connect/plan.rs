//! What the flags mean together.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::Result;
use linerate::capture::{Capture, Interrupt};
use linerate::scan::visit::{Doors, Ending, Order, Request};
use linerate::scan::{Caps, Shard, Targets};
use linerate::tcp::{Config, Key, Local};
use linerate::transmit::template::Surroundings;
use linerate::transmit::{Hops, Outlet, sink};

use crate::args::{CloseArg, ConnectArgs};
use crate::commands::survey;
use crate::exit::usage;

/// Who is visited, and how.
pub(super) struct Plan {
    pub(super) targets: Targets,
    pub(super) shard: Shard,
    pub(super) order: Order,
    pub(super) caps: Caps,
    pub(super) client: Config,
    pub(super) doors: Doors,
}

/// Frames that can wait for the device.
const SLOTS: usize = 4_096;
/// Room for connections beyond the most at once, whose SYNs were under way when these were reached.
const UNDER_WAY: usize = 1 << 20;
/// The smallest and the largest window, in bytes: that of a common OS, and what bounds the data under way.
const WINDOWS: RangeInclusive<u64> = (64 << 10)..=(4 << 20);

impl Plan {
    /// The same, and the ways to all targets.
    pub(super) fn new(args: &ConnectArgs, seed: u64) -> Result<(Self, Hops)> {
        let request = Request::parse(&args.request, args.run.contact.as_deref())
            .map_err(|error| usage(format!("--request: {error}")))?;
        if args.whom.ports.is_empty() {
            return Err(usage("--ports names none: to which ports?"));
        }
        let outlet = survey::outlet(&args.way)?;
        let targets = survey::targets(&args.whom, &args.whom.ports, seed)?;
        let (locals, doors) = origin(args, &targets, &outlet)?;
        let order = Order {
            request,
            enough: args.bytes.max(1),
            keep: usize::try_from(args.bytes).unwrap_or(usize::MAX),
            ending: match args.close {
                CloseArg::Reset => Ending::Reset,
                CloseArg::Fin => Ending::Fin,
            },
        };
        let hops = survey::hops(&outlet, targets.addresses())?;
        let plan = Self {
            targets,
            shard: args.whom.shard.unwrap_or(Shard::WHOLE),
            order,
            caps: Caps::new(args.gentle.per_host, args.gentle.per_network),
            client: Config {
                connections: args.at_once as usize + UNDER_WAY,
                window: args.bytes.clamp(*WINDOWS.start(), *WINDOWS.end()) as u32,
                mtu: (outlet.longest() - 14).min(1_500) as u16,
                lifetime: args.time.max(Duration::from_millis(1)),
                partial_checksums: true,
                ..Config::new(locals, survey::key())
            },
            doors,
        };
        Ok((plan, hops))
    }

    /// Captures what the client is to get.
    pub(super) fn open(&self, args: &ConnectArgs, interrupt: Interrupt) -> Result<Capture> {
        let sources: Vec<_> = self.client.locals.iter().map(|local| local.address).collect();
        Ok(survey::open_own(&args.way, &sources, interrupt)?)
    }

    /// By which way to send.
    pub(super) fn sink(args: &ConnectArgs, longest: usize) -> sink::Config {
        survey::sink(&args.way, SLOTS, longest)
    }
}

/// The client's addresses, one for each family that there are targets of.
fn origin(args: &ConnectArgs, targets: &Targets, outlet: &Outlet) -> Result<(Vec<Local>, Doors)> {
    let (ipv4, ipv6) = targets.examples();
    let (first, last) = args.way.source_ports;
    let families = [ipv4.map(|_| true), ipv6.map(|_| false)].into_iter().flatten();
    let addresses = families.map(|is_ipv4| survey::source(&args.way, outlet, is_ipv4));
    let addresses: Vec<_> = addresses.collect::<Result<_>>()?;
    let mac = outlet.mac();
    let local = |address: &IpAddr| Local { address: *address, ports: first..=last, mac };
    let locals = addresses.iter().map(local).collect();
    let doors = Doors::new(&addresses, first..=last, Key::new(survey::key()));
    Ok((locals, doors))
}
