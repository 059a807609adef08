//! What the flags mean together.

use std::net::IpAddr;

use anyhow::Result;
use linerate::capture::{Capture, Interrupt};
use linerate::scan::{Caps, Kind, Origin, Payload, Prober, Shard, Targets};
use linerate::transmit::template::Surroundings;
use linerate::transmit::{Hops, Outlet, sink};

use crate::args::{ProbeArg, ScanArgs};
use crate::commands::survey;
use crate::exit::usage;

/// Frames that can wait for the device.
const SLOTS: usize = 512;

/// Bytes of the contact that pings carry: with all headers they stay below any MTU (RFC 791: 576).
const LONGEST_WORDS: usize = 500;

/// What is to be probed, and how.
pub(super) struct Plan {
    pub(super) targets: Targets,
    pub(super) shard: Shard,
    pub(super) prober: Prober,
    pub(super) caps: Caps,
    /// The addresses that probes are from.
    pub(super) sources: Vec<IpAddr>,
}

impl Plan {
    /// The same, and the ways to all targets.
    pub(super) fn new(args: &ScanArgs, seed: u64) -> Result<(Self, Hops)> {
        let kind = kind(args)?;
        let ports = match (&args.whom.ports[..], args.probe) {
            ([], ProbeArg::Echo) => vec![(0, 0)],
            ([], _) => return Err(usage("--ports names none: which ports are to be probed?")),
            (_, ProbeArg::Echo) => return Err(usage("--ports: echo requests have none")),
            (ports, _) => ports.to_vec(),
        };
        let outlet = survey::outlet(&args.way)?;
        let targets = survey::targets(&args.whom, &ports, seed)?;
        let (origin, sources) = origin(args, &targets, &outlet)?;
        let (first, last) = args.way.source_ports;
        let prober = Prober::new(kind, origin, first..=last, survey::key());
        let shard = args.whom.shard.unwrap_or(Shard::WHOLE);
        let caps = Caps::new(args.gentle.per_host, args.gentle.per_network);
        let hops = survey::hops(&outlet, targets.addresses())?;
        Ok((Self { targets, shard, prober, caps, sources }, hops))
    }

    /// By which way to send.
    pub(super) fn sink(&self, args: &ScanArgs) -> sink::Config {
        let sink = survey::sink(&args.way, SLOTS, self.prober.longest());
        sink::Config { alike: self.prober.alike(), ..sink }
    }

    /// Captures answers; true where the host does not get them. Echo requests have no ports that could be taken from it.
    pub(super) fn open(&self, args: &ScanArgs, interrupt: Interrupt) -> Result<(Capture, bool)> {
        let ((first, last), way) = (args.way.source_ports, &args.way);
        let answers = match args.probe {
            ProbeArg::Syn | ProbeArg::Ack => format!("tcp dst portrange {first}-{last} or "),
            ProbeArg::Udp => format!("udp dst portrange {first}-{last} or "),
            ProbeArg::Echo => String::new(),
        } + "icmp or icmp6";
        if args.probe == ProbeArg::Echo && way.own.is_empty() {
            return Ok((survey::open_beside(way, &self.sources, &answers, interrupt)?, false));
        }
        survey::open_answers(way, &self.sources, &answers, interrupt)
    }
}

fn kind(args: &ScanArgs) -> Result<Kind> {
    if !args.payload.is_empty() && args.probe != ProbeArg::Udp {
        return Err(usage("--payload: only datagrams have one (--probe udp)"));
    }
    Ok(match args.probe {
        ProbeArg::Syn => Kind::Syn,
        ProbeArg::Ack => Kind::Ack,
        ProbeArg::Udp => {
            Kind::Udp(Payload::parse(&args.payload).map_err(|e| usage(e.to_string()))?)
        }
        ProbeArg::Echo => Kind::Echo(words(args)?),
    })
}

/// What pings say of who sends them.
fn words(args: &ScanArgs) -> Result<String> {
    let contact = args.run.contact.clone().unwrap_or_default();
    match contact.len() {
        0..=LONGEST_WORDS => Ok(contact),
        _ => Err(usage(format!("--contact: pings have room for {LONGEST_WORDS} bytes of it"))),
    }
}

/// Where probes are from, for each family that there are targets of.
fn origin(args: &ScanArgs, targets: &Targets, outlet: &Outlet) -> Result<(Origin, Vec<IpAddr>)> {
    let (ipv4, ipv6) = targets.examples();
    let families = [ipv4.map(|_| true), ipv6.map(|_| false)].into_iter().flatten();
    let sources = families.map(|is_ipv4| survey::source(&args.way, outlet, is_ipv4));
    let sources: Vec<_> = sources.collect::<Result<_>>()?;
    let mut origin = Origin { mac: outlet.mac(), ipv4: None, ipv6: None };
    for source in &sources {
        match source {
            IpAddr::V4(address) => origin.ipv4 = Some(*address),
            IpAddr::V6(address) => origin.ipv6 = Some(*address),
        }
    }
    Ok((origin, sources))
}
