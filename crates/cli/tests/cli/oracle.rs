//! What `linerate read` counts, beside tcpdump, over the sample captures of every link type.

use std::fs;
use std::path::Path;
use std::process::Command;

use linerate_lab::need;

use crate::support::{LINERATE, finish};

/// Filters of every layer, of all that tcpdump knows on most link types.
const FILTERS: [&str; 14] = [
    "tcp",
    "udp port 53",
    "host 10.0.0.1 or net 192.168.0.0/16",
    "not ip",
    "greater 200 and not arp",
    "ip6 and not icmp6",
    "port 80 or 443 or 22",
    "ether multicast or broadcast",
    "ip[6:2] & 0x1fff = 0",
    "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
    "vlan or mpls",
    "src portrange 1024-65535 and dst net 10.0.0.0/8",
    "icmp[icmptype] = icmp-echo or igmp",
    "link[0] & 1 = 0 and len <= 100",
];

/// Filters that each file is read with: its share, which is others' as well.
const SHARE: usize = 4;

/// tcpdump's count, without libpcap's optimiser; `None` where it does not read the file to its end, or refuses the
/// filter.
fn tcpdump(file: &Path, filter: &str) -> Option<u64> {
    let done =
        finish(Command::new("tcpdump").arg("-O").arg("--count").arg("-r").arg(file).arg(filter));
    let count = done.stdout.split_whitespace().next().and_then(|word| word.parse().ok());
    count.filter(|_| done.status.success())
}

#[test]
fn every_sample_has_as_many_matches_as_tcpdump_finds() {
    let Some(folder) = need::captures() else { return };
    if !need::program("tcpdump", "tcpdump") {
        return;
    }
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let mut compared = 0;
    for (number, file) in files.iter().enumerate() {
        for filter in FILTERS.iter().cycle().skip(number * SHARE).take(SHARE) {
            let Some(expected) = tcpdump(file, filter) else { continue };
            let ours = finish(
                Command::new(LINERATE).args(["read", "--count", "-r"]).arg(file).arg(filter),
            );
            let packets = if expected == 1 { "packet" } else { "packets" };
            assert_eq!(
                ours.stdout,
                format!("{expected} {packets}\n"),
                "{} {filter}: {ours:?}",
                file.display()
            );
            compared += 1;
        }
    }
    assert!(compared > files.len(), "{compared} of {} files", files.len());
}
