//! Flags that all commands have which go through many targets.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use linerate::scan::Shard;
use linerate::transmit::Backend;
use linerate::transmit::pacing::Rate;

use crate::units;

/// Which targets.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    /// The ports: 80,443,8000-8100.
    #[arg(short = 'p', long, value_name = "PORTS", value_delimiter = ',', value_parser = ports)]
    pub(crate) ports: Vec<(u16, u16)>,

    /// Also take the addresses in this file: a prefix, an address or a range to a line.
    #[arg(short = 'f', long, value_name = "FILE")]
    pub(crate) targets_file: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) leave_out: LeaveOutArgs,

    /// Do a part of the targets only: 1/4 is the first of four parts. All parts need the same --seed.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(crate) shard: Option<Shard>,

    /// Decides the order of targets; without it, chance does.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// The targets' addresses: 203.0.113.0/24, 203.0.113.7, 203.0.113.1-203.0.113.9.
    #[arg(value_name = "TARGETS", required_unless_present = "targets_file")]
    pub(crate) targets: Vec<String>,
}

/// To whom nothing is sent.
#[derive(Debug, Args)]
pub(crate) struct LeaveOutArgs {
    /// Leave out addresses on this list, beside the reserved ones.
    #[arg(long, value_name = "FILE")]
    pub(crate) blocklist: Option<PathBuf>,

    /// Take reserved addresses, such as 10.0.0.0/8, too: for networks of your own.
    #[arg(long)]
    pub(crate) allow_reserved: bool,
}

/// How gently.
#[derive(Debug, Args)]
pub(crate) struct GentleArgs {
    /// At most so many to one address at once: connections, or probes, each of which counts for a second.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) per_host: Option<u32>,

    /// At most so many to one network at once, a /24 of IPv4 or a /48 of IPv6.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) per_network: Option<u32>,

    /// Stop when less than this share of the last ten seconds' targets answered, and of a thousand at least: 0.5%.
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    pub(crate) stop_below: Option<f64>,
}

/// By which way, from where, how fast.
#[derive(Debug, Args)]
pub(crate) struct WayArgs {
    /// The interface to send from.
    #[arg(short = 'i', long, value_name = "IF")]
    pub(crate) interface: String,

    /// How fast: 10000, 2.5Mpps, 100Mbps, or `max`.
    #[arg(short = 'r', long, value_name = "RATE", default_value = "10000")]
    pub(crate) rate: Rate,

    /// Send from this address, which is not the host's; the host sees nothing of the answers. One for each family. Without it,
    /// packets are from --source-ports of the host's own.
    #[arg(long, value_name = "IP")]
    pub(crate) own: Vec<IpAddr>,

    /// The ports to send from. Without --own they are taken from the host meanwhile, and must be some that it does not use.
    #[arg(long, alias = "source-port", value_name = "PORTS", default_value = "61000-65535", value_parser = source_ports)]
    pub(crate) source_ports: (u16, u16),

    /// The way out of the host: live, xdp, ring, mmsg or socket; without it, the best that works here.
    #[arg(long, value_name = "NAME")]
    pub(crate) backend: Option<Backend>,

    /// Send on an interface by which a default route leads, too.
    #[arg(long)]
    pub(crate) on_real_network: bool,
}

/// What is kept of it.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Write answers to this file; without it, or as `-`, to standard output.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// How answers are written; without it as the file's ending says (.json, .jsonl, .ndjson, .parquet), or else as CSV.
    #[arg(long, value_enum)]
    pub(crate) format: Option<RowsArg>,

    /// Which answers are written: a test of their fields, written or not, with =, !=, <, <=, >, >=, ~ (has in it), !, &&, || and
    /// parentheses, as in the examples below.
    #[arg(long, value_name = "TEST")]
    pub(crate) output_filter: Option<String>,

    /// Keep what was done, and how far it is, in this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) metadata: Option<PathBuf>,

    /// Go on where the run stopped whose --metadata and --output these are.
    #[arg(long, requires = "metadata", requires = "output")]
    pub(crate) resume: bool,

    /// Who does this, and where to complain: an address or URL for the metadata.
    #[arg(long, value_name = "TEXT")]
    pub(crate) contact: Option<String>,
}

/// How answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowsArg {
    /// Comma-separated values, with a line of names.
    Csv,
    /// An object of JSON to a line.
    Json,
    /// A Parquet file, made at the end; until then the answers are in FILE.jsonl, as JSON.
    Parquet,
}

/// How often, how long, and of which answers.
#[derive(Debug, Args)]
pub(crate) struct PassArgs {
    /// Times to try again, after all others, those that have not answered.
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) retries: u32,

    /// How long to wait for answers after the last packet.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = units::duration)]
    pub(crate) cooldown: Duration,

    /// Write all answers, refusals and errors, too, and not only those with `success`.
    #[arg(long, conflicts_with = "output_filter")]
    pub(crate) all: bool,
}

impl PassArgs {
    /// Which answers are written, where the user names a filter or not.
    pub(crate) fn output_filter<'a>(&self, named: Option<&'a str>) -> Option<&'a str> {
        if self.all { None } else { Some(named.unwrap_or("success")) }
    }
}

fn ports(text: &str) -> Result<(u16, u16), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
        _ => Err(format!("expected ports as in 80 or 8000-8100, found `{text}`")),
    }
}

/// The same without port 0, which nobody answers to.
fn source_ports(text: &str) -> Result<(u16, u16), String> {
    match ports(text)? {
        (0, _) => Err("ports to send from are numbers from 1 on".into()),
        ports => Ok(ports),
    }
}

fn shard(text: &str) -> Result<Shard, String> {
    let parts = text.split_once('/').map(|(index, of)| (index.parse::<u64>(), of.parse::<u64>()));
    match parts {
        Some((Ok(index), Ok(of))) if (1..=of).contains(&index) => {
            Ok(Shard { index: index - 1, of })
        }
        _ => Err(format!("expected a part as in 1/4, found `{text}`")),
    }
}

/// A share of more than nothing and at most all, from 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).parse::<f64>();
    match percent {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent / 100.0),
        _ => Err(format!("expected percent as in 0.5%, found `{text}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_parts_and_shares_are_read() {
        assert_eq!((ports("80"), ports("8000-8100")), (Ok((80, 80)), Ok((8_000, 8_100))));
        assert!(ports("90-80").is_err() && ports("65536").is_err() && ports("").is_err());
        assert!(source_ports("0-9").is_err() && source_ports("1-9") == Ok((1, 9)));
        assert_eq!(shard("1/4"), Ok(Shard { index: 0, of: 4 }));
        assert_eq!((share("0.5%"), share("100")), (Ok(0.005), Ok(1.0)));
        assert!(share("0").is_err() && share("101%").is_err() && share("NaN").is_err());
        assert!(shard("0/4").is_err() && shard("5/4").is_err() && shard("1").is_err());
    }
}
