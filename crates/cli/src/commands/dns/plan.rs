//! What the flags mean together.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, Result};
use linerate::base::Timestamp;
use linerate::capture::{Capture, Interrupt};
use linerate::dns::roots::ROOTS;
use linerate::dns::{Asker, Config, Limits, Manner, Streams, Walker};
use linerate::tcp::{self, Key};
use linerate::transmit::pacing::Rate;
use linerate::transmit::space::Span;
use linerate::transmit::template::Surroundings;
use linerate::transmit::{Blocklist, Hops, Outlet, sink};

use super::whom::{Reach, Whom};
use crate::args::DnsArgs;
use crate::commands::survey;
use crate::exit::usage;
use crate::output;
use crate::units::counted;

/// Whom to ask, from where, and how.
pub(super) struct Plan {
    servers: Vec<SocketAddr>,
    blocked: Blocklist,
    outlet: Outlet,
    /// Ours, one of each family that there are servers of.
    sources: Vec<IpAddr>,
    limits: Limits,
}

/// The port of servers (RFC 1035 4.2).
const PORT: u16 = 53;
/// Frames that can wait for the device.
const SLOTS: usize = 512;
/// Connections at once, at most.
const CONNECTIONS: usize = 1 << 16;
/// The longest answer over TCP takes so long.
const LIFETIME: Duration = Duration::from_secs(10);

impl Plan {
    pub(super) fn new(args: &DnsArgs) -> Result<Self> {
        let outlet = survey::outlet(&args.way)?;
        let blocked = survey::blocklist(&args.leave_out)?;
        let mut servers = servers(args, &blocked)?;
        if args.iterate {
            // Walks go by the families that there are.
            servers.retain(|server| survey::source(&args.way, &outlet, server.is_ipv4()).is_ok());
        }
        let families = [true, false].into_iter();
        let families = families.filter(|v4| servers.iter().any(|server| server.is_ipv4() == *v4));
        let sources: Vec<_> = families
            .map(|is_ipv4| survey::source(&args.way, &outlet, is_ipv4))
            .collect::<Result<_>>()?;
        if sources.is_empty() {
            return Err(usage("there is no address of the root servers' families to ask from"));
        }
        let limits = Limits {
            server: interval("--per-server", args.per_server)?,
            network: interval("--per-network", args.per_network)?,
        };
        Ok(Self { servers, blocked, outlet, sources, limits })
    }

    /// Who asks, and whom; with connections, where the host does not end them.
    pub(super) fn asker(&self, args: &DnsArgs, streams: bool) -> (Asker, Whom) {
        let (first, last) = args.way.source_ports;
        let mut asker = Asker::new(Config {
            mac: self.outlet.mac(),
            sources: self.sources.clone(),
            ports: first..=last,
            key: survey::key(),
            manner: Manner {
                recursion: !args.no_recursion && !args.iterate,
                udp_size: (args.udp_size > 512).then_some(args.udp_size),
            },
            limits: self.limits,
            timeout: args.timeout,
            attempts: args.retries + 1,
            window: args.window as usize,
            streams,
        });
        if args.iterate {
            let families = [true, false]
                .map(|is_ipv4| self.sources.iter().any(|source| source.is_ipv4() == is_ipv4));
            let walker = Walker::new(self.servers.clone(), families, args.window as usize);
            let reach = Reach { blocked: self.blocked.clone(), families };
            return (asker, Whom::Walked(Box::new(walker), reach));
        }
        let all = self.servers.iter().map(|server| asker.server(*server)).collect();
        (asker, Whom::Named(all))
    }

    /// The ways to the servers that are named.
    pub(super) fn hops(&self) -> Result<Hops> {
        let mut spans = [Vec::new(), Vec::new()];
        for server in &self.servers {
            match server.ip() {
                IpAddr::V4(address) => spans[0].push(Span::one(address.to_bits().into())),
                IpAddr::V6(address) => spans[1].push(Span::one(address.to_bits())),
            }
        }
        survey::hops(&self.outlet, spans.each_ref().map(Vec::as_slice))
    }

