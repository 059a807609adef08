//! Every engine gives the verdicts of the reference evaluator, at every level that this processor has.

#[path = "../../../filter/tests/common/mod.rs"]
mod common;
#[path = "../../../filter/tests/random/generate.rs"]
#[expect(dead_code, reason = "words in any order are for the compiler's tests")]
mod generate;
#[cfg(target_arch = "x86_64")]
mod processors;

use linerate_base::{Batch, Descriptor, Direction, Interface, LinkType, Matches};
use linerate_bpf::classic::Input;
use linerate_exec::{Engine, FilterSet, Level, SetMatches};
use linerate_filter::{Filter, Hermetic, Options, Verdict, compile, link_types};
use proptest::prelude::*;
use std::net::Ipv4Addr;

/// The number of the interface that packets come by.
const INTERFACE: u32 = 3;

/// The link types of most devices.
const DEVICES: [LinkType; 3] = [LinkType::ETHERNET, LinkType::RAW, LinkType::LINUX_SLL2];

/// Packets one behind the other, without a byte between or behind.
#[derive(Default)]
struct Packets {
    region: Vec<u8>,
    table: Vec<Descriptor>,
}

impl Packets {
    fn push(&mut self, packet: &[u8], cut: usize) {
        self.table.push(Descriptor {
            offset: self.region.len() as u32,
            captured: cut as u32,
            length: packet.len() as u32,
            direction: [Direction::Unknown, Direction::In, Direction::Out][self.table.len() % 3],
            ..Descriptor::default()
        });
        self.region.extend_from_slice(&packet[..cut]);
    }
}

/// What was wrong, if anything.
fn disagreement(filter: &Filter, packets: &Packets) -> Option<String> {
    let interfaces = [Interface::default()];
    let batch = Batch::new(&packets.region, &packets.table, &interfaces);
    let inputs: Vec<_> = batch.iter().map(|packet| Input::of(&packet, Some(INTERFACE))).collect();
    let meant: Vec<_> =
        inputs.iter().map(|input| filter.evaluate(input) == Verdict::True).collect();
    let differs = |name: &str, keeps: &dyn Fn(usize) -> bool| {
        let at = (0..batch.len()).find(|at| keeps(*at) != meant[*at])?;
        let data = inputs[at].data;
        Some(format!("{name}: packet {at} of {}: {}: {data:x?}", batch.len(), meant[at]))
    };
    for (name, engine) in [
        ("one by one", Engine::new(filter)),
        ("one by one, interpreted", Engine::at_level(filter, Level::PORTABLE)),
    ] {
        if let Some(wrong) = differs(name, &|at| engine.keeps(&inputs[at])) {
            return Some(wrong);
        }
    }
    let mut matches = Matches::new();
    Level::all().find_map(|level| {
        Engine::at_level(filter, level).run(&batch, Some(INTERFACE), &mut matches);
        differs(&level.to_string(), &|at| matches.contains(at))
    })
}

/// What a set that has filters under their numbers, some of them removed, gets wrong, if anything.
fn set_disagreement(
    set: &FilterSet,
    filters: &[Option<&Filter>],
    packets: &Packets,
) -> Option<String> {
    let interfaces = [Interface::default()];
    let batch = Batch::new(&packets.region, &packets.table, &interfaces);
    let mut matches = SetMatches::new();
    set.run(&batch, Some(INTERFACE), &mut matches);
    batch.iter().enumerate().find_map(|(at, packet)| {
        let input = Input::of(&packet, Some(INTERFACE));
        let keeps = |filter: &Filter| filter.evaluate(&input) == Verdict::True;
        let meant = filters.iter().map(|filter| filter.is_some_and(keeps));
        let wrong =
            meant.enumerate().find(|(filter, keeps)| matches.contains(at, *filter) != *keeps);
        wrong.map(|(filter, keeps)| {
            format!("filter {filter}, packet {at} of {}: {keeps}: {:x?}", batch.len(), packet.data)
        })
    })
}

