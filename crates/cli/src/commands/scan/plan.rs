//! What the flags mean together.

use std::net::IpAddr;

use anyhow::Result;
use linerate::capture::{self, Interrupt};
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

    /// What to capture: packets to owned addresses, or those to the host's that may be answers.
    pub(super) fn capture(&self, args: &ScanArgs, interrupt: Interrupt) -> Result<capture::Config> {
        let (first, last) = args.way.source_ports;
        let answers = match args.probe {
            ProbeArg::Syn | ProbeArg::Ack => format!("tcp dst portrange {first}-{last} or "),
            ProbeArg::Udp => format!("udp dst portrange {first}-{last} or "),
            ProbeArg::Echo => String::new(),
        };
        survey::capture_answers(
            &args.way,
            &self.sources,
            &format!("{answers}icmp or icmp6"),
            interrupt,
        )
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
    let own = |is_ipv4| args.way.own.iter().find(|address| address.is_ipv4() == is_ipv4).copied();
    let mut origin = Origin { mac: outlet.mac(), ipv4: None, ipv6: None };
    let mut sources = Vec::new();
    if ipv4.is_some() {
        let source = match own(true) {
            Some(IpAddr::V4(address)) => Some(address),
            _ => outlet.ipv4(),
        };
        let source = source.ok_or_else(|| no_source(args, "IPv4"))?;
        origin.ipv4 = Some(source);
        sources.push(source.into());
    }
    if ipv6.is_some() {
        let source = match own(false) {
            Some(IpAddr::V6(address)) => Some(address),
            _ => outlet.ipv6(),
        };
        let source = source.ok_or_else(|| no_source(args, "IPv6"))?;
        origin.ipv6 = Some(source);
        sources.push(source.into());
    }
    if !args.way.own.is_empty() && !sources.iter().all(|source| args.way.own.contains(source)) {
        return Err(usage("--own: there are targets of both families, and one address only"));
    }
    Ok((origin, sources))
}

fn no_source(args: &ScanArgs, family: &str) -> anyhow::Error {
    usage(format!("{} has no address of {family}, and there are such targets", args.way.interface))
}
