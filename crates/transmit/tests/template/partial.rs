//! Checksums that a network card completes.

use proptest::prelude::*;

use crate::checked::TEMPLATES;
use crate::{packet, template};

/// Completes the checksum as the kernel does in a card's place (`skb_checksum_help` of net/core/dev.c, Linux 6.18).
fn complete(bytes: &mut [u8], start: usize, offset: usize) {
    let words = bytes[start..].chunks(2).map(|word| match *word {
        [high, low] => u32::from(u16::from_be_bytes([high, low])),
        [high] => u32::from(high) << 8,
        _ => unreachable!("chunks of two have one byte or two"),
    });
    let sum: u32 = words.sum();
    let sum = (sum >> 16) + (sum & 0xffff);
    let checksum = match !((sum >> 16) + (sum & 0xffff)) as u16 {
        0 => u16::MAX,
        checksum => checksum,
    };
    bytes[start + offset..][..2].copy_from_slice(&checksum.to_be_bytes());
}

/// The templates of TCP and UDP whose headers nobody meddled with.
fn completed() -> impl Iterator<Item = &'static str> {
    TEMPLATES.iter().copied().filter(|text| template(text).partial().is_some())
}

#[test]
fn cards_are_left_what_they_find_and_nothing_that_was_meant_to_be_wrong() {
    for (text, place) in [
        ("IP(dst='192.0.2.1')/UDP()", Some((34, 6))),
        ("IP(dst='192.0.2.1', flags='DF')/TCP(flags='S', options=[('MSS', 1)])", Some((34, 16))),
        (
            "Dot1Q(vlan=1-9)/IPv6(dst='2001:db8::1')/UDP()/DNS(qd=DNSQR(qname='a.example'))",
            Some((58, 6)),
        ),
        ("IP(dst='192.0.2.1')/UDP(chksum=7)", None),
        ("IP(dst='192.0.2.1')/UDP(len=7)", None),
        ("IP(dst='192.0.2.1', chksum=7)/UDP()", None),
        ("IP(dst='192.0.2.1', proto=6)/UDP()", None),
        ("IP(dst='192.0.2.1', len=28)/UDP()", None),
        ("IP(dst='192.0.2.1', flags='MF')/UDP()", None),
        ("IP(dst='192.0.2.1', frag=0-9)/UDP()", None),
        ("IP(dst='192.0.2.1', ihl=6)/UDP()", None),
        ("Ether(type=0x88b5)/IP(dst='192.0.2.1')/UDP()", None),
        ("IP(dst='192.0.2.1')/TCP(dataofs=6)", None),
        ("IP(dst='192.0.2.1')/ICMP()", None),
        ("IPv6(dst='2001:db8::1')/ICMPv6EchoRequest()", None),
        ("IP(dst='192.0.2.1')/IP(dst='192.0.2.1')/UDP()", None),
        ("IP(dst='192.0.2.1')/ICMP(type=3)/IP(dst='192.0.2.1')/UDP()", None),
        ("ARP(pdst='192.0.2.1')", None),
        ("Ether()/'x'", None),
    ] {
        let partial = template(text).partial();
        assert_eq!(partial.map(|(_, sum)| (sum.start, sum.offset)), place, "{text}");
    }
    assert!(completed().count() > 4);
}

#[test]
fn what_is_partial_already_is_not_made_so_again() {
    let (partial, _) = template("IP(dst='192.0.2.1')/UDP()").partial().unwrap();
    assert!(partial.partial().is_none());
}

proptest! {
    #[test]
    fn completed_packets_are_those_of_the_template(number: u64, few in 0..5_000_u64) {
        for text in completed() {
            let whole = template(text);
            let (partial, sum) = whole.partial().unwrap();
            for number in [number, few] {
                let mut bytes = packet(&partial, number);
                let (start, offset) = (usize::from(sum.start), usize::from(sum.offset));
                complete(&mut bytes, start, offset);
                let mut expected = packet(&whole, number);
                // Of TCP both are right, and a card writes the other.
                if expected[start + offset..][..2] == [0, 0] {
                    expected[start + offset..][..2].fill(0xff);
                }
                prop_assert_eq!(bytes, expected, "{} {}", text, number);
            }
        }
    }
}
