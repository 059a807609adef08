//! Filters as the code of an x86-64 processor.
//!
//! - `single`: from a plan to a function of a packet
//! - `sweep`: the function of many packets

mod single;
mod sweep;

use linerate_filter::plan::Plan;

use super::Assembled;
use super::straight::Straight;
use crate::assembler::Assembler;

/// The code; `None` where this knows none for what the plan asks.
pub(super) fn assemble(plan: &Plan, straight: Option<&Straight>, reach: u32) -> Option<Assembled> {
    let mut code = Assembler::default();
    let single = code.label();
    code.bind(single);
    single::assemble(plan, &mut code)?;
    code.align(64);
    let sweep = code.place();
    sweep::assemble(straight, reach, single, &mut code);
    Some(Assembled { code: code.finish(), sweep })
}
