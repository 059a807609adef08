use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{DirectionArg, LanguageArgs};
use crate::units;

/// Count packets and bytes by filter, in the kernel: no packet leaves it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StatArgs {
    /// The interface.
    #[arg(short = 'i', long, value_name = "IF")]
    pub(crate) interface: String,

    /// The time between two readings.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = units::interval)]
    pub(crate) every: Duration,

    /// End after this many readings.
    #[arg(short = 'c', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,

    /// End after this time.
    #[arg(long = "for", value_name = "TIME", value_parser = units::duration)]
    pub(crate) duration: Option<Duration>,

    /// Which way packets go.
    #[arg(short = 'Q', long, value_enum, value_name = "WAY", default_value_t)]
    pub(crate) direction: DirectionArg,

    /// Print an object for each reading, one a line; the totals are one more, on standard error.
    #[arg(long)]
    pub(crate) json: bool,

    /// Read more filters from a file, one a line; `#` begins a comment.
    #[arg(short = 'F', long, value_name = "FILE")]
    pub(crate) filter_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) language: LanguageArgs,

    /// The filters, as in pcap-filter(7), each one argument; a packet counts for each that it matches.
    #[arg(value_name = "FILTER")]
    pub(crate) filters: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  linerate stat -i eth0                                all packets, a line a second
  linerate stat -i eth0 tcp udp 'port 53' 'vlan 5'     and those of each filter
  linerate stat -i eth0 --every 10s --json -F filters.txt
  linerate stat -i eth0 -Q in --for 1m 'tcp[tcpflags] == tcp-syn'

SIGINT and SIGTERM end it and print the totals.";
