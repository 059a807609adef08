use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::LanguageArgs;
use crate::units;

/// Compile a filter and show its program, or try it on a savefile.
#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FilterArgs {
    /// Print the program for people (the default); -dd as C, -ddd as numbers.
    #[arg(short = 'd', action = clap::ArgAction::Count)]
    pub(crate) dump: u8,

    /// Print the intermediate representation.
    #[arg(long, conflicts_with = "dump")]
    pub(crate) ir: bool,

    /// Print the filter as part of a tap's program, in the style of the kernel's verifier.
    #[arg(long, conflicts_with_all = ["dump", "ir"])]
    pub(crate) ebpf: bool,

    /// The link type that the filter is for.
    #[arg(short = 'y', long = "link", value_name = "TYPE", default_value = "EN10MB")]
    pub(crate) link_type: String,

    /// Bytes kept of a packet that matches.
    #[arg(short = 's', long, value_name = "BYTES", default_value = "262144", value_parser = units::snaplen)]
    pub(crate) snaplen: u32,

    /// Do not optimise.
    #[arg(short = 'O', long)]
    pub(crate) no_optimize: bool,

    #[command(flatten)]
    pub(crate) language: LanguageArgs,

    /// Compile for the kernel, as a live capture does, not for savefiles.
    #[arg(long)]
    pub(crate) kernel: bool,

    /// Try the filter on this savefile: one verdict per packet and line.
    #[arg(short = 'r', long = "read", value_name = "FILE", conflicts_with_all = ["dump", "ir", "ebpf", "kernel"])]
    pub(crate) read: Option<PathBuf>,

    /// Print verdicts: 0, or the bytes kept (what -r does in any case).
    #[arg(long, requires = "read")]
    pub(crate) verdicts: bool,

    /// Read the filter from a file; words on the command line are then not looked at.
    #[arg(short = 'F', long, value_name = "FILE")]
    pub(crate) filter_file: Option<PathBuf>,

    /// The filter, as in pcap-filter(7); several words are joined by spaces.
    #[arg(value_name = "FILTER")]
    pub(crate) filter: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  linerate filter 'tcp port 80'
  linerate filter -ddd 'udp and len < 100'             for a program that takes numbers
  linerate filter --ir --link LINUX_SLL2 'host 10.0.0.1'
  linerate filter --ebpf 'host 10.0.0.1 and tcp port 80'
  linerate filter -r web.pcapng --verdicts 'port 80'";
