use clap::{Args, ValueEnum};

use super::{GentleArgs, PassArgs, RunArgs, TargetArgs, WayArgs};

/// Probe many addresses and ports, in random order and without keeping anything of a probe.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ScanArgs {
    /// What to send.
    #[arg(long, value_enum, default_value = "syn")]
    pub(crate) probe: ProbeArg,

    /// What datagrams say: dns:NAME, ntp, text:..., hex:0102...
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) payload: String,

    #[command(flatten)]
    pub(crate) whom: TargetArgs,

    #[command(flatten)]
    pub(crate) way: WayArgs,

    #[command(flatten)]
    pub(crate) gentle: GentleArgs,

    #[command(flatten)]
    pub(crate) pass: PassArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// What is written of an answer: address, port, class, success, code, from, ttl, size, rtt_us, time.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "address,port,class,ttl,rtt_us,time",
        value_enum
    )]
    pub(crate) fields: Vec<FieldArg>,
}

/// What to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProbeArg {
    /// TCP SYN: who listens answers with SYN-ACK.
    Syn,
    /// TCP ACK: whom no filter protects answers with RST.
    Ack,
    /// A datagram.
    Udp,
    /// ICMP echo request.
    Echo,
}

/// A field of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum FieldArg {
    /// The address that was probed.
    Address,
    /// The port that was probed.
    Port,
    /// open, closed, unfiltered, reply, echo or unreachable.
    Class,
    /// Whether it is what was looked for: all but closed and unreachable.
    Success,
    /// The code of an ICMP error.
    Code,
    /// Whom the answer is from.
    From,
    /// Hops that it might have gone on for.
    Ttl,
    /// Bytes of its payload.
    Size,
    /// Microseconds from the probe to the answer.
    RttUs,
    /// When it came, in seconds since 1970.
    Time,
}

const EXAMPLES: &str = "\
Examples:
  linerate scan -i veth0 -p 80,443 --allow-reserved 10.64.0.0/16
                                  who listens, in a network of your own
  linerate scan -i veth0 --probe udp -p 53 --payload dns:example.com --allow-reserved 10.64.0.0/16
                                  who answers DNS
  linerate scan -i veth0 --probe echo --allow-reserved fd00::/112 --format json
                                  who answers pings
  linerate scan -i veth0 -p 80 -f list.txt --per-network 10 --stop-below 0.1% \\
      --output-filter 'class = closed || rtt_us > 100000'
                                  who refuses or is far, gently, and not in vain
  linerate scan -i veth0 -p 80 -f list.txt --seed 7 --shard 1/4 -o 1.parquet --metadata 1.json
                                  a quarter of it; the same with --resume goes on

Without --own probes are from --source-ports of the host's address, which the host does not get
meanwhile: ports that it uses, or chooses from for connections of its own, are refused. Answers to
pings the host gets, too.
Reserved and private addresses are left out unless --allow-reserved is given. At most 10,000 probes
a second are sent unless a rate is named. --output-filter compares numbers, addresses
(`from = 10.0.0.0/8`, any address in it) and words (`class = open`); what an answer does not tell
meets no test. Each target is written once. Pings carry what --contact says. Scan only what you may,
tell who you are, and heed those who ask to be left out.";
