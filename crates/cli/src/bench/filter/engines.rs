//! Who runs filters.

use anyhow::Result;
use linerate::base::{Batch, LinkType, Matches, Select};
use linerate::bpf::classic::Input;
use linerate::exec::{Engine, Level};
use linerate::filter::Filter;
use linerate::sys::libpcap::{CompileFor, Libpcap, Program};

use super::filters::Case;

/// What all are compared with.
pub(in crate::bench) const PEER: &str = "libpcap's interpreter";

/// Blocks of packets; with the level's name behind it.
pub(in crate::bench) const VECTOR: &str = "vector";

const REFERENCE: &str = "reference";
const SCALAR: &str = "scalar";
/// Machine code made for the filter, one packet after the other.
pub(in crate::bench) const NATIVE: &str = "native";

/// What the runners are called.
pub(in crate::bench) fn names() -> impl Iterator<Item = String> {
    [PEER, REFERENCE, SCALAR, NATIVE].map(String::from).into_iter().chain(vectors().map(vector))
}

/// The levels at which blocks of packets are taken.
fn vectors() -> impl Iterator<Item = Level> {
    Level::all().filter(|level| *level != Level::NATIVE)
}

fn vector(level: Level) -> String {
    format!("{VECTOR}, {level}")
}

/// One engine with a filter.
pub(super) struct Runner<'a> {
    pub(super) name: String,
    /// How many packets of a batch it keeps; `None` when libpcap is not installed.
    pub(super) keeps: Option<Keeps<'a>>,
}

type Keeps<'a> = Box<dyn FnMut(&Batch<'_>) -> usize + 'a>;

/// Every engine there is, and the peer.
pub(super) fn all<'a>(
    filter: &'a Filter,
    case: &Case,
    libpcap: Option<Libpcap>,
) -> Result<Vec<Runner<'a>>> {
    let peer = match libpcap {
        Some(libpcap) if !case.is_long() => Some(theirs(libpcap, &case.text)?),
        // Compiled by us, for libpcap's optimiser takes minutes over it.
        Some(libpcap) => Some(ours_for(libpcap, filter)?),
        None => None,
    };
    let mut runners = vec![
        Runner {
            name: PEER.into(),
            keeps: peer.map(|program| {
                Box::new(move |batch: &Batch<'_>| {
                    batch.iter().filter(|p| program.verdict(p.data, p.length) != 0).count()
                }) as Keeps<'a>
            }),
        },
        selecting(REFERENCE.into(), filter.program().clone()),
        scalar(Engine::at_level(filter, Level::PORTABLE)),
        selecting(NATIVE.into(), Engine::at_level(filter, Level::NATIVE)),
    ];
    let levels = vectors().map(|level| (level, Engine::at_level(filter, level)));
    runners.extend(levels.map(|(level, engine)| selecting(vector(level), engine)));
    Ok(runners)
}

fn selecting<'a>(name: String, selects: impl Select + 'a) -> Runner<'a> {
    let mut matches = Matches::new();
    let keeps = move |batch: &Batch<'_>| {
        selects.select(batch, None, &mut matches);
        matches.count()
    };
    Runner { name, keeps: Some(Box::new(keeps)) }
}

/// One packet after the other.
fn scalar<'a>(engine: Engine) -> Runner<'a> {
    let keeps = move |batch: &Batch<'_>| {
        batch.iter().filter(|packet| engine.keeps(&Input::of(packet, None))).count()
    };
    Runner { name: SCALAR.into(), keeps: Some(Box::new(keeps)) }
}

/// libpcap as programs use it: with its optimiser.
pub(in crate::bench) fn theirs(libpcap: Libpcap, text: &str) -> Result<Program> {
    let target = CompileFor {
        link_type: LinkType::ETHERNET.0,
        snaplen: 262_144,
        optimise: true,
        netmask: None,
    };
    Ok(libpcap.compile(text, &target)?)
}

/// A filter that we have compiled, in libpcap's interpreter.
pub(in crate::bench) fn ours_for(libpcap: Libpcap, filter: &Filter) -> Result<Program> {
    let instructions = filter.program().instructions().iter();
    let raw = instructions.map(|i| linerate::sys::socket_filter::SockFilter {
        code: i.code,
        jt: i.jt,
        jf: i.jf,
        k: i.k,
    });
    Ok(libpcap.program(raw.collect())?)
}
