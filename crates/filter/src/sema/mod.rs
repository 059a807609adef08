//! From the syntax tree to the intermediate representation: what the words mean.
//!
//! - [`resolver`]: names to numbers
//! - [`layout`]: where the headers are at this point of the expression
//! - [`links`]: the link types, and where their headers lie
//! - [`linktype`]: "the link layer carries protocol N", for each link layer
//! - [`llc`], [`wlan`], [`arcnet`], [`atm`], [`wan`], [`pf`], [`ss7`]: families of link layers, and the
//!   primitives that are theirs
//! - [`radio`]: headers whose length the packet says
//! - [`operand`]: qualifiers and operand to one of the following
//! - [`host`], [`port`], [`protocol`], [`mac`], [`link`]: the primitives
//! - [`encapsulation`], [`tunnel`]: the primitives that move the headers
//! - [`extension`]: IPv6's extension headers, for those who ask for them
//! - [`relation`]: comparisons of arithmetic expressions
//! - [`numbers`]: protocol numbers
//!
//! The meaning is that of the program that libpcap 1.10.3 makes unoptimised: which bytes are looked
//! at, in which order. What libpcap refuses is refused.

mod arcnet;
mod atm;
mod encapsulation;
mod extension;
mod host;
pub(crate) mod layout;
mod link;
pub(crate) mod links;
mod linktype;
mod llc;
mod mac;
pub(crate) mod numbers;
mod operand;
mod pf;
mod port;
mod protocol;
mod radio;
mod relation;
pub(crate) mod resolver;
mod ss7;
mod tunnel;
mod wan;
mod wlan;

use crate::error::Result;
use crate::ir::Ir;
use crate::ir::predicate::PredicateId;
use crate::options::Options;
use crate::syntax::ast::{Ast, Connective, Node, NodeId, Qualifiers};
use crate::syntax::parser::unqualified;
use layout::Layout;
use links::Entry;

/// The meaning of a whole expression.
pub(crate) fn analyse(
    ast: &Ast<'_>,
    link: Entry,
    options: &Options<'_>,
) -> Result<(Ir, PredicateId)> {
    let layout = Layout::new(link, options.target);
    let mut compiler =
        Compiler { ast, options, layout, ir: Ir::default(), known: extension::Known::default() };
    let Some(root) = ast.root else {
        let all = compiler.ir.truth(true);
        return Ok((compiler.ir, all));
    };
    let lengths = compiler.begin();
    let (mut root, _) = compiler.node(root, None)?;
    if let Some(lengths) = lengths {
        root = compiler.behind_lengths(lengths, root);
    }
    Ok((compiler.ir, root))
}

/// The state of the analysis.
pub(crate) struct Compiler<'a> {
    ast: &'a Ast<'a>,
    options: &'a Options<'a>,
    layout: Layout,
    ir: Ir,
    known: extension::Known,
}

/// A predicate, and the qualifiers that an operand after it inherits.
type Analysed = (PredicateId, Option<Qualifiers>);

impl Compiler<'_> {
    /// `inherited` is what an operand takes that has no qualifiers of its own: those of whatever
    /// stands on its left. A complete term passes none on, a group in parentheses those before it.
    fn node(&mut self, id: NodeId, inherited: Option<Qualifiers>) -> Result<Analysed> {
        let ast = self.ast;
        match ast.node(id) {
            Node::Chain { first, rest } => self.chain(*first, rest, inherited),
            Node::Not(operand) => {
                let outside = self.layout;
                let (predicate, qualifiers) = self.node(*operand, inherited)?;
                self.leave(outside);
                Ok((self.ir.not(predicate), qualifiers))
            }
            Node::Group(inner) => Ok((self.node(*inner, inherited)?.0, inherited)),
            Node::Qualified(qualifiers, operand) => self.node(*operand, Some(*qualifiers)),
            Node::Operand(operand, span) => {
                let qualifiers = inherited.ok_or_else(|| unqualified(*span))?;
                Ok((self.operand(*operand, qualifiers, *span)?, inherited))
            }
            Node::Protocol(protocol, span) => Ok((self.protocol(*protocol, *span)?, None)),
            Node::Relation { relation, left, right } => {
                Ok((self.relation(*relation, *left, *right)?, None))
            }
            Node::Primitive(primitive, span) => Ok((self.primitive(*primitive, *span)?, None)),
        }
    }

    fn chain(
        &mut self,
        first: NodeId,
        rest: &[(Connective, NodeId)],
        inherited: Option<Qualifiers>,
    ) -> Result<Analysed> {
        let outside = self.layout;
        let (mut left, mut qualifiers) = self.node(first, inherited)?;
        for (connective, next) in rest {
            let is_or = *connective == Connective::Or;
            if is_or {
                self.leave(outside);
            }
            let (right, passed_on) = self.node(*next, qualifiers)?;
            if is_or {
                self.leave(outside);
            }
            left = match connective {
                Connective::And => self.ir.and(left, right),
                Connective::Or => self.ir.or(left, right),
            };
            qualifiers = passed_on;
        }
        Ok((left, qualifiers))
    }

    /// Back to the headers that were in force, where that is asked for: what `vlan` and its like moved
    /// stays moved only for what is joined by `and`.
    fn leave(&mut self, outside: Layout) {
        if self.options.scoped {
            self.layout = outside;
        }
    }
}
