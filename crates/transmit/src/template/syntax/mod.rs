//! The expression's text as a tree.
//!
//! ```text
//! expression = layer { "/" layer }
//! layer      = call | text
//! call       = name "(" [ argument { "," argument } ] ")"
//! argument   = [ name "=" ] value
//! value      = number [ "-" number ] | text | "None" | "[" values "]" | "(" values ")" | call
//! text       = quoted [ "*" number ]
//! ```
//! Quotes are of either kind, with Python's escapes; text times a number is so often repeated. As a layer it is the load
//! of `Raw`. A pair of numbers in parentheses is a range where numbers
//! are taken, as Scapy has it.

mod lexer;
mod parser;

use std::ops::Range;

pub(super) use parser::{in_order, parse};

/// Bytes of the expression.
pub(super) type Place = Range<usize>;

/// A layer with its arguments, or a walk with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: String,
    /// Of the name.
    pub(super) place: Place,
    pub(super) arguments: Vec<Argument>,
}

/// `name=value`, or a bare value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    pub(super) name: Option<(String, Place)>,
    pub(super) value: Value,
}

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) kind: ValueKind,
    pub(super) place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Number(u128),
    /// From the first to the last.
    Range(u128, u128),
    Text(Vec<u8>),
    None,
    /// In brackets.
    List(Vec<Value>),
    /// In parentheses.
    Tuple(Vec<Value>),
    Call(Call),
}
