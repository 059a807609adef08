//! The pcap-filter language, compiled.
//!
//! [`compile`] takes an expression such as `tcp port 80 or icmp` and gives a [`Filter`]: a classic BPF
//! program for a socket or for the interpreter. The language is the whole of pcap-filter(7), with the
//! meaning that libpcap 1.10.3 gives it when it does not optimise, to the byte: a packet that is too
//! short for a test is rejected as a whole, even under `not`. Where libpcap refuses an expression,
//! so do we; what we cannot do is an error that names it, never a wrong answer.
//!
//! - `syntax`: text to tokens to a syntax tree
//! - `sema`: the tree's meaning on a link type, names looked up through a [`Resolver`]
//! - `ir`: the intermediate representation, its reference evaluator, the decision graph
//! - `opt`: passes
//! - `emit`: programs, and [`plan`]s for engines in user space
//! - [`rules`]: plans taken apart, for engines that run many filters at once
//!
//! Deliberate differences from libpcap 1.10.3: `vxlan` is a keyword (as in its successor); `byte N & V`
//! and `byte N | V`, which test a leftover there, are refused; `protochain` steps over an
//! authentication header by its length, where libpcap can loop for ever; arithmetic may be more
//! complex; tunnels that did not match leave positions at 0, where libpcap reads whatever is in memory.
//!
//! On link types that savefiles have: behind headers whose length the packet says (802.11, radios'
//! headers, PF's log) tunnels and arithmetic work, where libpcap overwrites the lengths that it has found;
//! numbers of ATM and SS7 can be unequal (`vpi != 5`) and `$5` is ARCnet's address 5, neither of which
//! works before libpcap 1.11; metadata is metadata wherever the link-layer header begins; switches' tags
//! (`DSA_TAG_DSA`, `DSA_TAG_EDSA`, `DSA_TAG_BRCM`) are stepped over, as libpcap 1.11 does; link types that
//! are newer than libpcap are accepted as those are of which it knows nothing.
//!
//! This crate touches no kernel and no network: a [`Resolver`] may, if it is made to. It never panics
//! on any expression, and works in time nearly linear in its length.

#[cfg(test)]
mod cases;
mod emit;
mod error;
mod filter;
mod hint;
mod ir;
mod opt;
mod options;
pub mod plan;
pub mod rules;
mod sema;
mod syntax;

pub use error::{Error, ErrorKind, Result};
pub use filter::{Filter, compile};
pub use ir::evaluate::Verdict;
pub use options::{Options, Target};
pub use sema::links::link_types;
pub use sema::resolver::{Hermetic, Resolver, Transport};
pub use syntax::Span;
pub use syntax::comments::without_comments;
