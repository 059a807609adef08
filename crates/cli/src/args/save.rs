use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::units;

/// Where packets are saved.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Saving")]
pub(crate) struct SaveArgs {
    /// Save packets to this file; `-` is standard output.
    ///
    /// The name says the format: `.pcap` or `.pcapng` (the default), with `.zst` or `.gz` behind it
    /// compressed. With -G the name may hold strftime conversions such as %H%M%S.
    #[arg(short = 'w', long = "write", value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,

    /// The savefile's format, whatever its name.
    #[arg(long, value_enum, value_name = "FORMAT", requires = "write")]
    pub(crate) format: Option<FormatArg>,

    /// Begin a new file before this one exceeds a size; a plain number counts millions of bytes.
    #[arg(short = 'C', long, value_name = "SIZE", value_parser = units::megabytes, requires = "write")]
    pub(crate) rotate_size: Option<u64>,

    /// Begin a new file every so often; a plain number counts seconds.
    #[arg(short = 'G', long, value_name = "SECONDS", value_parser = units::seconds, requires = "write")]
    pub(crate) rotate_time: Option<u32>,

    /// With -C: keep this many files, of each period of -G, and overwrite the oldest. With -G alone: end
    /// after this many.
    #[arg(short = 'W', long, value_name = "COUNT", requires = "write", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rotate_files: Option<u32>,

    /// Write each packet out as soon as it is captured.
    #[arg(short = 'U', long, requires = "write")]
    pub(crate) packet_buffered: bool,

    /// Print packets while saving them.
    #[arg(long, requires = "write")]
    pub(crate) print: bool,
}

/// A savefile's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// pcapng: interfaces, filter, drop counters, nanoseconds.
    Pcapng,
    /// pcap with nanoseconds.
    Pcap,
    /// pcap with microseconds, for programs that know no other.
    PcapMicro,
}
