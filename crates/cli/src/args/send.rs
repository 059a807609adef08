use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use linerate::transmit::pacing::{Gaps, Ramp, Rate};

use super::{OutletArgs, PrintArgs};
use crate::units;

/// Send packets that vary, at an exact rate.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SendArgs {
    /// The interface to send from.
    #[arg(short = 'i', long, value_name = "IF")]
    pub(crate) interface: String,

    /// How fast: 2.5Mpps, 10Gbps (preambles and gaps counted), or `max`; 1000 a second unless named.
    #[arg(short = 'r', long, value_name = "RATE")]
    pub(crate) rate: Option<Rate>,

    /// End after this many packets (500, 10k, 2M), or `all`, each combination once; 10,000 at most unless named.
    #[arg(short = 'c', long, value_name = "N", value_parser = count)]
    pub(crate) count: Option<Count>,

    /// End after this time.
    #[arg(long = "for", value_name = "TIME", value_parser = units::span)]
    pub(crate) duration: Option<Duration>,

    /// Packets that leave at once, back to back.
    #[arg(long, value_name = "N", default_value = "1", value_parser = units::count_u32)]
    pub(crate) burst: u32,

    /// The gaps between bursts: `constant`, `poisson`, or times on and off as in 10ms/90ms.
    #[arg(long, value_name = "KIND", default_value = "constant", value_parser = gaps)]
    pub(crate) gaps: Gaps,

    /// Begin at another rate and reach that of --rate after a time: 1000/10s.
    #[arg(long, value_name = "RATE/TIME", value_parser = ramp, requires = "rate")]
    pub(crate) ramp: Option<Ramp>,

    /// Threads that share the packets, each on a core and by a queue of its own.
    #[arg(long, value_name = "N", default_value = "1", value_parser = units::count_u32)]
    pub(crate) threads: u32,

    /// Decides the order of permutations and what is random; without it, chance does.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Leave out destinations on this list: a prefix, an address or a range to a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) blocklist: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) outlet: OutletArgs,

    #[command(flatten)]
    pub(crate) print: PrintArgs,

    /// The packets, as Scapy has them, with several values for what varies.
    #[arg(value_name = "PACKETS")]
    pub(crate) packets: String,
}

/// How many packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// Each combination of what varies once.
    All,
    /// So many.
    Of(u64),
}

fn count(text: &str) -> Result<Count, String> {
    if text == "all" { Ok(Count::All) } else { units::count(text).map(Count::Of) }
}

fn gaps(text: &str) -> Result<Gaps, String> {
    match (text, text.split_once('/')) {
        ("constant", _) => Ok(Gaps::Constant),
        ("poisson", _) => Ok(Gaps::Poisson),
        (_, Some((on, off))) => Ok(Gaps::OnOff(units::duration(on)?, units::duration(off)?)),
        _ => Err(format!("expected constant, poisson, or times as in 10ms/90ms, found `{text}`")),
    }
}

fn ramp(text: &str) -> Result<Ramp, String> {
    let parts = text.rsplit_once('/').filter(|(rate, _)| !rate.is_empty());
    let (from, over) =
        parts.ok_or_else(|| format!("expected a ramp as in 1000/10s, found `{text}`"))?;
    Ok(Ramp { from: Rate::from_str(from)?, over: units::duration(over)? })
}

const EXAMPLES: &str = "\
Examples:
  linerate send -i veth0 --show 'IP(dst=\"10.0.0.2\")/UDP(dport=[53, 123])/Raw(size=18)'
                                  print, send nothing
  linerate send -i veth0 'IP(dst=\"10.0.0.2\")/ICMP(seq=0-99)'
                                  a hundred pings
  linerate send -i veth0 -r 1Mpps -c all \\
      'IP(dst=permute(\"10.64.0.0/10\"))/TCP(dport=80, flags=\"S\")'
                                  a SYN to each address once, in random order
  linerate send -i veth0 -r 1Gbps --for 10s 'IP(dst=\"10.0.0.2\")/UDP()/Raw(size=\"imix\")'
                                  a load of mixed sizes
  linerate send -i veth0 -r 100k -c 1M --threads 2 \\
      'IP(src=RandIP(\"10.0.0.0/8\"), dst=\"10.0.0.2\")/UDP(sport=RandShort())'
                                  a million packets from anywhere, by two cores

Options of TCP: options=[(\"MSS\", 1460), (\"SAckOK\", \"\"), (\"NOP\", None), (\"WScale\", 7)].
Values: 80, 1024-65535, \"10.0.0.0/8\", [80, 443]; one after the other, or permute(...) each once in
random order, random(...) any at any time, as Scapy's RandShort() and its like. Text is a payload:
TCP()/\"GET /\", \"x\"*100. ICMP carries the packet that it is about: ICMP(type=3, code=1)/IP()/UDP().
Lengths, checksums and addresses of the interface and of the next hop are filled in.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_gaps_and_ramps_are_read() {
        assert_eq!((count("7k"), count("all")), (Ok(Count::Of(7000)), Ok(Count::All)));
        assert!(count("0").is_err() && count("some").is_err());
        let millis = Duration::from_millis;
        assert_eq!(gaps("10ms/90ms"), Ok(Gaps::OnOff(millis(10), millis(90))));
        assert_eq!(gaps("poisson"), Ok(Gaps::Poisson));
        assert!(gaps("10ms").is_err() && gaps("a/b").is_err());
        let ramp_of = |from, seconds| Ok(Ramp { from, over: Duration::from_secs(seconds) });
        assert_eq!(ramp("1kpps/10s"), ramp_of(Rate::Frames(1_000_000), 10));
        assert_eq!(ramp("1Mbit/s/2s"), ramp_of(Rate::Bits(1_000_000), 2));
        assert!(ramp("1000").is_err() && ramp("/1s").is_err());
    }
}