fn options(link_type: LinkType) -> Options<'static> {
    Options {
        metadata: true,
        netmask: Some(Ipv4Addr::new(255, 255, 255, 0)),
        ..Options::new(link_type, &Hermetic)
    }
}

fn link_type() -> impl Strategy<Value = LinkType> {
    prop::sample::select(link_types().collect::<Vec<_>>())
}

/// A packet of `link_type`, perhaps with a byte changed, and how much of it was captured.
fn packet(link_type: LinkType) -> impl Strategy<Value = (Vec<u8>, usize)> {
    let packets = common::packets(link_type);
    let changed = prop::option::of((any::<prop::sample::Index>(), any::<u8>()));
    let cut = prop::option::of(any::<prop::sample::Index>());
    (prop::sample::select(packets), changed, cut).prop_map(|(mut packet, changed, cut)| {
        if let Some((at, byte)) = changed {
            let at = at.index(packet.len());
            packet[at] = byte;
        }
        let cut = cut.map_or(packet.len(), |cut| cut.index(packet.len() + 1));
        (packet, cut)
    })
}

/// So many cases, or as many as `PROPTEST_CASES` says.
fn config(cases: u32) -> ProptestConfig {
    let from_environment = ProptestConfig::default();
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => from_environment,
        None => ProptestConfig { cases, ..from_environment },
    }
}

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn random_expressions_over_random_packets(
        (link_type, text, packets) in (link_type(), generate::expression()).prop_flat_map(|(link, text)| {
            (Just(link), Just(text), prop::collection::vec(packet(link), 1..70))
        }),
        optimise in any::<bool>(),
        copies in 1..9_usize,
    ) {
        let Ok(filter) = compile(&text, &Options { optimise, ..options(link_type) }) else {
            return Ok(());
        };
        let mut all = Packets::default();
        for _ in 0..copies {
            packets.iter().for_each(|(packet, cut)| all.push(packet, *cut));
        }
        prop_assert_eq!(disagreement(&filter, &all), None, "[{}] {}", link_type, text);
    }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn random_sets_over_random_packets(
        (link_type, texts, packets) in (link_type(), prop::collection::vec(generate::expression(), 1..24))
            .prop_flat_map(|(link, texts)| {
                (Just(link), Just(texts), prop::collection::vec(packet(link), 1..300))
            }),
        grown in any::<prop::sample::Index>(),
        removed in any::<prop::sample::Index>(),
        hosts in prop_oneof![Just(0), Just(40)],
    ) {
        // So many of a kind are looked for in another way than few.
        let texts: Vec<_> = texts.into_iter().chain((0..hosts).map(|i| format!("host 10.1.2.{i}"))).collect();
        let compiled = texts.iter().filter_map(|text| compile(text, &options(link_type)).ok());
        let filters: Vec<_> = compiled.collect();
        prop_assume!(!filters.is_empty());
        let mut all = Packets::default();
        packets.iter().for_each(|(packet, cut)| all.push(packet, *cut));
        let mut kept: Vec<_> = filters.iter().map(Some).collect();
        for level in Level::all() {
            let set = FilterSet::at_level(&filters, level);
            prop_assert_eq!(set_disagreement(&set, &kept, &all), None, "[{}] {:?}", link_type, texts);
        }
        let (first, later) = filters.split_at(grown.index(filters.len()));
        let mut set = FilterSet::new(first);
        let removed = removed.index(filters.len());
        for (number, filter) in (first.len()..).zip(later) {
            prop_assert_eq!(set.insert(filter), number);
            // Removed as soon as it is there, so that others are filed anew after it.
            if number == removed || removed < first.len() {
                set.remove(removed);
                kept[removed] = None;
            }
        }
        prop_assert_eq!(set.len(), kept.iter().flatten().count());
        prop_assert_eq!(set_disagreement(&set, &kept, &all), None, "[{}] {:?}", link_type, texts);
    }
}

