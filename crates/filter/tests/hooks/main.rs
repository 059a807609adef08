//! Filters as fragments of programs at the kernel's hooks: the kernel's verifier takes them all, and
//! their verdicts on test packets are those of the meaning, cut packets and frames of several buffers
//! among them.

#[path = "../common/mod.rs"]
mod common;
#[path = "../random/generate.rs"]
#[expect(dead_code, reason = "only well-formed expressions are wanted here")]
mod generate;
mod hooked;
mod sets;

use hooked::{Hooked, SHORTEST};
use linerate_base::LinkType;
use linerate_bpf::classic::{Ancillary, Input};
use linerate_bpf::extended::{Hook, disassemble};
use linerate_filter::{ErrorKind, Filter, Hermetic, Options, Target, Verdict, compile, link_types};
use linerate_lab::need;
use proptest::prelude::*;
use std::net::Ipv4Addr;

const HOOKS: [Hook; 2] = [Hook::Xdp, Hook::Ingress];

fn for_tap(expression: &str, link_type: LinkType) -> linerate_filter::Result<Filter> {
    let netmask = Some(Ipv4Addr::new(255, 255, 255, 0));
    let options = Options::new(link_type, &Hermetic);
    compile(expression, &Options { target: Target::Tap, netmask, ..options })
}

/// The filter at both hooks; `None` where it is one that loops.
fn at_hooks(filter: &Filter) -> Option<[Hooked; 2]> {
    let predicate = match filter.predicate() {
        Ok(predicate) => predicate,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Loop, "{error}");
            return None;
        }
    };
    Some(HOOKS.map(|hook| {
        Hooked::new(&predicate, hook).unwrap_or_else(|e| {
            let code: Vec<_> = predicate.instructions(hook).collect();
            panic!("{e}\n{}\n{}", disassemble(&code), e.log())
        })
    }))
}

/// Compares both hooks with the meaning.
fn check(filter: &Filter, hooked: &[Hooked; 2], input: &Input<'_>) -> Result<(), String> {
    let meant = filter.evaluate(input) == Verdict::True;
    match hooked.iter().position(|hooked| hooked.keeps(input) == Some(!meant)) {
        None => Ok(()),
        Some(at) => {
            let Input { data, length, ancillary } = input;
            let hook = HOOKS[at];
            Err(format!(
                "{hook:?} says {} of {length} bytes {data:02x?}, {ancillary:?}\n{}",
                !meant,
                filter.graph()
            ))
        }
    }
}

fn ancillaries() -> [Ancillary; 2] {
    let plain = Ancillary {
        packet_type: Some(0),
        interface_index: Some(3),
        protocol: Some(0x0800),
        ..Ancillary::default()
    };
    [plain, Ancillary { packet_type: Some(4), vlan_tci: Some(0x2005), ..plain }]
}

fn expressions() -> impl Iterator<Item = &'static str> {
    let lines = include_str!("../expressions.txt").lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with("# "))
}

/// Link types that interfaces have.
const IN_KERNEL: [LinkType; 4] =
    [LinkType::ETHERNET, LinkType::RAW, LinkType::LINUX_SLL2, LinkType::IEEE802_11_RADIOTAP];

#[test]
fn every_expression_loads_and_means_the_same() {
    if !need::root() {
        return;
    }
    for link_type in link_types() {
        let packets = common::packets(link_type);
        // Those of savefiles alone share the expressions among them.
        let (first, step) = if IN_KERNEL.contains(&link_type) { (0, 1) } else { (link_type.0, 12) };
        let chosen = expressions().enumerate().skip(usize::from(first % 12)).step_by(step);
        for (number, expression) in chosen {
            let Ok(filter) = for_tap(expression, link_type) else { continue };
            let Some(hooked) = at_hooks(&filter) else { continue };
            // Each expression with other packets, each cut somewhere else.
            for (at, packet) in packets.iter().enumerate().skip(number % 7).step_by(7) {
                let room = (packet.len() + 1).saturating_sub(SHORTEST);
                let Some(cut) = (number + 5 * at).checked_rem(room) else { continue };
                let ancillary = ancillaries()[number % 2];
                for data in [&packet[..], &packet[..SHORTEST + cut]] {
                    let input = Input { data, length: packet.len() as u32, ancillary };
                    check(&filter, &hooked, &input)
                        .unwrap_or_else(|e| panic!("[{link_type}] {expression}: {e}"));
                }
            }
        }
    }
}

