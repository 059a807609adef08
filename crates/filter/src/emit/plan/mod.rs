//! Plans for engines in user space.
//!
//! - [`values`]: the values that nodes need, and no others
//! - [`runs`]: runs of tests for equality as sets, pairs of comparisons as ranges

mod runs;
mod values;

use crate::ir::Ir;
use crate::ir::graph::{self, Graph};
use crate::ir::predicate::{Comparison, Test};
use crate::ir::value::{Value, ValueId};
use crate::plan::{Check, Node, Plan, Target};
use crate::syntax::ast::BinaryOperator;
use values::Values;

/// The plan of a graph whose loads are all relative to the packet; `None` where it loops (`protochain`), or
/// a value is made in more than [`Plan::DEPTH`] steps.
pub(crate) fn emit(ir: &Ir, graph: &Graph) -> Option<Plan> {
    let mut values = Values::new(ir);
    let mut nodes = Vec::with_capacity(graph.len());
    for id in graph.ids() {
        nodes.push(node(ir, graph, graph.node(id), &mut values)?);
    }
    let nodes = runs::merge(nodes, target(graph, graph.entry));
    let (nodes, entry) = compacted(nodes, target(graph, graph.entry));
    Some(Plan { values: values.finish(), nodes, entry, slots: ir.slot_count() })
}

/// The graph counts down, a plan counts up.
fn target(graph: &Graph, target: graph::Target) -> Target {
    match target {
        graph::Target::Accept => Target::Accept,
        graph::Target::Drop => Target::Drop,
        graph::Target::Node(id) => Target::Node(graph.len() - 1 - id.index()),
    }
}

fn node(ir: &Ir, graph: &Graph, node: graph::Node, values: &mut Values<'_>) -> Option<Node> {
    Some(match node {
        graph::Node::Bind { slot, value, next } => Node::Bind {
            slot: slot.index(),
            value: values.number(value)?,
            next: target(graph, next),
        },
        graph::Node::Test { test: Test::Chain(_), .. } => return None,
        graph::Node::Test { test: Test::Compare(how, left, right), then, otherwise } => {
            let (then, otherwise) = (target(graph, then), target(graph, otherwise));
            match ir.as_constant(right) {
                Some(constant) => {
                    let (field, mask) = masked(ir, left);
                    let value = values.number(field)?;
                    let (mask, check, holds) = check(how, mask, constant);
                    let (then, otherwise) =
                        if holds { (then, otherwise) } else { (otherwise, then) };
                    Node::Test { value, mask, check, then, otherwise }
                }
                None => {
                    let (left, right) = (values.number(left)?, values.number(right)?);
                    Node::Compare { how, left, right, then, otherwise }
                }
            }
        }
    })
}

/// `field & mask`, as which `value` can be seen.
fn masked(ir: &Ir, value: ValueId) -> (ValueId, u32) {
    if let Value::Binary(BinaryOperator::And, field, mask) = ir.get_value(value)
        && let Some(mask) = ir.as_constant(mask)
    {
        return (field, mask);
    }
    (value, u32::MAX)
}

/// `(field & mask) how constant` as a mask and a check, and whether it holds where the check does, or where
/// it does not.
fn check(how: Comparison, mask: u32, constant: u32) -> (u32, Check, bool) {
    match how {
        Comparison::Equal => (mask, Check::Equal(constant), true),
        Comparison::Intersects => (mask & constant, Check::Equal(0), false),
        Comparison::GreaterEqual => (mask, Check::Within(constant, u32::MAX), true),
        Comparison::Greater => match constant.checked_add(1) {
            Some(least) => (mask, Check::Within(least, u32::MAX), true),
            // Nothing is greater; but a load may still reject.
            None => (mask, Check::Within(0, u32::MAX), false),
        },
    }
}

/// Without the nodes that nothing leads to any more.
fn compacted(nodes: Vec<Node>, mut entry: Target) -> (Vec<Node>, Target) {
    let mut reached = vec![false; nodes.len()];
    let mark = |reached: &mut [bool], target| {
        if let Target::Node(id) = target {
            reached[id] = true;
        }
    };
    mark(&mut reached, entry);
    for (id, node) in nodes.iter().enumerate() {
        if reached[id] {
            node.targets().for_each(|target| mark(&mut reached, target));
        }
    }
    let mut moved = vec![0; nodes.len()];
    for id in 1..nodes.len() {
        moved[id] = moved[id - 1] + usize::from(reached[id - 1]);
    }
    let mut kept: Vec<_> =
        nodes.into_iter().zip(&reached).filter(|(_, r)| **r).map(|(node, _)| node).collect();
    let redirect = |target: &mut Target| {
        if let Target::Node(id) = target {
            *id = moved[*id];
        }
    };
    kept.iter_mut().for_each(|node| node.targets_mut().for_each(redirect));
    redirect(&mut entry);
    (kept, entry)
}

#[cfg(test)]
mod tests {
    use crate::plan::{Check, Node, Plan};
    use crate::{Hermetic, Options, compile};
    use linerate_base::LinkType;

    fn plan(text: &str) -> Plan {
        compile(text, &Options::new(LinkType::ETHERNET, &Hermetic)).unwrap().plan().unwrap()
    }

    /// The checks in order.
    fn checks(text: &str) -> Vec<Check> {
        let nodes = plan(text).nodes;
        let checks = nodes.into_iter().filter_map(|node| match node {
            Node::Test { check, .. } => Some(check),
            _ => None,
        });
        checks.collect()
    }

    #[test]
    fn many_tests_of_one_field_are_a_set() {
        let found = checks("ether proto 1600 or ether proto 1601 or ether proto 1599");
        assert_eq!(found, [Check::Among([1599, 1600, 1601].into())]);
    }

    #[test]
    fn a_set_does_not_ask_for_a_field_before_another_would_have_matched() {
        let text = "(tcp[0] = 1) or (tcp[9] = 1) or (tcp[0] = 2) or (tcp[9] = 2)";
        let found = checks(text);
        let tail = &found[found.len() - 3..];
        assert_eq!(tail, [Check::Equal(1), Check::Among([1, 2].into()), Check::Equal(2)]);
    }

    #[test]
    fn two_comparisons_are_a_range() {
        assert_eq!(checks("ether[5] >= 3 and ether[5] <= 9"), [Check::Within(3, 9)]);
        assert_eq!(checks("ether[5] < 3 or ether[5] > 9"), [Check::Within(3, 9)]);
    }

    #[test]
    fn every_edge_leads_forward() {
        let text = "vlan and (host 10.1.2.3 or 10.1.2.4 or net 10.2.0.0/16) and portrange 5-9";
        let plan = plan(text);
        for (id, node) in plan.nodes().iter().enumerate() {
            for target in node.targets() {
                assert!(!matches!(target, super::Target::Node(next) if next <= id));
            }
        }
    }

    #[test]
    fn a_loop_has_no_plan() {
        let filter = compile("ip protochain 6", &Options::new(LinkType::ETHERNET, &Hermetic));
        assert!(filter.unwrap().plan().is_none());
    }
}
