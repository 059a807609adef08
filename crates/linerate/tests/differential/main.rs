//! Our filters against libpcap's and the kernel's: the same expressions, the same packets, every
//! truncation, the same verdicts.
//!
//! The truth is libpcap's unoptimised program. Against it stand the meaning of our intermediate
//! representation and all the programs that we emit; against our program for the kernel stands
//! the kernel. `PROPTEST_CASES` sets the number of expressions.

mod compared;
mod corpus;
mod expression;
mod packet;
mod peers;
mod pool;
mod socket;

use std::cell::Cell;

use compared::{Compared, Disagreement};
use linerate::base::LinkType;
use peers::Peers;
use proptest::prelude::*;
use proptest::sample::select;

/// More than one link type in two is Ethernet, on which most of the language has a meaning.
/// Link types that live captures have. Those of savefiles alone the tests of `filter` compare.
const LIVE: [LinkType; 8] = [
    LinkType::LINUX_SLL,
    LinkType::LINUX_SLL2,
    LinkType::RAW,
    LinkType::IPV4,
    LinkType::IPV6,
    LinkType::NULL,
    LinkType::LOOP,
    LinkType::PPP,
];

/// Ethernet as often as all others.
fn any_link_type() -> impl Strategy<Value = LinkType> {
    prop_oneof![Just(LinkType::ETHERNET), select(LIVE.to_vec())]
}

fn config(cases: u32) -> ProptestConfig {
    let default = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => default,
        None => ProptestConfig { cases, ..default },
    }
}

/// Compiles random expressions everywhere and hands them to `check`, each with seeds of packets.
fn compare(
    cases: u32,
    expressions: impl Strategy<Value = String>,
    check: impl Fn(&Compared, LinkType, &[u64]) -> Result<(), Disagreement>,
) {
    let Some(peers) = Peers::new() else { return };
    let (all, comparable) = (Cell::new(0), Cell::new(0));
    let seeds = proptest::collection::vec(any::<u64>(), 12);
    let strategy = (any_link_type(), expressions, seeds);
    proptest!(config(cases), |((link_type, expression, seeds) in strategy)| {
        let compared = Compared::new(&peers, &expression, link_type).map_err(fail)?;
        all.update(|n| n + 1);
        comparable.update(|n| n + u32::from(compared.is_comparable()));
        check(&compared, link_type, &seeds).map_err(fail)?;
    });
    let (all, comparable) = (all.get(), comparable.get());
    assert!(comparable > all / 2, "only {comparable} of {all} expressions could be compared");
}

#[expect(clippy::needless_pass_by_value, reason = "a function for map_err")]
fn fail(disagreement: Disagreement) -> TestCaseError {
    TestCaseError::fail(disagreement.to_string())
}

/// Compares on a packet cut at every length, or at every `step`th, the whole one first.
fn check_cut(compared: &Compared, packet: &[u8], step: usize) -> Result<(), Disagreement> {
    let length = packet.len() as u32;
    (0..=packet.len())
        .rev()
        .step_by(step)
        .try_for_each(|end| compared.check(&packet[..end], length))
}

#[test]
fn made_packets_at_every_truncation() {
    compare(20_000, expression::expressions(), |compared, link_type, seeds| {
        seeds.iter().try_for_each(|seed| check_cut(compared, &packet::packet(link_type, *seed), 1))
    });
}

#[test]
fn real_packets_at_every_truncation() {
    compare(10_000, expression::expressions(), |compared, link_type, seeds| {
        let corpus = corpus::packets(link_type);
        let chosen = seeds.iter().filter_map(|seed| seed.checked_rem(corpus.len() as u64));
        chosen.map(|at| &corpus[at as usize]).try_for_each(|packet| check_cut(compared, packet, 1))
    });
}

#[test]
fn large_filters() {
    compare(100, expression::large_expressions(), |compared, link_type, seeds| {
        seeds.iter().try_for_each(|seed| check_cut(compared, &packet::packet(link_type, *seed), 7))
    });
}

#[test]
fn the_kernel_says_what_our_interpreter_says() {
    compare(3000, expression::expressions(), |compared, link_type, seeds| {
        let packets: Vec<_> = seeds.iter().map(|seed| packet::packet(link_type, *seed)).collect();
        let halves: Vec<_> =
            packets.iter().map(|whole| whole[..whole.len() / 2].to_vec()).collect();
        compared.check_kernel(&packets)?;
        compared.check_kernel(&halves)
    });
}
