//! What the flags mean together.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::net::IpAddr;

use anyhow::{Context, Result};
use linerate::base::LinkType;
use linerate::capture::{self, Directions, Interrupt, MAX_SNAPLEN, Owned};
use linerate::scan::reserved::RESERVED;
use linerate::scan::{Addresses, Kind, Origin, Payload, Prober, Shard, Targets};
use linerate::transmit::pacing::Rate;
use linerate::transmit::template::Surroundings;
use linerate::transmit::{Backend, Blocklist, Outlet};

use crate::args::{ProbeArg, ScanArgs};
use crate::commands::sending;
use crate::exit::usage;
use crate::patience::{SOON, with_a_word};
use crate::{compile, output};

/// What is to be probed, and how.
pub(super) struct Plan {
    pub(super) targets: Targets,
    pub(super) shard: Shard,
    pub(super) prober: Prober,
    /// The addresses that probes are from.
    pub(super) sources: Vec<IpAddr>,
}

/// Below this rate rings that cost no core keep up, in thousandths of frames a second.
const RINGS_KEEP_UP: u64 = 250_000_000;

impl Plan {
    pub(super) fn new(args: &ScanArgs, seed: u64) -> Result<Self> {
        let kind = kind(args)?;
        let ports = match (&args.ports[..], args.probe) {
            ([], ProbeArg::Echo) => vec![(0, 0)],
            ([], _) => return Err(usage("--ports names none: which ports are to be probed?")),
            (_, ProbeArg::Echo) => return Err(usage("--ports: echo requests have none")),
            (ports, _) => ports.to_vec(),
        };
        let outlet = Outlet::find(&args.interface)?;
        sending::check_network(&args.interface, args.on_real_network, &outlet)?;
        let targets = Targets::new(addresses(args)?, &ports, &blocklist(args)?, seed)?;
        let (origin, sources) = origin(args, &targets, &outlet.asking())?;
        let (first, last) = args.source_ports;
        let prober = Prober::new(kind, origin, first..=last, key());
        Ok(Self { targets, shard: args.shard.unwrap_or(Shard::WHOLE), prober, sources })
    }

    /// What to capture: packets to owned addresses, or those to the host's that may be answers.
    pub(super) fn capture(&self, args: &ScanArgs, interrupt: Interrupt) -> Result<capture::Config> {
        let mut config = capture::Config::new(&args.interface, interrupt);
        config.link_type = Some(LinkType::ETHERNET);
        config.promiscuous = false;
        config.immediate = true;
        config.direction = Directions::In;
        if !args.own.is_empty() {
            let own: Vec<_> = args.own.iter().map(|address| (*address).into()).collect();
            config.owned = Some(Owned::new(&own)?);
            return Ok(config);
        }
        let hosts: Vec<_> = self.sources.iter().map(|ip| format!("dst host {ip}")).collect();
        let (first, last) = args.source_ports;
        let answers = match args.probe {
            ProbeArg::Syn | ProbeArg::Ack => format!("tcp dst portrange {first}-{last} or "),
            ProbeArg::Udp => format!("udp dst portrange {first}-{last} or "),
            ProbeArg::Echo => String::new(),
        };
        let text = format!("({}) and ({answers}icmp or icmp6)", hosts.join(" or "));
        let options = compile::options(LinkType::ETHERNET, MAX_SNAPLEN);
        let compiled = compile::for_capture(&text, &options)?;
        config.filter = Some(compiled.filter);
        Ok(config)
    }

    /// The way out for a rate: one that takes a core only where others would not keep up.
    pub(super) fn backend(&self, rate: Rate) -> Option<Backend> {
        let is_slow = matches!(rate, Rate::Frames(thousandths) if thousandths <= RINGS_KEEP_UP);
        is_slow.then_some(Backend::Ring)
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
        ProbeArg::Echo => Kind::Echo,
    })
}

/// The targets' addresses. A bad one on the command line is a slip; one in a long list is told and left out.
fn addresses(args: &ScanArgs) -> Result<Addresses> {
    let mut addresses = Addresses::default();
    for text in &args.targets {
        if !addresses.add(text) {
            return Err(usage(format!(
                "`{text}` is no target: write an address, a prefix or a range, as in 203.0.113.0/24"
            )));
        }
    }
    for path in &args.targets_file {
        let name = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("read targets from {name}"))?;
        for (number, entry) in addresses.add_lines(&text) {
            output::tell(format_args!("{name}: line {number}: `{entry}` is no address: left out"));
        }
    }
    Ok(addresses)
}

fn blocklist(args: &ScanArgs) -> Result<Blocklist> {
    // What the user's list has to say of itself, with its own lines' numbers.
    let own = sending::blocklist(args.blocklist.as_deref())?;
    if args.allow_reserved {
        return Ok(own);
    }
    let text = args.blocklist.as_deref().map(fs::read_to_string).transpose()?.unwrap_or_default();
    Ok(Blocklist::parse(&format!("{RESERVED}\n{text}"), "of reserved addresses")?)
}

/// Where probes are from, and whom they go by: for each family, what leads to one of its targets.
fn origin(args: &ScanArgs, targets: &Targets, outlet: &Outlet) -> Result<(Origin, Vec<IpAddr>)> {
    let (ipv4, ipv6) = targets.examples();
    let own = |is_ipv4| args.own.iter().find(|address| address.is_ipv4() == is_ipv4).copied();
    let hop = |target: IpAddr| {
        let say = || output::tell("asking the next hop for its hardware address");
        with_a_word(SOON, say, || outlet.next_hop(target)).map(|hop| hop.mac)
    };
    let mut origin = Origin { mac: outlet.mac(), ipv4: None, ipv6: None };
    let mut sources = Vec::new();
    if let Some(target) = ipv4 {
        let source = match own(true) {
            Some(IpAddr::V4(address)) => Some(address),
            _ => outlet.ipv4(),
        };
        let source = source.ok_or_else(|| no_source(args, "IPv4"))?;
        origin.ipv4 = Some((source, hop(target.into())?));
        sources.push(source.into());
    }
    if let Some(target) = ipv6 {
        let source = match own(false) {
            Some(IpAddr::V6(address)) => Some(address),
            _ => outlet.ipv6(),
        };
        let source = source.ok_or_else(|| no_source(args, "IPv6"))?;
        origin.ipv6 = Some((source, hop(target.into())?));
        sources.push(source.into());
    }
    if !args.own.is_empty() && !sources.iter().all(|source| args.own.contains(source)) {
        return Err(usage("--own: there are targets of both families, and one address only"));
    }
    Ok((origin, sources))
}

fn no_source(args: &ScanArgs, family: &str) -> anyhow::Error {
    usage(format!("{} has no address of {family}, and there are such targets", args.interface))
}

/// A secret that chance makes.
fn key() -> [u8; 16] {
    let half = || RandomState::new().build_hasher().finish().to_le_bytes();
    let mut key = [0; 16];
    key[..8].copy_from_slice(&half());
    key[8..].copy_from_slice(&half());
    key
}
