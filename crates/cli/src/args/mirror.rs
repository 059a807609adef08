use std::path::PathBuf;

use clap::{Args, ValueEnum};
use linerate::capture::Prefix;

/// Answer for whole prefixes, to test scanners and clients with: every address has a server.
///
/// Nothing is kept of who asks, and nothing is sent again. TCP ports accept connections, answer what is sent and end the
/// connection; queries of DNS get an address, other datagrams and pings their echo.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MirrorArgs {
    /// The interface to answer on.
    #[arg(short = 'i', long, value_name = "IF")]
    pub(crate) interface: String,

    /// The TCP ports that accept connections, as in 80,443; the others refuse. Without it, all accept.
    #[arg(short = 'p', long, value_name = "PORTS", value_delimiter = ',')]
    pub(crate) ports: Vec<u16>,

    /// The file that is sent to who sends something.
    #[arg(long, value_name = "FILE")]
    pub(crate) answer: Option<PathBuf>,

    /// Answer as peers of Gnutella do that have no room: each names so many others of the prefixes of IPv4.
    #[arg(long, value_name = "N", conflicts_with = "answer", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) peers: Option<u32>,

    /// How a connection ends behind the answer.
    #[arg(long, value_enum, default_value = "fin")]
    pub(crate) ending: EndingArg,

    /// Of so many addresses one answers, always the same, and the others are silent.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) one_of: u32,

    /// The addresses to answer for, none of which may be the host's.
    #[arg(value_name = "PREFIXES", required = true)]
    pub(crate) prefixes: Vec<Prefix>,
}

/// How a server ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EndingArg {
    /// By FIN.
    Fin,
    /// By RST.
    Reset,
    /// Not at all: the client has to.
    None,
}

const EXAMPLES: &str = "\
Example:
  linerate mirror -i veth1 -p 80,443 --one-of 10 10.64.0.0/10 fd00:64::/96
                                                       one in ten addresses has a web server";
