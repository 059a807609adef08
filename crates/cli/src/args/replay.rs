use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use linerate::transmit::pacing::Rate;
use linerate::transmit::replay::{PrefixMap, Speed};

use super::{LanguageArgs, OutletArgs, PrintArgs};
use crate::units;

/// Send the packets of savefiles again, as they were recorded or at a rate.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReplayArgs {
    /// The interface to send from.
    #[arg(short = 'i', long, value_name = "IF")]
    pub(crate) interface: String,

    /// How many times as fast as recorded: 2x, 0.5x.
    #[arg(long, value_name = "SPEED")]
    pub(crate) speed: Option<Speed>,

    /// Wait for no packet longer than this, whatever was recorded.
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    pub(crate) max_gap: Option<Duration>,

    /// Send at a rate instead: 2.5Mpps, 10Gbps (preambles and gaps counted), or `max`.
    #[arg(short = 'r', long, value_name = "RATE", conflicts_with_all = ["speed", "max_gap"])]
    pub(crate) rate: Option<Rate>,

    /// At a rate, packets that leave at once, back to back; 1 unless named.
    #[arg(long, value_name = "N", value_parser = units::count_u32, requires = "rate")]
    pub(crate) burst: Option<u32>,

    /// Send the files so many times, or `forever`.
    #[arg(long = "loop", value_name = "N", default_value = "1", value_parser = loops)]
    pub(crate) loops: u64,

    /// End after this many packets (500, 10k, 2M).
    #[arg(short = 'c', long, value_name = "N", value_parser = units::count)]
    pub(crate) count: Option<u64>,

    /// End after this time.
    #[arg(long = "for", value_name = "TIME", value_parser = units::span)]
    pub(crate) duration: Option<Duration>,

    /// Send only packets that match a filter, as in pcap-filter(7).
    #[arg(short = 'f', long, value_name = "FILTER")]
    pub(crate) filter: Option<String>,

    /// Read the filter from a file.
    #[arg(short = 'F', long, value_name = "FILE", conflicts_with = "filter")]
    pub(crate) filter_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) language: LanguageArgs,

    /// Pad packets that were cut when they were recorded with zeroes; without it they are skipped.
    #[arg(long)]
    pub(crate) pad: bool,

    #[command(flatten)]
    pub(crate) outlet: OutletArgs,

    /// Savefiles, sent one after another; `-` is standard input.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) addresses: AddressArgs,

    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// Where packets come from and go to, other than recorded.
#[derive(Debug, Args)]
#[command(next_help_heading = "Addresses")]
pub(crate) struct AddressArgs {
    /// The hardware address that frames come from.
    #[arg(long, value_name = "MAC", value_parser = mac)]
    pub(crate) mac_src: Option<[u8; 6]>,

    /// The hardware address that frames go to. Packets recorded without an Ethernet header (raw IP, Linux cooked, BSD
    /// loopback) get one with it.
    #[arg(long, value_name = "MAC", value_parser = mac)]
    pub(crate) mac_dst: Option<[u8; 6]>,

    /// Give IPv4 or IPv6 addresses of one prefix the beginning of another, sources and destinations alike and those in
    /// ARP; checksums follow. May be given several times; the first that fits counts.
    #[arg(long = "map", value_name = "PREFIX=PREFIX")]
    pub(crate) maps: Vec<PrefixMap>,

    /// Skip packets to destinations on this list: a prefix, an address or a range to a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) blocklist: Option<PathBuf>,
}

fn loops(text: &str) -> Result<u64, String> {
    if text == "forever" { Ok(u64::MAX) } else { units::count(text) }
}

fn mac(text: &str) -> Result<[u8; 6], String> {
    let bytes: Vec<_> = text.split(':').map(|byte| u8::from_str_radix(byte, 16)).collect();
    let bytes: Option<Vec<u8>> = bytes.into_iter().collect::<Result<_, _>>().ok();
    let address = bytes.and_then(|bytes| bytes.try_into().ok());
    address.ok_or_else(|| format!("expected an address such as 02:00:00:00:00:01, found `{text}`"))
}

const EXAMPLES: &str = "\
Examples:
  linerate replay -i veth0 web.pcapng                  as it was recorded
  linerate replay -i veth0 --speed 10x --max-gap 1s a.pcap b.pcap.zst
                                                       faster, and without long silence
  linerate replay -i veth0 -r max --loop 100 web.pcap  as fast as possible, a hundred times
  linerate replay -i veth0 --mac-dst 02:00:00:00:00:02 --map 10.0.0.0/8=192.168.0.0/16 web.pcap
                                                       to another network, checksums corrected
  linerate replay -i veth0 -f 'udp port 53' -w dns.pcap web.pcap
                                                       write what would be sent to a file
  linerate replay -i veth0 --show=5 -e --map 10.0.0.0/8=192.168.0.0/16 web.pcap
                                                       print the first five as they would leave
  zcat x.gz | linerate replay -i veth0 -               standard input";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_and_hardware_addresses_are_read() {
        assert_eq!((loops("3"), loops("forever")), (Ok(3), Ok(u64::MAX)));
        assert!(loops("0").is_err() && loops("often").is_err());
        assert_eq!(mac("02:0:00:00:00:fF"), Ok([2, 0, 0, 0, 0, 255]));
        for bad in ["", "02:00:00:00:00", "02:00:00:00:00:100", "02:00:00:00:00:01:02", "a-b"] {
            assert!(mac(bad).is_err(), "{bad}");
        }
    }
}