/// So many cases, or as many as `PROPTEST_CASES` says.
fn config(cases: u32) -> ProptestConfig {
    let from_environment =
        ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => from_environment,
        None => ProptestConfig { cases, ..from_environment },
    }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn random_expressions_mean_the_same(
        link_type in prop_oneof![
            Just(LinkType::ETHERNET),
            prop::sample::select(link_types().collect::<Vec<_>>()),
        ],
        expression in generate::expression(),
        chosen in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index, bool)>(), 20),
    ) {
        if !need::root() {
            return Ok(());
        }
        let Ok(filter) = for_tap(&expression, link_type) else { return Ok(()) };
        let Some(hooked) = at_hooks(&filter) else { return Ok(()) };
        let packets = common::packets(link_type);
        for (packet, cut, tagged) in chosen {
            let packet = &packets[packet.index(packets.len())];
            let length = packet.len() as u32;
            let ancillary = ancillaries()[usize::from(tagged)];
            let cut = cut.index((packet.len() + 1).saturating_sub(SHORTEST).max(1));
            for data in [packet.get(..), packet.get(..SHORTEST + cut)].into_iter().flatten() {
                if data.len() >= SHORTEST {
                    let input = Input { data, length, ancillary };
                    let same = check(&filter, &hooked, &input);
                    prop_assert!(same.is_ok(), "[{}] {}: {:?}", link_type, expression, same);
                }
            }
        }
    }
}

/// Alternatives of one kind, all from a few neighbouring numbers.
fn alternatives() -> impl Strategy<Value = String> {
    let kinds: [fn(u16) -> String; 5] = [
        |n| format!("port {n}"),
        |n| format!("tcp src port {n}"),
        |n| format!("host 10.0.{}.{}", n >> 4, n & 0xf),
        |n| format!("net 10.0.{}.0/24", n & 0xf),
        |n| format!("ether[{}] = {}", 58 + 4 * (n % 4), n >> 3),
    ];
    let list = prop::collection::vec(0..64_u16, 4..40);
    let around = ["{}", "not ({})", "tcp and ({})", "({}) and not (port 3 or 7 or 9 or 11 or 12)"];
    (prop::sample::select(kinds.to_vec()), list, prop::sample::select(around.to_vec())).prop_map(
        |(kind, list, around)| {
            let list: Vec<_> = list.into_iter().map(kind).collect();
            around.replace("{}", &list.join(" or "))
        },
    )
}

/// An IPv4 packet from and to neighbouring addresses and ports, perhaps with options.
fn neighbour() -> impl Strategy<Value = Vec<u8>> {
    (prop::collection::vec(0..64_u16, 4), 0..3_u8, any::<bool>()).prop_map(|(n, options, tcp)| {
        let mut packet = vec![0; 14];
        packet[12] = 0x08;
        packet.push(0x45 + options);
        packet.extend([0; 8]);
        packet.push(if tcp { 6 } else { 17 });
        packet.extend([0; 2]);
        let address = |n: u16| [10, 0, (n >> 4) as u8, (n & 0xf) as u8];
        packet.extend([address(n[0]), address(n[1])].concat());
        packet.resize(packet.len() + 4 * usize::from(options), 1);
        packet.extend([n[2].to_be_bytes(), n[3].to_be_bytes()].concat());
        packet.resize(packet.len() + 40, n[0] as u8 & 7);
        packet
    })
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn searches_in_sets_find_what_single_tests_find(
        expression in alternatives(),
        packets in prop::collection::vec((neighbour(), any::<prop::sample::Index>()), 20),
        optimise in any::<bool>(),
    ) {
        if !need::root() {
            return Ok(());
        }
        let options = Options::new(LinkType::ETHERNET, &Hermetic);
        let options = Options { target: Target::Tap, optimise, ..options };
        let filter = compile(&expression, &options).expect("a filter");
        let hooked = at_hooks(&filter).expect("no loop");
        for (packet, cut) in packets {
            let cut = SHORTEST + cut.index(packet.len() - SHORTEST);
            for data in [&packet[..], &packet[..cut]] {
                let same = check(&filter, &hooked, &Input::whole(data));
                prop_assert!(same.is_ok(), "{}: {:?}", expression, same);
            }
        }
    }
}

