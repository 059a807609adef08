//! Filters as the code of a 64-bit ARM processor. It needs nothing that the first of them did not have.
//!
//! - `single`: from a plan to a function of a packet
//! - `sweep`: the function of many packets
//! - `assembler`: instructions

mod assembler;
mod single;
mod sweep;

use linerate_filter::plan::{BinaryOperator, Plan};

use super::Assembled;
use super::straight::Straight;
use assembler::{Assembler, Of3, WithNumber, lsl, lsr, of3};

/// The code; `None` where this knows none for what the plan asks.
pub(super) fn assemble(plan: &Plan, straight: Option<&Straight>, reach: u32) -> Option<Assembled> {
    let mut code = Assembler::default();
    let single = code.label();
    code.bind(single);
    single::assemble(plan, &mut code)?;
    let sweep = code.place();
    sweep::assemble(straight, reach, single, &mut code);
    Some(Assembled { code: code.finish()?, sweep })
}

/// What does an operation on two registers; of a remainder, what gives the quotient.
fn instruction(operator: BinaryOperator) -> Of3 {
    match operator {
        BinaryOperator::Add => Of3::Add,
        BinaryOperator::Subtract => Of3::Sub,
        BinaryOperator::Multiply => Of3::Mul,
        BinaryOperator::Divide | BinaryOperator::Modulo => Of3::Udiv,
        BinaryOperator::And => Of3::And,
        BinaryOperator::Or => Of3::Orr,
        BinaryOperator::Xor => Of3::Eor,
        BinaryOperator::ShiftLeft => Of3::Lsl,
        BinaryOperator::ShiftRight => Of3::Lsr,
    }
}

/// `to = left operator constant`, by way of `scratch` if need be; shifts are by less than 32, and nothing is divided.
fn with_constant(
    code: &mut Assembler,
    operator: BinaryOperator,
    to: u8,
    left: u8,
    constant: u32,
    scratch: u8,
) {
    match operator {
        BinaryOperator::Add => {
            code.with_number(WithNumber::Add, false, to, left, constant, scratch);
        }
        BinaryOperator::Subtract => {
            code.with_number(WithNumber::Sub, false, to, left, constant, scratch);
        }
        BinaryOperator::And => code.mask(to, left, constant, scratch),
        BinaryOperator::ShiftLeft => code.push(lsl(to, left, constant)),
        BinaryOperator::ShiftRight => code.push(lsr(to, left, constant)),
        _ => {
            code.constant(scratch, constant);
            code.push(of3(instruction(operator), false, [to, left, scratch]));
        }
    }
}
