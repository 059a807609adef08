//! Messages of ICMP about packets: checksums over checksums.

use crate::checked::check;
use crate::{packet, template};

/// Templates of messages, and how many bytes of the frame come before the packet that they are about.
const ABOUT: &[(&str, usize)] = &[
    (
        "IP(dst='192.0.2.1')/ICMP(type=3, code=1)/IP(src='192.0.2.1', dst='10.9.0.0/24')/UDP(sport=1-9)",
        42,
    ),
    (
        "IP(dst='192.0.2.1')/ICMP(type='time-exceeded')/IP(src=random('192.0.2.0/24'), dst='10.0.0.1', ttl=1)/\
      TCP(sport=RandShort(), seq=random(0-0xffffffff))/'odd'",
        42,
    ),
    (
        "IP(dst='192.0.2.1')/ICMP(type=3, code=3)/IP(dst='10.0.0.1')/UDP(dport=[7, 9])/Raw(size=1-9)",
        42,
    ),
    (
        "IPv6(dst='2001:db8::1')/ICMPv6DestUnreach(code=4)/IPv6(src='2001:db8::1', dst='fd00::/120')/UDP(dport=RandShort())",
        62,
    ),
    (
        "IPv6(dst='2001:db8::1')/ICMPv6PacketTooBig(mtu=1280-1500)/IPv6(dst='fd00::2')/TCP(flags='A')/Raw(size=3)",
        62,
    ),
    (
        "IPv6(dst='2001:db8::1')/ICMPv6TimeExceeded()/IPv6(dst='fd00::2', hlim=0-1)/ICMPv6EchoRequest(seq=0-99)",
        62,
    ),
];

#[test]
fn both_packets_are_right() {
    for (text, before) in ABOUT {
        let template = template(text);
        for number in 0..2_000 {
            let bytes = packet(&template, number);
            check(&bytes);
            check(&[&bytes[..14], &bytes[*before..]].concat());
        }
    }
}

#[test]
fn a_message_about_a_message_is_right_too() {
    let text = "IP(dst='192.0.2.1')/ICMP(type=3)/IP(dst='10.0.0.1')/ICMP(type=11)/IP(dst='10.0.0.2')/UDP(sport=0-65535)";
    let template = template(text);
    for number in 0..65_536 {
        let bytes = packet(&template, number);
        for before in [14, 42, 70] {
            check(&[&bytes[..14], &bytes[before..]].concat());
        }
    }
}
