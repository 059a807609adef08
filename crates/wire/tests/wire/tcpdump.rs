//! Lines equal tcpdump's, for captures of protocols that both decode.

use std::fmt::Write;
use std::path::Path;

use crate::support;
use linerate_lab::need;
use linerate_wire::{Format, Hexdump, Options, Summary};

/// Captures all of whose lines are the same: Ethernet, cooked, raw, loopback and PPP links; ARP, IP of
/// both versions, tunnels, ICMP, IGMP, TCP, UDP, DNS.
const PLAIN: &[&str] = &[
    "08-sunrise-sunset-aes.pcap",
    "08-sunrise-sunset-esp2.pcap",
    "LINKTYPE_IPV4_invalid.pcap",
    "LINKTYPE_IPV6.pcap",
    "LINKTYPE_IPV6_invalid.pcap",
    "LINKTYPE_RAW_ipv4.pcap",
    "arp-too-long-tha.pcap",
    "bgp-4byte-asn.pcap",
    "bgp-enhanced-route-refresh-subtype.pcapng",
    "bgp-infinite-loop.pcap",
    "bigtcp-ipv6-hbh.pcap",
    "dns_tcp.pcap",
    "dns_udp.pcap",
    "edns-opts.pcap",
    "epgm_zmtp1.pcap",
    "erspan-type-i-2.pcap",
    "erspan-type-ii-2.pcap",
    "erspan-type-ii-3.pcap",
    "gquic.pcap",
    "gso-ipv4-geneve-ipv6.pcap",
    "gso-ipv4.pcap",
    "gso-ipv6-geneve-ipv4.pcap",
    "gso-ipv6-geneve-ipv6.pcap",
    "gso-ipv6.pcap",
    "icmp-cksum-oobr-1.pcap",
    "icmp-rfc5837.pcap",
    "icmp-rfc8335.pcap",
    "icmp_ext_oob_poc.pcap",
    "icmp_inft_name_length_zero.pcap",
    "icmpv6-ns-nonce.pcap",
    "icmpv6-ra-pref64.pcap",
    "icmpv6.pcap",
    "icmpv6_opt24.pcap",
    "igmpv3-queries.pcap",
    "ipv6_39_byte_header.pcap",
    "mpbgp-linklocal-nexthop.pcap",
    "mpls-over-udp.pcap",
    "nbns-valgrind.pcap",
    "nhrp.pcapng",
    "pb_nhrp_1.pcap",
    "print-flags.pcap",
    "tcp_rst_data-trunc.pcap",
    "time_2038.pcap",
];

/// A few of them, for the longer dumps.
const DUMPED: &[&str] = &[
    "08-sunrise-sunset-esp2.pcap",
    "LINKTYPE_IPV6.pcap",
    "arp-too-long-tha.pcap",
    "bgp-4byte-asn.pcap",
    "bgp-enhanced-route-refresh-subtype.pcapng",
    "dns_tcp.pcap",
    "dns_udp.pcap",
    "gso-ipv6.pcap",
    "icmp-rfc5837.pcap",
    "icmpv6.pcap",
    "mpbgp-linklocal-nexthop.pcap",
    "print-flags.pcap",
];

/// Captures all of whose lines are the same under `-v`, but for where tcpdump breaks them.
const VERBOSE: &[&str] = &[
    "08-sunrise-sunset-aes.pcap",
    "08-sunrise-sunset-esp2.pcap",
    "LINKTYPE_IPV4_invalid.pcap",
    "LINKTYPE_IPV6.pcap",
    "LINKTYPE_IPV6_invalid.pcap",
    "LINKTYPE_RAW_ipv4.pcap",
    "arp-too-long-tha.pcap",
    "dns_tcp.pcap",
    "dns_udp.pcap",
    "edns-opts.pcap",
    "epgm_zmtp1.pcap",
    "gquic.pcap",
    "gso-ipv4.pcap",
    "gso-ipv6.pcap",
    "icmp-rfc8335.pcap",
    "icmp_ext_oob_poc.pcap",
    "igmpv3-queries.pcap",
    "mpls-over-udp.pcap",
    "nbns-valgrind.pcap",
    "time_2038.pcap",
];

fn ours(file: &Path, options: Options, hexdump: Option<Hexdump>) -> String {
    let mut summary = Summary::new(options);
    let mut out = String::new();
    support::packets(file, |packet| {
        summary.write(packet, &mut out);
        if let Some(hexdump) = hexdump {
            hexdump.write(packet, &mut out);
        }
        out.push('\n');
    });
    out
}

/// Compares line by line, but for spaces at the end.
fn compare(files: &[&str], flags: &[&str], options: &Options, hexdump: Option<Hexdump>) {
    let Some(folder) = need::captures() else { return };
    if !need::program("tcpdump", "tcpdump") {
        return;
    }
    for file in files {
        let file = folder.join(file);
        let theirs = support::tcpdump(&file, &[&["-n", "-t"], flags].concat());
        // Before the addresses, and before what an ICMP error quotes.
        let theirs = theirs.replace("\n    ", " ").replace("\n\tIP", " IP");
        let ours = ours(&file, options.clone(), hexdump);
        let mut wrong = String::new();
        for (ours, theirs) in ours.lines().zip(theirs.lines()) {
            if ours.trim_end() != theirs.trim_end() {
                writeln!(wrong, "tcpdump  {theirs}\nlinerate {ours}").expect("a String");
            }
        }
        assert_eq!(wrong, "", "{flags:?} of {}", file.display());
        assert_eq!(ours.lines().count(), theirs.lines().count(), "{flags:?} of {file:?}");
    }
}

#[test]
fn plain_lines() {
    compare(PLAIN, &[], &Options::default(), None);
}

#[test]
fn absolute_sequence_numbers() {
    let options = Options { absolute_sequence: true, ..Options::default() };
    compare(PLAIN, &["-S"], &options, None);
}

#[test]
fn verbose_lines() {
    compare(VERBOSE, &["-v"], &Options { verbosity: 1, ..Options::default() }, None);
}

#[test]
fn link_headers() {
    let options = Options { link_header: true, ..Options::default() };
    compare(PLAIN, &["-e"], &options, None);
}

#[test]
fn quick_lines_with_every_dump() {
    let options = Options { quick: true, ..Options::default() };
    let dumps = [
        ("-x", Format::Hex, false),
        ("-xx", Format::Hex, true),
        ("-X", Format::HexAscii, false),
        ("-XX", Format::HexAscii, true),
        ("-A", Format::Ascii, false),
        ("-AA", Format::Ascii, true),
    ];
    for (flag, format, link_header) in dumps {
        compare(DUMPED, &["-q", flag], &options, Some(Hexdump { format, link_header }));
    }
}
