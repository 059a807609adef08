use std::time::Duration;

use clap::Args;

use crate::units;

/// Say where packets are being lost right now, why, and what to change: of any capture, not only ours.
///
/// It watches for some seconds and changes nothing. When all is well it says nothing.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// The interface; without it, all that are up.
    #[arg(short = 'i', long, value_name = "IF")]
    pub(crate) interface: Option<String>,

    /// How long to watch.
    #[arg(long = "for", value_name = "TIME", default_value = "5s", value_parser = units::interval)]
    pub(crate) duration: Duration,

    /// Print one object: findings, and everything that was counted.
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  linerate doctor                       all interfaces and captures of this host
  linerate doctor -i eth0 --for 1m
  linerate doctor --json | jq '.findings[].cause'

Packets for other hosts, which captures see and the host's stack throws away, are a note and no
loss: at a mirror port that is how it should be.

Exit status: 0 nothing was lost, 3 packets were lost. SIGINT ends it early, with what was seen so
far.";
