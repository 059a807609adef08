use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use linerate::transmit::pacing::Rate;

use super::{LeaveOutArgs, RunArgs, WayArgs};
use crate::units;

/// Ask many questions of DNS at once, of resolvers, or from the root down of who is responsible, and check every answer.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DnsArgs {
    /// Whom to ask: 192.0.2.53, 192.0.2.53:5353, [2001:db8::53]:53. Several take turns.
    #[arg(
        short = 's',
        long = "server",
        value_name = "IP",
        value_delimiter = ',',
        required_unless_present_any = ["servers_file", "iterate"]
    )]
    pub(crate) servers: Vec<String>,

    /// Also ask the servers in this file, one to a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) servers_file: Option<PathBuf>,

    /// Walk from the root servers down to those that are responsible for each name. Servers that are named are the root's then.
    #[arg(long)]
    pub(crate) iterate: bool,

    /// The types of records to ask for: A,AAAA,MX,TYPE65.
    #[arg(
        short = 't',
        long = "type",
        value_name = "TYPES",
        value_delimiter = ',',
        default_value = "A"
    )]
    pub(crate) types: Vec<String>,

    /// Also ask for the names in this file, one to a line; `-` is standard input.
    #[arg(short = 'f', long, value_name = "FILE")]
    pub(crate) names_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) leave_out: LeaveOutArgs,

    #[command(flatten)]
    pub(crate) way: WayArgs,

    /// Queries a second to one server, at most, or `max`.
    #[arg(long, value_name = "RATE", default_value = "1000")]
    pub(crate) per_server: Rate,

    /// Queries a second to servers of one network, a /24 or an IPv6 /48, at most, or `max`.
    #[arg(long, value_name = "RATE", default_value = "max")]
    pub(crate) per_network: Rate,

    /// How long an answer is waited for.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = units::duration)]
    pub(crate) timeout: Duration,

    /// Times to ask again where there was no answer, or a refusal: from another port, and of another server if there is one.
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u8).range(..=50))]
    pub(crate) retries: u8,

    /// Questions under way at once, at most.
    #[arg(long, value_name = "N", default_value = "10000", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) window: u32,

    /// Bytes of the longest datagram that is taken, told to servers by EDNS; 512 asks without EDNS.
    #[arg(long, value_name = "BYTES", default_value = "1232", value_parser = clap::value_parser!(u16).range(512..=1_452))]
    pub(crate) udp_size: u16,

    /// Ask servers for what they know, and not resolvers to find it.
    #[arg(long)]
    pub(crate) no_recursion: bool,

    /// Write a line for each query, and not for each question: with `sent` and `received` it tells delays.
    #[arg(long)]
    pub(crate) every_query: bool,

    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// What is written: name, type, status, answers, server, protocol, attempt, authoritative, size, sent, received, rtt_us; of
    /// walks zone, depth, path, too.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "name,type,status,answers,server,rtt_us",
        value_enum
    )]
    pub(crate) fields: Vec<DnsFieldArg>,

    /// Names to ask for.
    #[arg(value_name = "NAMES", required_unless_present = "names_file")]
    pub(crate) names: Vec<String>,
}

/// A field of what came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum DnsFieldArg {
    /// The name.
    Name,
    /// The type of records.
    Type,
    /// The answer's code (NOERROR, NXDOMAIN, SERVFAIL, ...), or: silent, malformed, truncated, unreachable; of walks lame,
    /// aliases, effort, too.
    Status,
    /// The records of the answer, each its type and data.
    Answers,
    /// Who was asked last; of a walk that ended without asking, nobody.
    Server,
    /// udp or tcp.
    Protocol,
    /// Which time it was asked, from 1.
    Attempt,
    /// True where the server is responsible for the name.
    Authoritative,
    /// Bytes of the answer.
    Size,
    /// When the query was sent, in seconds since 1970.
    Sent,
    /// When the answer came.
    Received,
    /// Microseconds between the two.
    RttUs,
    /// The zone whose servers were asked last (--iterate).
    Zone,
    /// Delegations between the root and that zone.
    Depth,
    /// The zones above it, each with the server that told of the next one.
    Path,
}

const EXAMPLES: &str = "\
Examples:
  linerate dns -i veth0 -s 10.0.0.2 --allow-reserved example.com
                                  one question
  linerate dns -i veth0 --servers-file resolvers.txt -t A,AAAA -f names.txt \\
      -r 50000 --per-server 500 -o answers.parquet --metadata run.json
                                  many; the same with --resume goes on where it stopped
  linerate dns -i veth0 -s 10.0.0.2 -f names.txt --every-query --retries 0 \\
      --fields name,server,sent,received,rtt_us --allow-reserved
                                  how long each answer takes
  linerate dns -i veth0 -s 10.0.0.2 -f names.txt --allow-reserved \\
      --output-filter 'status = NOERROR && answers ~ CNAME'
                                  which names are others' aliases
  linerate dns -i veth0 --own 10.0.0.99 --iterate -s 10.1.0.1 -f names.txt --allow-reserved \\
      --fields name,status,answers,server,zone,path
                                  from the root of a network of your own down; without -s, the
                                  Internet's

An answer counts only if it is from the server that was asked, to the port that asked, with the
query's number and question: number and port are made by a secret, and nobody else can guess them.
Answers that do not fit a datagram are asked for again over TCP. Without --own queries are from
--source-ports of the host's address, which the host does not get meanwhile. At most 10,000 queries
a second are sent, 1,000 to each server, unless rates are named. Ask only servers that you may, tell
who you are (--contact), and heed those who ask to be left out.";
