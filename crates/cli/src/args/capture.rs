use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use linerate::base::TimestampSource;
use linerate::capture::{Backend, Directions, Prefix};

use super::{LanguageArgs, PrintArgs, SaveArgs, SimulateArgs};
use crate::units::{self, Threads};

/// Capture live packets, and print or save them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CaptureArgs {
    /// The interface, or `any` for all of them; without it, the first one that is up.
    #[arg(short = 'i', long, value_name = "IF")]
    pub(crate) interface: Option<String>,

    /// End after this many packets.
    #[arg(short = 'c', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,

    /// End after this time.
    #[arg(long = "for", value_name = "TIME", value_parser = units::duration)]
    pub(crate) duration: Option<Duration>,

    /// Bytes kept of each packet; 0 means all of it.
    #[arg(short = 's', long, value_name = "BYTES", default_value = "262144", value_parser = units::snaplen)]
    pub(crate) snaplen: u32,

    /// Which way packets go.
    #[arg(short = 'Q', long, value_enum, value_name = "WAY", default_value_t)]
    pub(crate) direction: DirectionArg,

    /// The capture buffer's size; a plain number counts KiB. By the taps each core, or each receive queue, has
    /// an equal share of it.
    #[arg(short = 'B', long, value_name = "SIZE", default_value = "64M", value_parser = units::kibibytes)]
    pub(crate) buffer: u64,

    /// Do not put the interface into promiscuous mode.
    #[arg(short = 'p', long)]
    pub(crate) no_promiscuous: bool,

    /// Hand packets over as they come, not in blocks.
    #[arg(long)]
    pub(crate) immediate: bool,

    /// The way into the kernel: without it, the best that works here.
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) backend: Option<BackendArg>,

    /// Spend a core on looking for packets, instead of waiting for interrupts and being woken: by the back end xdp.
    #[arg(long)]
    pub(crate) busy_poll: bool,

    /// Take all packets away from the host, which gets none that the interface receives: for mirror ports.
    #[arg(long, conflicts_with = "own")]
    pub(crate) exclusive: bool,

    /// Take packets to these addresses away from the host, answer neighbours that ask for them, and
    /// capture nothing else; may be given several times.
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    pub(crate) own: Vec<Prefix>,

    /// Do as told even where that can cut the host off from its network, as --exclusive, --own and AF_XDP can.
    #[arg(long)]
    pub(crate) force: bool,

    /// Who stamps packets.
    #[arg(long, value_enum, value_name = "SOURCE", default_value_t)]
    pub(crate) timestamps: TimestampsArg,

    /// Threads that share the work, each on a core of its own; `auto` or 0: one for each receive queue, up to
    /// the number of cores.
    #[arg(long, value_name = "N", default_value = "1", value_parser = units::threads)]
    pub(crate) threads: Threads,

    /// With several threads: put packets into the order of their times, which costs a copy of each. Without
    /// it, only those of one queue are in order.
    #[arg(long)]
    pub(crate) ordered: bool,

    /// Read the filter from a file; words on the command line are then not looked at.
    #[arg(short = 'F', long, value_name = "FILE")]
    pub(crate) filter_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) language: LanguageArgs,

    /// Print the filter's program and stop; -dd as C, -ddd as numbers.
    #[arg(short = 'd', action = clap::ArgAction::Count)]
    pub(crate) dump: u8,

    /// List the interfaces and stop.
    #[arg(short = 'D', long)]
    pub(crate) list_interfaces: bool,

    /// List the interface's link types and stop.
    #[arg(short = 'L', long)]
    pub(crate) list_link_types: bool,

    /// The link type to capture, of those that -L lists.
    #[arg(short = 'y', long, value_name = "TYPE")]
    pub(crate) link_type: Option<String>,

    /// After opening the interface, go on as this user.
    #[arg(short = 'Z', long, value_name = "USER")]
    pub(crate) user: Option<String>,

    /// Exit with status 3 when packets were lost.
    #[arg(long)]
    pub(crate) strict: bool,

    #[command(flatten)]
    pub(crate) print: PrintArgs,

    #[command(flatten)]
    pub(crate) save: SaveArgs,

    /// Save the packets that a filter keeps to a file of their own, whose name says the format as with -w; may be
    /// given many times, and a packet goes to every file whose filter keeps it.
    #[arg(long, value_name = "FILE=FILTER", value_parser = split, help_heading = "Saving")]
    pub(crate) split: Vec<(PathBuf, String)>,

    #[command(flatten)]
    pub(crate) simulate: SimulateArgs,

    /// The filter, as in pcap-filter(7); several words are joined by spaces.
    #[arg(value_name = "FILTER")]
    pub(crate) filter: Vec<OsString>,
}

