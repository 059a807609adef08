//! Runs of tests for equality as sets, pairs of comparisons as ranges.
//!
//! `host a or host b or ...` tests two addresses for one constant after the other, and all that hold lead to
//! the same place. Once both addresses have been loaded, no order matters: each is looked for in a set.
//! Before, the order stays, as the second address may be missing in a packet that the first lets through.

use crate::plan::{Check, Node, Target, ValueId};

/// `value & mask`
type Field = (ValueId, u32);

/// The same nodes, some of them doing the work of several, which nothing leads to any more.
pub(super) fn merge(mut nodes: Vec<Node>, entry: Target) -> Vec<Node> {
    let entrances = entrances(&nodes, entry);
    for id in (0..nodes.len()).rev() {
        if let Some(merged) = range(&nodes, &entrances, id) {
            nodes[id] = merged;
        }
    }
    let mut done = vec![false; nodes.len()];
    for id in 0..nodes.len() {
        if !done[id] {
            let run = run(&nodes, &entrances, id);
            run.iter().for_each(|link| done[link.id] = true);
            if run.len() > 1 {
                rewrite(&mut nodes, &run);
            }
        }
    }
    nodes
}

fn entrances(nodes: &[Node], entry: Target) -> Vec<u32> {
    let mut entrances = vec![0; nodes.len()];
    for target in nodes.iter().flat_map(Node::targets).chain([entry]) {
        if let Target::Node(id) = target {
            entrances[id] += 1;
        }
    }
    entrances
}

/// A node and the one behind it, which nothing else leads to, as one test of a range.
fn range(nodes: &[Node], entrances: &[u32], id: usize) -> Option<Node> {
    let (field, (low, high), [then, otherwise]) = bounds(&nodes[id])?;
    let follower = |target| match target {
        Target::Node(next) if entrances[next] == 1 => {
            bounds(&nodes[next]).filter(|(other, ..)| *other == field)
        }
        _ => None,
    };
    // Inside this range another decides: what is inside both, or inside this one only, is a range again.
    let (_, (from, to), [inside, outside]) = follower(then)?;
    let ((low, high), [then, otherwise]) = if outside == otherwise {
        ((low.max(from), high.min(to)), [inside, otherwise])
    } else if inside == otherwise && from > low && to >= high {
        ((low, high.min(from - 1)), [outside, otherwise])
    } else {
        return None;
    };
    let (value, mask) = field;
    (low <= high).then_some(Node::Test {
        value,
        mask,
        check: Check::Within(low, high),
        then,
        otherwise,
    })
}

fn bounds(node: &Node) -> Option<(Field, (u32, u32), [Target; 2])> {
    match node {
        Node::Test { value, mask, check: Check::Within(low, high), then, otherwise } => {
            Some(((*value, *mask), (*low, *high), [*then, *otherwise]))
        }
        _ => None,
    }
}

/// A test for equality.
#[derive(Clone, Copy)]
struct Link {
    id: usize,
    field: Field,
    constant: u32,
    then: Target,
    otherwise: Target,
}

fn link(nodes: &[Node], id: usize) -> Option<Link> {
    match &nodes[id] {
        Node::Test { value, mask, check: Check::Equal(constant), then, otherwise } => Some(Link {
            id,
            field: (*value, *mask),
            constant: *constant,
            then: *then,
            otherwise: *otherwise,
        }),
        _ => None,
    }
}

/// The most fields of a run, to bound the time that it takes to tell them apart.
const FIELDS: usize = 8;

/// The tests for equality that follow each other from `id` on, and when they hold lead to one place.
fn run(nodes: &[Node], entrances: &[u32], id: usize) -> Vec<Link> {
    let mut run: Vec<_> = link(nodes, id).into_iter().collect();
    let mut fields: Vec<Field> = Vec::new();
    while let Some(last) = run.last() {
        if !fields.contains(&last.field) {
            fields.push(last.field);
        }
        let Target::Node(next) = last.otherwise else { break };
        let Some(link) = link(nodes, next) else { break };
        let is_joined = link.then == last.then && entrances[next] == 1;
        if !is_joined || (fields.len() == FIELDS && !fields.contains(&link.field)) {
            break;
        }
        run.push(link);
    }
    run
}

fn rewrite(nodes: &mut [Node], run: &[Link]) {
    let sets = sets(run);
    let (first, last) = (run[0], run[run.len() - 1]);
    for (at, (field, constants)) in sets.iter().enumerate() {
        let is_last = at + 1 == sets.len();
        nodes[run[at].id] = Node::Test {
            value: field.0,
            mask: field.1,
            check: check(constants),
            then: first.then,
            otherwise: if is_last { last.otherwise } else { Target::Node(run[at + 1].id) },
        };
    }
}

/// The run as sets to be looked in one after the other.
fn sets(run: &[Link]) -> Vec<(Field, Vec<u32>)> {
    let mut sets: Vec<(Field, Vec<u32>)> = Vec::new();
    let settled = last_newcomer(run);
    let mut free = 0;
    for (at, link) in run.iter().enumerate() {
        if at == settled {
            free = sets.len();
        }
        // Before all fields are loaded, only neighbours may be joined.
        let from = if at < settled { sets.len().saturating_sub(1) } else { free };
        match sets[from..].iter_mut().find(|(field, _)| *field == link.field) {
            Some((_, constants)) => constants.push(link.constant),
            None => sets.push((link.field, vec![link.constant])),
        }
    }
    sets
}

/// Where the run looks at a field for the first time, for the last time.
fn last_newcomer(run: &[Link]) -> usize {
    let mut fields: Vec<Field> = Vec::new();
    let mut newcomer = 0;
    for (at, link) in run.iter().enumerate() {
        if !fields.contains(&link.field) {
            fields.push(link.field);
            newcomer = at;
        }
    }
    newcomer
}

fn check(constants: &[u32]) -> Check {
    let mut constants = constants.to_vec();
    constants.sort_unstable();
    constants.dedup();
    match constants[..] {
        [constant] => Check::Equal(constant),
        _ => Check::Among(constants.into()),
    }
}
