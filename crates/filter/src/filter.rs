//! Compiled filters.

use crate::emit::{cbpf, ebpf, plan, set};
use crate::error::{Error, ErrorKind, Result};
use crate::ir::Ir;
use crate::ir::display::{GraphText, PredicateText};
use crate::ir::evaluate::{Verdict, evaluate};
use crate::ir::graph::Graph;
use crate::ir::lower::lower;
use crate::ir::predicate::PredicateId;
use crate::opt::{fold, hopeless, redundant, resolve, share};
use crate::options::Options;
use crate::plan::Plan;
use crate::sema::links;
use crate::{sema, syntax};
use linerate_bpf::classic::{Input, Program};
use linerate_bpf::extended::Predicate;
use linerate_bpf::extended::set::Rule;
use std::fmt;

/// Compiles an expression of the pcap-filter language; the empty expression matches every packet.
///
/// ```
/// use linerate_filter::{Hermetic, Options, compile};
/// use linerate_base::LinkType;
///
/// let filter = compile("tcp port 80", &Options::new(LinkType::ETHERNET, &Hermetic))?;
/// println!("{}", filter.program());
/// # Ok::<(), linerate_filter::Error>(())
/// ```
///
/// # Errors
/// What is wrong with the expression and where; or that the link type is not supported; or, for the
/// kernel, that the program is too large or loops (see [`ErrorKind`]).
pub fn compile(expression: &str, options: &Options<'_>) -> Result<Filter> {
    compile_parts(expression, options).map_err(|error| error.within(expression))
}

fn compile_parts(expression: &str, options: &Options<'_>) -> Result<Filter> {
    let link = links::find(options.link_type).ok_or_else(|| {
        let message = format!("unknown data link type {}", options.link_type.0);
        Error::new(ErrorKind::Unsupported, message)
    })?;
    if options.snaplen == 0 {
        let message = "a snapshot length of 0 rejects all packets";
        return Err(Error::new(ErrorKind::Meaning, message));
    }
    let ast = syntax::parser::parse(expression)?;
    let (ir, root) = sema::analyse(&ast, link, options)?;
    let (lowered, graph) = decide(&ir, root, options.optimise);
    let program = cbpf::emit(&lowered, &graph, options)?;
    Ok(Filter { ir, root, lowered, graph, program })
}

/// The decision graph of `root`, and the IR that it refers to.
fn decide(ir: &Ir, root: PredicateId, optimise: bool) -> (Ir, Graph) {
    let (ir, root) = resolve::resolve(ir, root);
    if !optimise {
        let graph = lower(&ir, root).pruned();
        return (ir, graph);
    }
    let (ir, root) = fold::fold(&ir, root);
    let graph = redundant::redundant(&ir, &lower(&ir, root));
    let graph = share::share(&hopeless::hopeless(&graph));
    (ir, graph)
}

/// A compiled filter.
#[derive(Clone, Debug)]
pub struct Filter {
    ir: Ir,
    root: PredicateId,
    lowered: Ir,
    graph: Graph,
    program: Program,
}

impl Filter {
    /// The classic BPF program; its verdict is `Options::snaplen` for packets that match, else 0.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The filter as a fragment of an extended program; it keeps the packets that match.
    ///
    /// It says of a packet what a program compiled with the same options does. Compile for
    /// [`Target::Tap`](crate::Target::Tap) to run it where it belongs.
    ///
    /// # Errors
    /// When the filter loops (`protochain`), or holds too many intermediate results at once.
    pub fn predicate(&self) -> Result<Predicate> {
        ebpf::emit(&self.lowered, &self.graph)
    }

    /// The filter as a plan, which engines run over many packets at once; its verdicts are those of
    /// [`program`](Self::program). `None` where it loops (`protochain`), or computes a number in more than
    /// [`Plan::DEPTH`] steps.
    pub fn plan(&self) -> Option<Plan> {
        plan::emit(&self.lowered, &self.graph)
    }

    /// The filter as rules for a [set in the kernel](linerate_bpf::extended::set), of which one holds of each packet that
    /// the [`predicate`](Self::predicate) keeps. `None` where it compares numbers of a packet with each other, looks for
    /// headers, or has too many ways.
    pub fn rules(&self) -> Option<Vec<Rule>> {
        set::emit(&self.plan()?)
    }

    /// What the expression means, as a tree of tests, as text.
    pub fn ir(&self) -> impl fmt::Display {
        PredicateText(&self.ir, self.root)
    }

    /// The decision graph that the program was made from, as text.
    pub fn graph(&self) -> impl fmt::Display {
        GraphText(&self.lowered, &self.graph)
    }

    /// What the filter says of a packet, from the meaning itself and not from the program: slow, and
    /// the oracle that programs are checked against.
    pub fn evaluate(&self, input: &Input<'_>) -> Verdict {
        evaluate(&self.ir, self.root, input)
    }
}
