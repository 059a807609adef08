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

use compared::{Compared, Disagreement};
use linerate::base::LinkType;
use peers::Peers;
use proptest::prelude::*;
use proptest::sample::select;

/// More than one link type in two is Ethernet, on which most of the language has a meaning.
const LINK_TYPES: &[LinkType] = &[
    LinkType::ETHERNET,
    LinkType::ETHERNET,
    LinkType::ETHERNET,
    LinkType::ETHERNET,
    LinkType::ETHERNET,
    LinkType::ETHERNET,
    LinkType::ETHERNET,
    LinkType::ETHERNET,
    LinkType::ETHERNET,
    LinkType::LINUX_SLL,
    LinkType::LINUX_SLL2,
    LinkType::RAW,
    LinkType::IPV4,
    LinkType::IPV6,
    LinkType::NULL,
    LinkType::LOOP,
    LinkType::PPP,
];

fn config(cases: u32) -> ProptestConfig {
    let default = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => default,
        None => ProptestConfig { cases, ..default },
    }
}

fn cases() -> impl Strategy<Value = (LinkType, String, Vec<u64>)> {
    let seeds = proptest::collection::vec(any::<u64>(), 12);
    (select(LINK_TYPES), expression::expressions(), seeds)
}

#[expect(clippy::needless_pass_by_value, reason = "a function for map_err")]
fn fail(disagreement: Disagreement) -> TestCaseError {
    TestCaseError::fail(disagreement.to_string())
}

#[test]
fn made_packets_at_every_truncation() {
    let Some(peers) = Peers::new() else { return };
    proptest!(config(20_000), |((link_type, expression, seeds) in cases())| {
        let compared = Compared::new(&peers, &expression, link_type).map_err(fail)?;
        for seed in seeds {
            let packet = packet::packet(link_type, seed);
            for end in 0..=packet.len() {
                compared.check(&packet[..end], packet.len() as u32).map_err(fail)?;
            }
        }
    });
}

#[test]
fn real_packets_at_every_truncation() {
    let Some(peers) = Peers::new() else { return };
    proptest!(config(10_000), |((link_type, expression, seeds) in cases())| {
        let corpus = corpus::packets(link_type);
        let compared = Compared::new(&peers, &expression, link_type).map_err(fail)?;
        for seed in seeds {
            let Some(at) = seed.checked_rem(corpus.len() as u64) else { return Ok(()) };
            let packet = &corpus[at as usize];
            for end in 0..=packet.len() {
                compared.check(&packet[..end], packet.len() as u32).map_err(fail)?;
            }
        }
    });
}

#[test]
fn the_kernel_says_what_our_interpreter_says() {
    let Some(peers) = Peers::new() else { return };
    proptest!(config(3000), |((link_type, expression, seeds) in cases())| {
        let compared = Compared::new(&peers, &expression, link_type).map_err(fail)?;
        let packets: Vec<_> = seeds.iter().map(|seed| packet::packet(link_type, *seed)).collect();
        let cut: Vec<_> = packets.iter().map(|packet| packet[..packet.len() / 2].to_vec()).collect();
        compared.check_kernel(&packets).map_err(fail)?;
        compared.check_kernel(&cut).map_err(fail)?;
    });
}
