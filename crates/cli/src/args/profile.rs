use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::capture::BackendArg;
use crate::units;

/// Say what a packet costs on its way from the card to the program, component by component.
///
/// It captures on the interface, or watches a process that does, and samples what all processors are doing.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ProfileArgs {
    /// The interface to capture on; with --pid, the one whose packets are counted.
    #[arg(short = 'i', long, value_name = "IF", required_unless_present_any = ["pid", "compare"])]
    pub(crate) interface: Option<String>,

    /// Profile this process's capture, such as tcpdump's or Suricata's, instead of one of our own.
    #[arg(long, value_name = "PID", conflicts_with_all = ["backend", "filter"])]
    pub(crate) pid: Option<u32>,

    /// The back end to capture by; without it, the best that works.
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) backend: Option<BackendArg>,

    /// How long to sample.
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = units::interval)]
    pub(crate) duration: Duration,

    /// Print one object.
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a page to this file: bars, a flame graph, what to do next.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Show two earlier profiles, saved with --json, side by side.
    #[arg(long, num_args = 2, value_names = ["A.json", "B.json"], exclusive = true)]
    pub(crate) compare: Vec<PathBuf>,

    /// The filter, as in pcap-filter(7).
    #[arg(value_name = "FILTER")]
    pub(crate) filter: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  linerate profile -i eth0                              our own capture, all packets
  linerate profile -i eth0 --backend ring 'tcp port 80'
  linerate profile --pid $(pidof tcpdump) --for 30s
  linerate profile -i eth0 --html profile.html
  linerate profile -i eth0 --json > before.json
  linerate profile --compare before.json after.json

Where the processor's cycles cannot be counted, as in most virtual machines, samples are taken
by a timer, and cycles are those of the time-stamp counter.";
