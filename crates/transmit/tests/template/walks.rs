//! The order in which values come.

use std::collections::HashSet;

use linerate_transmit::template::Walk;
use linerate_transmit::{Blocklist, Template};
use proptest::prelude::*;

use crate::{Host, packet, template};

const DESTINATION: std::ops::Range<usize> = 30..34;

fn destinations(template: &Template, count: u64) -> Vec<u32> {
    let address = |n| packet(template, n)[DESTINATION].try_into().map(u32::from_be_bytes).unwrap();
    (0..count).map(address).collect()
}

fn pairs(text: &str, count: u64) -> Vec<(u8, u16)> {
    let template = template(text);
    let pair = |n| {
        let bytes = packet(&template, n);
        (bytes[33], u16::from_be_bytes([bytes[36], bytes[37]]))
    };
    (0..count).map(pair).collect()
}

#[test]
fn in_sequence_the_last_field_changes_fastest() {
    let text = "IP(dst='10.0.0.4/31')/UDP(dport=[9, 7-8])";
    assert_eq!(template(text).count(), 6);
    let cycle = [(4, 9), (4, 7), (4, 8), (5, 9), (5, 7), (5, 8)];
    assert_eq!(pairs(text, 12), [cycle, cycle].concat());
}

#[test]
fn permuted_fields_are_one_field_and_change_fastest() {
    let text = "IP(dst=permute('10.0.0.0/28'), tos=[1, 2])/UDP(dport=permute(1-5))";
    assert_eq!(template(text).count(), 160);
    let found = pairs(text, 160);
    assert_eq!(found[..80], found[80..], "once for each type of service");
    assert_eq!(found[..80].iter().collect::<HashSet<_>>().len(), 80);
    let sorted = found[..80].is_sorted();
    assert!(!sorted, "{found:?}");
}

#[test]
fn a_prefix_of_ten_bits_is_walked_once() {
    let template = template("IP(dst=permute('10.64.0.0/10'))/TCP(dport=80, flags='S')");
    assert_eq!(template.count(), 1 << 22);
    let mut seen = vec![false; 1 << 22];
    let mut slot = vec![0; template.longest()];
    for number in 0..1 << 22 {
        template.fill(number, &mut slot);
        let address = u32::from_be_bytes(slot[DESTINATION].try_into().unwrap());
        let index = (address - 0x0a40_0000) as usize;
        assert!(!std::mem::replace(&mut seen[index], true), "{address:x} came twice");
    }
}

#[test]
fn blocked_destinations_never_come() {
    let blocklist = Blocklist::parse("10.0.0.0/26\n10.0.0.200-10.0.0.255\n", "f").unwrap();
    for walk in ["seq", "permute", "random"] {
        let text = format!("IP(dst={walk}('10.0.0.0/24'), src='10.0.0.1')/UDP()");
        let template = Template::compile(&text, &Host, &blocklist, 3).unwrap();
        let expected: HashSet<_> = (0x0a00_0000 + 64..0x0a00_0000 + 200).collect();
        let found: HashSet<_> = destinations(&template, 10_000).into_iter().collect();
        assert_eq!(found, expected, "{walk}");
    }
}

#[test]
fn random_values_are_drawn_for_each_packet_and_field() {
    let template = template("IP(dst=random('10.0.0.0/8'), src=random('10.0.0.0/8'))/UDP()");
    assert_eq!(template.count(), 1, "nothing is walked");
    let found: HashSet<_> = destinations(&template, 1_000).into_iter().collect();
    assert!(found.len() > 990);
    let bytes = packet(&template, 0);
    assert_ne!(bytes[26..30], bytes[30..34]);
}

#[test]
fn scapys_random_values_are_random_within_the_field() {
    for (field, smallest, largest) in [
        ("UDP(sport=RandShort())", 0, 65_535),
        ("UDP(sport=RandByte())", 0, 255),
        ("UDP(sport=RandInt())", 0, 65_535),
        ("UDP(sport=RandNum(20, 30))", 20, 30),
        ("UDP(sport=RandChoice(7, 9))", 7, 9),
    ] {
        let template = template(&format!("IP(dst='192.0.2.1')/{field}"));
        let found = template.varying()[0].values.clone();
        assert_eq!(template.varying()[0].walk, Walk::Random, "{field}");
        let spans = found.spans();
        assert_eq!((spans[0].first, found.largest()), (smallest, Some(largest)), "{field}");
    }
    let text =
        "Ether(src=RandMAC('02:00:00:*:*:*'))/IP(src=RandIP(), dst=RandIP('192.0.2.0/24'))/UDP()";
    let counts = template(text).varying().iter().map(|v| v.values.count()).collect::<Vec<_>>();
    assert_eq!(counts, [1 << 24, 1 << 32, 1 << 8]);
}