#[test]
fn a_thousand_filters_of_hosts_nets_and_ports_at_once() {
    let texts = (0..1000_u32).map(|i| match i % 5 {
        0 => format!("host 10.1.{}.{}", i / 5 % 4, i / 20),
        1 => format!("net 192.{}.0.0/{}", i / 5 % 32 * 8, 13 + i % 7),
        2 => format!("tcp port {}", i / 5),
        3 => format!("udp portrange {}-{} and src net 10.0.0.0/8", i / 5, i),
        _ => format!("not port {} and ip", i / 5),
    });
    let filters: Vec<_> =
        texts.map(|text| compile(&text, &options(LinkType::ETHERNET)).expect("a filter")).collect();
    let kept: Vec<_> = filters.iter().map(Some).collect();
    let mut all = Packets::default();
    for packet in common::packets(LinkType::ETHERNET) {
        (0..=packet.len()).step_by(3).for_each(|cut| all.push(&packet, cut));
    }
    assert_eq!(set_disagreement(&FilterSet::new(&filters), &kept, &all), None);
    let (first, later) = filters.split_at(700);
    let (mut set, mut kept) = (FilterSet::new(first), kept);
    for filter in later {
        let number = set.insert(filter);
        if number % 3 == 0 {
            assert!(set.remove(number) && set.remove(number - 650));
            (kept[number], kept[number - 650]) = (None, None);
        }
    }
    assert_eq!(set_disagreement(&set, &kept, &all), None);
}

#[test]
fn every_kind_of_expression_over_every_truncation() {
    let texts = include_str!("../../../filter/tests/expressions.txt");
    let texts: Vec<_> =
        texts.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")).collect();
    let mut compiled = 0;
    for (number, link_type) in link_types().enumerate() {
        // What devices have gets all of them; of the many others each gets its share, which is another's no more.
        let share = if DEVICES.contains(&link_type) { 1 } else { 16 };
        let mut all = Packets::default();
        for packet in common::packets(link_type) {
            (0..=packet.len()).for_each(|cut| all.push(&packet, cut));
        }
        for text in texts.iter().skip(number % share).step_by(share) {
            let Ok(filter) = compile(text, &options(link_type)) else { continue };
            compiled += 1;
            assert_eq!(disagreement(&filter, &all), None, "[{link_type}] {text}");
        }
    }
    assert!(compiled > texts.len(), "{compiled} of {} expressions", texts.len());
}

#[test]
fn a_division_by_zero_rejects_though_nothing_depends_on_the_quotient() {
    let mut all = Packets::default();
    for packet in common::packets(LinkType::ETHERNET) {
        all.push(&packet, packet.len());
    }
    for text in ["0 & (15 % ether[20]) <= 7", "0 & (15 / ether[20]) > 7 or ip"] {
        let filter = compile(text, &options(LinkType::ETHERNET)).expect("a filter");
        assert_eq!(disagreement(&filter, &all), None, "{text}");
    }
}

#[test]
fn long_sets_of_hosts_nets_and_ports() {
    let either = |kind: &str, items: Vec<String>| items.join(&format!(" or {kind} "));
    let hosts = either("host", (0..300).map(|i| format!("10.1.{}.{}", i / 100, i % 100)).collect());
    let nets = either("net", (0..60).map(|i| format!("192.{}.0.0/16", 120 + i)).collect());
    let ports = either("port", (0..40).map(|i| (7 * i + 10).to_string()).collect());
    let mut all = Packets::default();
    for packet in common::packets(LinkType::ETHERNET) {
        (0..=packet.len()).for_each(|cut| all.push(&packet, cut));
    }
    let texts = [
        format!("host {hosts}"),
        format!("net {nets}"),
        format!("port {ports}"),
        format!("not (src net {nets}) and (dst port {ports})"),
        format!("vlan and (port {ports} or host {hosts})"),
    ];
    for text in texts {
        let filter = compile(&text, &options(LinkType::ETHERNET)).expect("a filter");
        assert_eq!(disagreement(&filter, &all), None, "{text}");
    }
}