fn hosts(count: u32) -> String {
    let host = |n: u32| format!("host {}", Ipv4Addr::from_bits(0x0a00_0000 + n));
    (0..count).map(host).collect::<Vec<_>>().join(" or ")
}

fn hosts6(count: u32) -> String {
    let host = |n: u32| format!("host 2001:db8::{:x}:{:x}", n >> 8, n & 0xff);
    (0..count).map(host).collect::<Vec<_>>().join(" or ")
}

#[test]
fn hundreds_of_ipv6_hosts_load_too() {
    if !need::root() {
        return;
    }
    let filter = for_tap(&hosts6(700), LinkType::ETHERNET).expect("a filter");
    let hooked = at_hooks(&filter).expect("no loop");
    let mut packet = [0; 60];
    packet[12..14].copy_from_slice(&[0x86, 0xdd]);
    for n in [0, 1, 699, 700] {
        packet[22..38]
            .copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        packet[34..36].copy_from_slice(&(n as u16 >> 8).to_be_bytes());
        packet[36..38].copy_from_slice(&(n as u16 & 0xff).to_be_bytes());
        for data in [&packet[..], &packet[..54], &packet[..53], &packet[..38], &packet[..37]] {
            check(&filter, &hooked, &Input::whole(data)).unwrap_or_else(|e| panic!("{n}: {e}"));
        }
    }
}

/// The first bytes of an IPv4 packet from 10.0.0.0 plus `n`, with a TCP header of no use.
fn packet_from(n: u32) -> Vec<u8> {
    let mut packet = vec![0; 60];
    packet[12] = 0x08;
    packet[14] = 0x45;
    packet[23] = 6;
    packet[26..30].copy_from_slice(&(0x0a00_0000 + n).to_be_bytes());
    packet
}

#[test]
fn large_filters_load_and_find_each_host() {
    if !need::root() {
        return;
    }
    for count in [10, 1000, 5000] {
        let filter = for_tap(&hosts(count), LinkType::ETHERNET).expect("a filter");
        let hooked = at_hooks(&filter).expect("no loop");
        for n in [0, 1, count / 2, count - 1, count] {
            let packet = packet_from(n);
            // The shortest one that is whole, one cut behind the source address, one before.
            for data in [&packet[..], &packet[..34], &packet[..30], &packet[..29]] {
                check(&filter, &hooked, &Input::whole(data)).unwrap_or_else(|e| panic!("{n}: {e}"));
            }
        }
    }
}

/// A frame of several buffers: the first page holds some 3,400 bytes of it.
#[test]
fn frames_of_several_buffers_are_read_to_their_ends() {
    if !need::root() {
        return;
    }
    let mut frame: Vec<u8> = (0..9000_u32).map(|at| (at * 7 % 251) as u8).collect();
    frame[..60].copy_from_slice(&packet_from(7));
    for at in [60, 3300, 3500, 4095, 4096, 5000, 7999, 8996, 8997, 8999, 9000, 32_000, 70_000] {
        let number = |bytes: usize| {
            let number = frame.get(at..at + bytes).unwrap_or(&[0]);
            number.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
        };
        for bytes in [1, 2, 4] {
            for text in [
                format!("ether[{at}:{bytes}] = {}", number(bytes)),
                format!("ether[{at} + ip[0] - 0x45:{bytes}] = {}", number(bytes)),
                format!("src 10.0.0.7 and ip[{at} - 14:{bytes}] != {}", number(bytes)),
                format!("not ether[len - {bytes}:{bytes}] = 7 and greater 9000"),
            ] {
                let filter = for_tap(&text, LinkType::ETHERNET).expect("a filter");
                let hooked = at_hooks(&filter).expect("no loop");
                for data in [&frame[..], &frame[..8999], &frame[..5000]] {
                    let input = Input::whole(data);
                    let meant = filter.evaluate(&input) == Verdict::True;
                    assert_eq!(hooked[0].keeps(&input), Some(meant), "{text} of {}", data.len());
                }
            }
        }
    }
}