    /// Who asks over TCP.
    pub(super) fn streams(&self, args: &DnsArgs, now: Timestamp) -> Result<Streams> {
        let (first, last) = args.way.source_ports;
        let mac = self.outlet.mac();
        let local = |address: &IpAddr| tcp::Local { address: *address, ports: first..=last, mac };
        let locals = self.sources.iter().map(local).collect();
        let config = tcp::Config {
            connections: CONNECTIONS,
            lifetime: LIFETIME,
            mtu: (self.outlet.longest() - 14).min(1_500) as u16,
            partial_checksums: true,
            ..tcp::Config::new(locals, survey::key())
        };
        Ok(Streams::new(config, now)?)
    }

    /// Captures answers; true where the host does not get them.
    pub(super) fn open(&self, args: &DnsArgs, interrupt: Interrupt) -> Result<(Capture, bool)> {
        let (first, last) = args.way.source_ports;
        let answers = format!("udp dst portrange {first}-{last}");
        survey::open_answers(&args.way, &self.sources, &answers, interrupt)
    }

    /// By which way to send.
    pub(super) fn sink(args: &DnsArgs, longest: usize) -> sink::Config {
        survey::sink(&args.way, SLOTS, longest)
    }

    /// How many servers there are.
    pub(super) fn count(&self) -> usize {
        self.servers.len()
    }
}

/// A number that stands for what is asked: a run that goes on has the same names and types.
///
/// # Errors
/// When the file of names is not there.
pub(super) fn fingerprint(args: &DnsArgs) -> Result<u64> {
    let mut text = [&args.names[..], &args.types].concat().join("\n");
    if let Some(path) = args.names_file.as_deref().filter(|path| path.as_os_str() != "-") {
        let asked = || format!("read names from {}", path.display());
        text += &format!("\n{}", fs::metadata(path).with_context(asked)?.len());
    }
    Ok(Key::new(*b"linerate's names").of(text.as_bytes()).0)
}

/// The time between two queries.
fn interval(flag: &str, rate: Rate) -> Result<Duration> {
    match rate {
        Rate::Unlimited => Ok(Duration::ZERO),
        Rate::Frames(thousandths) => {
            Ok(Duration::from_nanos(1_000_000_000_000 / thousandths.max(1)))
        }
        Rate::Bits(_) => Err(usage(format!("{flag}: queries are counted, not bits: 500, or max"))),
    }
}

/// The servers on the command line and in the file, none of them blocked.
fn servers(args: &DnsArgs, blocked: &Blocklist) -> Result<Vec<SocketAddr>> {
    let mut servers = Vec::new();
    for text in &args.servers {
        let server = server(text);
        let refuse = || {
            usage(format!(
                "--server: `{text}` is no address, as in 192.0.2.53 or [2001:db8::53]:53"
            ))
        };
        servers.push(server.ok_or_else(refuse)?);
    }
    match &args.servers_file {
        Some(path) => {
            let name = path.display();
            let asked = || format!("read servers from {name}");
            let bytes = fs::read(path).with_context(asked)?;
            listed(&name.to_string(), &String::from_utf8_lossy(&bytes), &mut servers);
        }
        None if servers.is_empty() => listed("the root servers", ROOTS, &mut servers),
        None => {}
    }
    let count = servers.len();
    servers.retain(|server| !blocked.has(server.ip()));
    if servers.len() < count {
        output::tell(format_args!(
            "{} reserved or blocked: left out",
            counted((count - servers.len()) as u64, "servers")
        ));
    }
    if servers.is_empty() {
        return Err(usage(
            "no server is left to be asked: reserved and blocked ones are left out; --allow-reserved takes reserved ones",
        ));
    }
    Ok(servers)
}

/// Adds the servers of a list, one to a line.
fn listed(name: &str, text: &str, servers: &mut Vec<SocketAddr>) {
    for (number, line) in (1..).zip(text.lines()) {
        let entry = line.split('#').next().unwrap_or_default().trim();
        match server(entry) {
            Some(server) => servers.push(server),
            None if entry.is_empty() => {}
            None => output::tell(format_args!(
                "{name}: line {number}: `{entry}` is no address: left out"
            )),
        }
    }
}

fn server(text: &str) -> Option<SocketAddr> {
    let bare = || text.parse::<IpAddr>().ok().map(|address| (address, PORT).into());
    text.parse().ok().or_else(bare)
}
