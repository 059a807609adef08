use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::{LanguageArgs, PrintArgs, SaveArgs};

/// Read packets from savefiles, and print, count or save them.
///
/// pcap and pcapng, plain or compressed by gzip, zstd or lz4, from a file or from standard input.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
pub(crate) struct ReadArgs {
    /// A savefile, `-` for standard input; several are read one after another, and every
    /// word that is not an option then belongs to the filter.
    #[arg(short = 'r', long = "read", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// End after this many packets.
    #[arg(short = 'c', long = "count-limit", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,

    /// Print only how many packets match.
    #[arg(long, conflicts_with_all = ["write", "json"])]
    pub(crate) count: bool,

    /// Read the filter from a file; words on the command line are then not looked at.
    #[arg(short = 'F', long, value_name = "FILE")]
    pub(crate) filter_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) language: LanguageArgs,

    #[command(flatten)]
    pub(crate) print: PrintArgs,

    #[command(flatten)]
    pub(crate) save: SaveArgs,

    /// The savefile (unless -r names it), then the filter, as in pcap-filter(7).
    #[arg(value_name = "FILE [FILTER]")]
    pub(crate) words: Vec<OsString>,
}

const USAGE: &str = "linerate read [OPTIONS] FILE [FILTER]...\n       linerate read [OPTIONS] -r FILE... [FILTER]...";

const EXAMPLES: &str = "\
Examples:
  linerate read web.pcapng                             print all of it
  linerate read web.pcapng 'tcp[tcpflags] & tcp-syn != 0'
  linerate read --count big.pcap.gz host 10.0.0.1      count what matches
  linerate read a.pcap -w b.pcapng port 53             save what matches
  linerate read -r a.pcap -r b.pcap udp                several files
  zcat x.gz | linerate read -                          standard input";
