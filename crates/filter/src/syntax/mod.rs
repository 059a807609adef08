//! From text to a syntax tree.
//!
//! - [`token`]: the words of the language
//! - [`comments`]: what a file may have beside the expression
//! - [`lexer`]: text to tokens, by longest match, as libpcap 1.10's `scanner.l` has it
//! - [`ast`]: the tree, in an arena, every node with its [`Span`]
//! - [`parser`]: tokens to tree, the language of libpcap 1.10's `grammar.y`
//! - [`primitive`]: terms that begin with a keyword of their own
//! - [`arithmetic`]: the operands of relations, by operator precedence
//!
//! Nothing here knows a link type or looks a name up. What the grammar refuses is refused here; what
//! a phrase means, and whether it means anything, is for [`crate::sema`]. Never panics, and never
//! recurses deeper than [`parser::MAX_NESTING`], whatever the input.

pub(crate) mod arithmetic;
pub(crate) mod ast;
pub(crate) mod comments;
pub(crate) mod lexer;
pub(crate) mod parser;
mod primitive;
pub(crate) mod token;

/// A piece of the expression's text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Where it begins.
    pub start: usize,
    /// Where it ends: the byte after its last.
    pub end: usize,
}

impl Span {
    /// From the beginning of this span to the end of `other`.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end.max(self.start) }
    }
}