/// A file and its filter.
fn split(text: &str) -> Result<(PathBuf, String), String> {
    let parts = text.split_once('=').filter(|(file, _)| !file.is_empty());
    let (file, filter) = parts.ok_or("it takes a file's name, `=` and a filter")?;
    Ok((file.into(), filter.into()))
}

/// An address or a prefix, as clap wants its errors.
fn prefix(text: &str) -> Result<Prefix, String> {
    text.parse().map_err(|error: linerate::base::Error| error.to_string())
}

/// The ways into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendArg {
    /// A program at the interface's TCX hooks copies packets into memory shared with us.
    Tap,
    /// The same program at the interface's XDP hook: cheaper, sees what comes in only.
    TapXdp,
    /// AF_XDP sockets on all queues: what the filter keeps does not reach the host itself.
    Xdp,
    /// A packet socket with a ring shared with the kernel (TPACKET_V3).
    Ring,
    /// A packet socket, read many packets at a time: works everywhere.
    Socket,
}

impl From<BackendArg> for Backend {
    fn from(argument: BackendArg) -> Self {
        match argument {
            BackendArg::Tap => Self::Tap,
            BackendArg::TapXdp => Self::TapXdp,
            BackendArg::Xdp => Self::Xdp,
            BackendArg::Ring => Self::Ring,
            BackendArg::Socket => Self::Socket,
        }
    }
}

/// Who stamps packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimestampsArg {
    /// The kernel, each packet on its arrival.
    #[default]
    Kernel,
    /// The kernel, some packets; those in between get the last time before them.
    Sampled,
    /// The network card.
    Hardware,
    /// We, by the processor's cycle counter, once for each batch of packets.
    Tsc,
}

impl From<TimestampsArg> for TimestampSource {
    fn from(argument: TimestampsArg) -> Self {
        match argument {
            TimestampsArg::Kernel => Self::Kernel,
            TimestampsArg::Sampled => Self::Sampled,
            TimestampsArg::Hardware => Self::Hardware,
            TimestampsArg::Tsc => Self::Tsc,
        }
    }
}

/// Which way packets go, seen from this host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DirectionArg {
    In,
    Out,
    #[default]
    Inout,
}

impl From<DirectionArg> for Directions {
    fn from(argument: DirectionArg) -> Self {
        match argument {
            DirectionArg::In => Self::In,
            DirectionArg::Out => Self::Out,
            DirectionArg::Inout => Self::Both,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  linerate capture -i eth0 -c 10 icmp                  ten pings
  linerate capture -i any -w all.pcapng.zst            everything, compressed
  linerate capture -i eth0 -w day.pcap -C 100 -W 10    a ring of ten files of 100 MB
  linerate capture -i eth0 -w %H%M.pcapng -G 60        a file a minute
  linerate capture -i eth0 --json port 53 | jq .       as JSON
  linerate capture -i eth0 --split web.pcap='tcp port 80 or 443' --split dns.pcap='port 53'
                                                       each kind to a file of its own
  linerate capture --simulate capture -w /data/f --for 30s
                                                       what the disk under /data sustains
  linerate capture -i eth1 --exclusive --threads auto -w mirror.pcapng
                                                       all of a mirror port, by all its queues

SIGUSR1 prints the counters and goes on; SIGINT and SIGTERM end the capture and print them.";
