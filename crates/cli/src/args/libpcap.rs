use std::path::PathBuf;

use clap::Args;

use crate::units;

/// Capture by the installed libpcap: what benches compare with.
///
/// It does what the shortest program does that saves packets by libpcap, and nothing else.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  linerate libpcap -i veth0 -B 32M -w /dev/null")]
pub(crate) struct LibpcapArgs {
    /// The interface.
    #[arg(short = 'i', long, value_name = "IF")]
    pub(crate) interface: String,

    /// The capture buffer's size; a plain number counts KiB.
    #[arg(short = 'B', long, value_name = "SIZE", default_value = "64M", value_parser = units::kibibytes)]
    pub(crate) buffer: u64,

    /// The savefile.
    #[arg(short = 'w', long, value_name = "FILE")]
    pub(crate) write: PathBuf,
}
