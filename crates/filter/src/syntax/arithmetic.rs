//! The operands of relations, by operator precedence.
//!
//! The precedences are those of libpcap's grammar: `|` lowest, then `&`, shifts, sums, products and
//! unary minus. `^` and `%` have none there, and a shift-reduce parser without a precedence shifts:
//! they bind what is on their right first, and everything on their left waits for them.

use super::Span;
use super::ast::{Arithmetic, ArithmeticId, BinaryOperator};
use super::parser::{Parser, is_comparison};
use super::token::{Keyword, Sign, Token};
use crate::error::Result;

/// How many operations may be stacked on each other; a chain of sums counts one for each.
pub(crate) const MAX_HEIGHT: u32 = 500;

/// Waiting for its right operand.
#[derive(Clone, Copy)]
enum Pending {
    Negate(Span),
    Binary(BinaryOperator, ArithmeticId),
}

/// True when a number before `token` is arithmetic, not an operand.
pub(super) fn continues(token: Token<'_>) -> bool {
    operator(token).is_some() || is_comparison(token)
}

/// A number that turned out to be arithmetic.
pub(super) fn number(parser: &mut Parser<'_>, number: u32, span: Span) -> ArithmeticId {
    parser.ast.push_arithmetic(Arithmetic::Number(number), span)
}

/// One whole arithmetic expression.
pub(super) fn expression(parser: &mut Parser<'_>) -> Result<ArithmeticId> {
    let mut pending = Vec::new();
    let first = minuses_and_atom(parser, &mut pending)?;
    climb(parser, pending, first)
}

/// The rest of an expression whose first operand is `first`.
pub(super) fn continue_from(parser: &mut Parser<'_>, first: ArithmeticId) -> Result<ArithmeticId> {
    climb(parser, Vec::new(), first)
}

fn minuses_and_atom(parser: &mut Parser<'_>, pending: &mut Vec<Pending>) -> Result<ArithmeticId> {
    while let Token::Sign(Sign::Minus) = parser.token {
        pending.push(Pending::Negate(parser.advance()?));
    }
    atom(parser)
}

/// Shifts operators and operands, and reduces where the waiting operator binds tighter.
fn climb(
    parser: &mut Parser<'_>,
    mut pending: Vec<Pending>,
    mut right: ArithmeticId,
) -> Result<ArithmeticId> {
    while let Some(next) = operator(parser.token) {
        while let Some(top) = pending.pop_if(|top| reduces_before(*top, next)) {
            right = reduce(parser, top, right)?;
        }
        parser.advance()?;
        pending.push(Pending::Binary(next, right));
        right = minuses_and_atom(parser, &mut pending)?;
    }
    while let Some(top) = pending.pop() {
        right = reduce(parser, top, right)?;
    }
    Ok(right)
}

fn reduce(parser: &mut Parser<'_>, top: Pending, right: ArithmeticId) -> Result<ArithmeticId> {
    let end = parser.ast.arithmetic_span(right);
    let (node, start) = match top {
        Pending::Negate(span) => (Arithmetic::Negate(right), span),
        Pending::Binary(operator, left) => {
            (Arithmetic::Binary(operator, left, right), parser.ast.arithmetic_span(left))
        }
    };
    let reduced = parser.ast.push_arithmetic(node, start.to(end));
    if parser.ast.height(reduced) > MAX_HEIGHT {
        Err(parser.too_deep(MAX_HEIGHT))
    } else {
        Ok(reduced)
    }
}

fn reduces_before(top: Pending, next: BinaryOperator) -> bool {
    let waiting = match top {
        Pending::Negate(_) => Some(u8::MAX),
        Pending::Binary(operator, _) => precedence(operator),
    };
    waiting.zip(precedence(next)).is_some_and(|(waiting, next)| waiting >= next)
}

fn precedence(operator: BinaryOperator) -> Option<u8> {
    match operator {
        BinaryOperator::Or => Some(1),
        BinaryOperator::And => Some(2),
        BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight => Some(3),
        BinaryOperator::Add | BinaryOperator::Subtract => Some(4),
        BinaryOperator::Multiply | BinaryOperator::Divide => Some(5),
        BinaryOperator::Xor | BinaryOperator::Modulo => None,
    }
}

fn operator(token: Token<'_>) -> Option<BinaryOperator> {
    let Token::Sign(sign) = token else {
        return None;
    };
    match sign {
        Sign::Plus => Some(BinaryOperator::Add),
        Sign::Minus => Some(BinaryOperator::Subtract),
        Sign::Star => Some(BinaryOperator::Multiply),
        Sign::Slash => Some(BinaryOperator::Divide),
        Sign::Percent => Some(BinaryOperator::Modulo),
        Sign::Ampersand => Some(BinaryOperator::And),
        Sign::Bar => Some(BinaryOperator::Or),
        Sign::Caret => Some(BinaryOperator::Xor),
        Sign::ShiftLeft => Some(BinaryOperator::ShiftLeft),
        Sign::ShiftRight => Some(BinaryOperator::ShiftRight),
        _ => None,
    }
}

fn atom(parser: &mut Parser<'_>) -> Result<ArithmeticId> {
    match parser.token {
        Token::Number(value) => {
            let span = parser.advance()?;
            Ok(number(parser, value, span))
        }
        Token::Keyword(Keyword::Len) => {
            let span = parser.advance()?;
            Ok(parser.ast.push_arithmetic(Arithmetic::Length, span))
        }
        Token::Keyword(Keyword::Protocol(_)) => load(parser),
        Token::Sign(Sign::Open) => {
            parser.advance()?;
            let inner = parser.nested(expression)?;
            parser.expect(Sign::Close, "`)`")?;
            Ok(inner)
        }
        _ => Err(parser.unexpected("a number, `len` or bytes of a protocol such as `ip[0]`")),
    }
}

/// `proto[index]` or `proto[index:size]`
fn load(parser: &mut Parser<'_>) -> Result<ArithmeticId> {
    let Token::Keyword(Keyword::Protocol(protocol)) = parser.token else {
        return Err(parser.unexpected("a protocol"));
    };
    let start = parser.advance()?;
    parser.expect(Sign::OpenBracket, "`[`")?;
    let index = parser.nested(expression)?;
    let size = match parser.accept(Sign::Colon)? {
        true => parser.number("a size: 1, 2 or 4")?.0,
        false => 1,
    };
    let end = parser.expect(Sign::CloseBracket, "`]`")?;
    let load = Arithmetic::Load { protocol, index, size };
    Ok(parser.ast.push_arithmetic(load, start.to(end)))
}
