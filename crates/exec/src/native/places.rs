//! Which register holds which number, and which numbers have to be in memory meanwhile.

use super::straight::{Number, Op, Straight};

/// What is done with registers.
#[derive(Debug)]
pub(super) enum Placed {
    /// An operation on registers, and where its number goes, if it gives any.
    Op(Op<u8>, u8),
    /// To a register from a cell.
    Fetch(u8, usize),
    /// To a cell from a register.
    Put(usize, u8),
}

/// Straight code on registers.
#[derive(Debug)]
pub(super) struct Routine {
    pub(super) steps: Vec<Placed>,
    /// Where the result is.
    pub(super) result: u8,
    /// How many cells there are, of four bytes each.
    pub(super) cells: usize,
}

/// An operation has so many operands at most.
const OPERANDS: usize = 3;

#[derive(Clone, Copy)]
enum Spot {
    Register(u8),
    Cell(usize),
}

/// Gives numbers their registers. Where there are too few, the last of them are kept free for what is in memory.
pub(super) fn place(straight: &Straight, registers: &[u8]) -> Routine {
    let ends = ends(straight);
    let (mut spots, mut cells) = spots(straight, &ends, registers);
    let (fewer, free) = registers.split_at(registers.len() - OPERANDS);
    if cells > 0 {
        (spots, cells) = self::spots(straight, &ends, fewer);
    }
    let mut steps = Vec::new();
    for (number, op) in straight.ops.iter().enumerate() {
        let mut others = free.iter();
        let placed = op.map(|operand| fetched(spots[operand], &mut others, &mut steps));
        match spots[number] {
            Spot::Register(register) => steps.push(Placed::Op(placed, register)),
            Spot::Cell(cell) => {
                steps.push(Placed::Op(placed, free[0]));
                steps.push(Placed::Put(cell, free[0]));
            }
        }
    }
    let result = fetched(spots[straight.result], &mut free.iter(), &mut steps);
    Routine { steps, result, cells }
}

fn fetched<'a>(spot: Spot, free: &mut impl Iterator<Item = &'a u8>, steps: &mut Vec<Placed>) -> u8 {
    match spot {
        Spot::Register(register) => register,
        Spot::Cell(cell) => {
            let register = *free.next().expect("a register for each operand");
            steps.push(Placed::Fetch(register, cell));
            register
        }
    }
}

/// For each number, the operation that needs it last.
fn ends(straight: &Straight) -> Vec<Number> {
    let mut ends: Vec<_> = (0..straight.ops.len()).collect();
    for (number, op) in straight.ops.iter().enumerate() {
        op.operands().into_iter().for_each(|operand| ends[operand] = number);
    }
    ends[straight.result] = straight.ops.len();
    ends
}

/// Where each number is while it is needed (M. Poletto and V. Sarkar, "Linear Scan Register Allocation", TOPLAS 1999), and
/// how many are in cells.
fn spots(straight: &Straight, ends: &[Number], registers: &[u8]) -> (Vec<Spot>, usize) {
    let mut spots: Vec<Spot> = Vec::with_capacity(straight.ops.len());
    let mut free: Vec<_> = registers.iter().rev().copied().collect();
    let mut held: Vec<(Number, u8)> = Vec::new();
    let mut cells = 0;
    for (number, end) in ends.iter().enumerate() {
        // What is needed here for the last time makes room for what comes of it.
        held.retain(|(holder, register)| {
            let is_needed = ends[*holder] > number;
            if !is_needed {
                free.push(*register);
            }
            is_needed
        });
        let register = free.pop().or_else(|| {
            let last = held.iter_mut().max_by_key(|(holder, _)| ends[*holder])?;
            if ends[last.0] <= *end {
                return None;
            }
            spots[last.0] = Spot::Cell(cells);
            cells += 1;
            last.0 = number;
            Some(last.1)
        });
        match register {
            Some(register) => {
                if !held.iter().any(|(holder, _)| *holder == number) {
                    held.push((number, register));
                }
                spots.push(Spot::Register(register));
            }
            None => {
                spots.push(Spot::Cell(cells));
                cells += 1;
            }
        }
    }
    (spots, cells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::straight::Argument;
    use linerate_filter::plan::BinaryOperator;

    /// The sum of so many numbers that are all made before any is added.
    fn sum(count: usize) -> Straight {
        let mut ops: Vec<_> = (0..count as u32).map(Op::Constant).collect();
        for added in 1..count {
            let before = if added == 1 { 0 } else { ops.len() - 1 };
            ops.push(Op::Apply(BinaryOperator::Add, before, Argument::Number(added)));
        }
        Straight { result: ops.len() - 1, ops, tables: Vec::new(), known: 0 }
    }

    /// What the routine computes, with registers and cells that hold nothing before.
    fn run(routine: &Routine) -> u32 {
        let (mut registers, mut cells) = ([None; 8], vec![None; routine.cells]);
        for step in &routine.steps {
            match step {
                Placed::Op(Op::Constant(constant), to) => {
                    registers[usize::from(*to)] = Some(*constant);
                }
                Placed::Op(Op::Apply(_, left, Argument::Number(right)), to) => {
                    let [left, right] =
                        [left, right].map(|at| registers[usize::from(*at)].unwrap());
                    registers[usize::from(*to)] = Some(left + right);
                }
                Placed::Op(op, _) => panic!("{op:?}"),
                Placed::Fetch(to, cell) => registers[usize::from(*to)] = cells[*cell],
                Placed::Put(cell, from) => cells[*cell] = registers[usize::from(*from)],
            }
        }
        registers[usize::from(routine.result)].expect("a result")
    }

    #[test]
    fn what_registers_do_not_hold_is_in_cells() {
        for count in 1..40 {
            let routine = place(&sum(count), &[0, 1, 2, 3, 4, 5, 6, 7]);
            assert_eq!(run(&routine), (0..count as u32).sum(), "{count} numbers");
            assert_eq!(routine.cells > 0, count > 8, "{count} numbers");
        }
    }
}
