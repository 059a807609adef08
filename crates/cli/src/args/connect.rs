use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{GentleArgs, PassArgs, RunArgs, TargetArgs, WayArgs};
use crate::units;

/// Open connections to many addresses and ports, send a request on each, and keep what is answered.
///
/// The connections are those of a TCP of our own, from ports that are not the host's meanwhile, or from an address that is not: its
/// stack sees nothing of them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ConnectArgs {
    /// What to send: http, http:/path, tls, tls:NAME, gnutella, hex:0102..., or text:... with \r, \n, \xNN, {address}, {port}
    /// and {host}. Without it, nothing: some servers speak first.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) request: String,

    /// Bytes of an answer that are enough: the connection ends then.
    #[arg(long, value_name = "N", default_value = "4096", value_parser = units::bytes)]
    pub(crate) bytes: u64,

    /// How long a connection lasts at most.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = units::duration)]
    pub(crate) time: Duration,

    /// How connections are ended.
    #[arg(long, value_enum, default_value = "reset")]
    pub(crate) close: CloseArg,

    #[command(flatten)]
    pub(crate) whom: TargetArgs,

    #[command(flatten)]
    pub(crate) way: WayArgs,

    #[command(flatten)]
    pub(crate) gentle: GentleArgs,

    /// Connections at once, at most, with those that ended less than two seconds ago.
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) at_once: u32,

    #[command(flatten)]
    pub(crate) pass: PassArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// What is written of a visit: address, port, outcome, success, code, connect_ms, first_us, open_us, bytes, data, time.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "address,port,outcome,connect_ms,first_us,open_us,bytes,data,time",
        value_enum
    )]
    pub(crate) fields: Vec<VisitFieldArg>,

    /// Visit those, too, whom answers name, as peers of Gnutella name others (X-Try-Ultrapeers): each once. With --retries each
    /// time may find others yet.
    #[arg(long, conflicts_with_all = ["shard", "resume"])]
    pub(crate) follow: bool,
}

/// How connections are ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CloseArg {
    /// At once, by RST: neither side keeps anything.
    Reset,
    /// By FIN, and when the other has finished, too.
    Fin,
}

/// A field of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum VisitFieldArg {
    /// The address that was visited.
    Address,
    /// The port that was visited.
    Port,
    /// finished, enough, reset, timeout or silent; refused, unreachable or full.
    Outcome,
    /// Whether the target accepted the connection.
    Success,
    /// The code of an ICMP error.
    Code,
    /// Milliseconds from the SYN to its answer.
    ConnectMs,
    /// Microseconds from there to the first byte of the answer.
    FirstUs,
    /// Microseconds from there to the end.
    OpenUs,
    /// Bytes of the answer.
    Bytes,
    /// The beginning of the answer: printable ASCII, and the rest, commas and quotes as \xNN.
    Data,
    /// When it was over, in seconds since 1970.
    Time,
}

const EXAMPLES: &str = "\
Examples:
  linerate connect -i veth0 -p 80 --request http --allow-reserved 10.64.0.0/16
                                  what web servers say, in a network of your own
  linerate connect -i veth0 --own 10.0.0.99 -p 443 --request tls:example.com --format json \\
      --allow-reserved 10.64.0.0/16
                                  which TLS they speak, from a free address of the network
  linerate connect -i veth0 -p 80 --request http --output-filter 'data ~ nginx' \\
      --allow-reserved 10.64.0.0/16
                                  who is nginx
  linerate connect -i veth0 -p 6346 --request gnutella --follow \\
      --allow-reserved 10.64.0.1
                                  a peer-to-peer network, from one peer on
  linerate connect -i veth0 -p 22,25 -f list.txt --per-host 1 --per-network 4 \\
      --close fin                 what servers say that speak first, gently
  linerate connect -i veth0 -p 80 -f list.txt --seed 7 --shard 1/4 \\
      -o 1.parquet --metadata 1.json
                                  a quarter of a list; the same with --resume goes on

Without --own the connections are from --source-ports of the host's address, which the host does not
get meanwhile: ports that it uses, or chooses from for connections of its own
(ip_local_port_range, but for ip_local_reserved_ports), are refused.
Reserved and private addresses are left out unless --allow-reserved is given. At most 10,000
connections a second are begun unless a rate is named. Visit only whom you may, tell who you are,
and heed those who ask to be left out.";