#[test]
fn the_seed_decides() {
    let text = "IP(dst=permute('10.0.0.0/16'))/UDP(sport=random(0-65535))";
    let with = |seed| Template::compile(text, &Host, &Blocklist::default(), seed).unwrap();
    let packets = |template: &Template| (0..50).map(|n| packet(template, n)).collect::<Vec<_>>();
    assert_eq!(packets(&with(1)), packets(&with(1)));
    assert_ne!(packets(&with(1)), packets(&with(2)));
}

#[test]
fn imix_is_seven_to_four_to_one() {
    let template = template("IP(dst='192.0.2.1')/UDP()/Raw(size='imix')");
    let mut sizes: Vec<_> = (0..12).map(|n| packet(&template, n).len() - 14).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [[40; 7].as_slice(), &[576; 4], &[1500]].concat());
}

#[test]
fn sizes_mix_whatever_else_varies() {
    for walk in ["seq", "permute", "random"] {
        let text = format!("IP(dst={walk}('10.64.0.0/10'))/UDP(dport=[1, 2])/Raw(size='imix')");
        let template = template(&text);
        let mut sizes: Vec<_> = (0..12).map(|n| packet(&template, n).len() - 14).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [[40; 7].as_slice(), &[576; 4], &[1500]].concat(), "{walk}");
    }
}

#[test]
fn the_mean_length_weighs_sizes_by_their_share() {
    for (text, mean) in [
        ("IP(dst='192.0.2.1')/UDP()/Raw(size='imix')", 14 + (7 * 40 + 4 * 576 + 1500) / 12),
        ("IP(dst='192.0.2.1')/UDP()/Raw(size=random(100-300))", 42 + 200),
        ("IP(dst='192.0.2.1')/UDP()/Raw(size=18)", 60),
        ("IP(dst='192.0.2.1')/UDP()/DNS(qd=DNSQR(qname=['ab', 'abcd']))", 42 + 12 + 5 + 4),
    ] {
        assert_eq!(template(text).mean(), mean, "{text}");
    }
}

#[test]
fn names_are_asked_in_turn_for_each_destination() {
    let text =
        "IP(dst=['10.0.0.1', '10.0.0.9'])/UDP()/DNS(qd=DNSQR(qname=['a.example', 'bc.example']))";
    let lengths: Vec<_> = (0..4).map(|n| packet(&template(text), n).len()).collect();
    assert_eq!(lengths[1] - lengths[0], 1);
    assert_eq!(lengths[..2], lengths[2..]);
}

#[test]
fn the_compiled_form_tells_what_varies() {
    let template =
        template("IP(dst=permute('10.0.0.0/24'))/UDP(dport=[1, 2])/Raw(size=random(1-9))");
    let varying: Vec<_> = template.varying().iter().map(|v| (v.name.as_str(), v.walk)).collect();
    let expected =
        [("Raw.size", Walk::Random), ("IP.dst", Walk::Permutation), ("UDP.dport", Walk::Sequence)];
    assert_eq!(varying, expected);
    assert_eq!(template.checksums().iter().map(|c| c.at).collect::<Vec<_>>(), [24, 40]);
}

proptest! {
    #[test]
    fn every_combination_comes_once(
        walks in prop::array::uniform4(prop::sample::select(vec!["seq", "permute"])),
        counts in prop::array::uniform4(1..6_u32),
        seed: u64,
    ) {
        let [a, b, c, d] = walks;
        let [x, y, z, s] = counts;
        let text = format!(
            "IP(dst={a}('10.0.0.0-10.0.0.{x}'), tos={b}(1-{y}))/UDP(dport={c}(1-{z}))/Raw(size={d}(1-{s}))"
        );
        let template = Template::compile(&text, &Host, &Blocklist::default(), seed).unwrap();
        let count = (x + 1) * y * z * s;
        prop_assert_eq!(template.count(), u128::from(count));
        let packets: HashSet<_> = (0..count).map(|n| packet(&template, n.into())).collect();
        prop_assert_eq!(packets.len(), count as usize);
        prop_assert_eq!(packet(&template, 0), packet(&template, count.into()));
    }
}
