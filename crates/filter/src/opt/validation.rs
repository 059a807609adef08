//! Each pass by itself, and all together, leave verdicts as they are: random expressions over random packets, cut anywhere.
//!
//! The graph before and after is made into a program, which the reference interpreter runs. What comes behind the passes in
//! engines is held to the reference evaluator by the tests of `exec`, and in fragments by `tests/hooks`.

#[path = "../../tests/common/mod.rs"]
mod common;
#[path = "../../tests/random/generate.rs"]
#[expect(dead_code, reason = "words in any order are for the parser's tests")]
mod generate;

use super::{fold::fold, hopeless::hopeless, redundant::redundant, resolve::resolve, share::share};
use crate::emit::cbpf;
use crate::ir::Ir;
use crate::ir::evaluate::{Verdict, evaluate};
use crate::ir::graph::Graph;
use crate::ir::lower::lower;
use crate::ir::predicate::PredicateId;
use crate::sema::links;
use crate::{Hermetic, Options, link_types, sema, syntax};
use linerate_base::LinkType;
use linerate_bpf::classic::Input;
use proptest::prelude::*;
use std::net::Ipv4Addr;

/// Makes a graph of a predicate whose places are resolved.
type Pass = fn(&Ir, PredicateId) -> (Ir, Graph);

const PASSES: [(&str, Pass); 6] = [
    ("resolve", |ir, root| (ir.clone(), lower(ir, root).pruned())),
    ("fold", |ir, root| {
        let (ir, root) = fold(ir, root);
        let graph = lower(&ir, root).pruned();
        (ir, graph)
    }),
    ("redundant", |ir, root| (ir.clone(), redundant(ir, &lower(ir, root)))),
    ("hopeless", |ir, root| (ir.clone(), hopeless(&lower(ir, root)))),
    ("share", |ir, root| (ir.clone(), share(&lower(ir, root)))),
    ("all", |ir, root| {
        let (ir, root) = fold(ir, root);
        let graph = redundant(&ir, &lower(&ir, root));
        (ir, share(&hopeless(&graph)))
    }),
];

/// A packet and how much of it was captured.
type Cut = (Vec<u8>, usize);

fn packet(link_type: LinkType) -> impl Strategy<Value = Cut> {
    let changed = prop::option::of((any::<prop::sample::Index>(), any::<u8>()));
    let packets = prop::sample::select(common::packets(link_type));
    (packets, changed, any::<prop::sample::Index>()).prop_map(|(mut packet, changed, cut)| {
        if let Some((at, byte)) = changed {
            let at = at.index(packet.len());
            packet[at] = byte;
        }
        let cut = cut.index(packet.len() + 1);
        (packet, cut)
    })
}

fn case() -> impl Strategy<Value = (LinkType, String, Vec<Cut>)> {
    let link_type = prop::sample::select(link_types().collect::<Vec<_>>());
    (link_type, generate::expression()).prop_flat_map(|(link, text)| {
        (Just(link), Just(text), prop::collection::vec(packet(link), 20))
    })
}

fn analysed(text: &str, options: &Options<'_>) -> crate::Result<(Ir, PredicateId)> {
    let link = links::find(options.link_type).expect("a supported link type");
    sema::analyse(&syntax::parser::parse(text)?, link, options)
}

proptest! {
    #[test]
    fn no_pass_changes_a_verdict((link_type, text, packets) in case()) {
        let netmask = Some(Ipv4Addr::new(255, 255, 255, 0));
        let options = Options { netmask, ..Options::new(link_type, &Hermetic) };
        let Ok((ir, root)) = analysed(&text, &options) else { return Ok(()) };
        let (resolved, resolved_root) = resolve(&ir, root);
        for (name, pass) in PASSES {
            let (after, graph) = pass(&resolved, resolved_root);
            // Some take more intermediate results than a program can have.
            let Ok(program) = cbpf::emit(&after, &graph, &options) else { continue };
            for (packet, cut) in &packets {
                let data = &packet[..*cut];
                let input = Input { data, length: packet.len() as u32, ..Input::default() };
                let meant = evaluate(&ir, root, &input) == Verdict::True;
                prop_assert_eq!(program.run(&input) != 0, meant, "[{}] {}: {} cut at {}", link_type, name, text, cut);
            }
        }
    }
}
