//! Values and tests to instructions.
//!
//! Keeps account of which values the two registers hold, from block to block where all ways into a
//! block agree, so that `src port 1 or src port 2` loads the port once.

use super::{Block, End, chain};
use crate::error::{Error, ErrorKind, Result};
use crate::ir::Ir;
use crate::ir::graph::{Graph, Node, Target};
use crate::ir::predicate::{Comparison, Test};
use crate::ir::value::{Load, Metadata, Value, ValueId, Width};
use crate::syntax::ast::BinaryOperator;
use linerate_bpf::classic::{Instruction, SCRATCH_WORDS, ancillary, opcode as op};

/// Blocks by node.
pub(super) struct Blocks {
    pub(super) blocks: Vec<Block>,
    /// Some block jumps backward.
    pub(super) loops: bool,
}

pub(super) fn select(ir: &Ir, graph: &Graph, keep: bool) -> Result<Blocks> {
    if ir.slot_count() > SCRATCH_WORDS as usize {
        return Err(too_complex());
    }
    let nothing = Block { body: Vec::new(), end: End::Goto(Target::Drop) };
    let mut blocks = Blocks { blocks: vec![nothing; graph.len()], loops: false };
    let mut entries: Vec<Option<Registers>> = vec![None; graph.len()];
    for id in graph.ids() {
        let registers = entries[id.index()].filter(|_| keep).unwrap_or_default();
        let mut selector = Selector { ir, registers, body: Vec::new(), in_use: 0 };
        let node = graph.node(id);
        let end = selector.node(node)?;
        for target in node.targets() {
            if let Target::Node(next) = target {
                let entry = &mut entries[next.index()];
                let agreed =
                    entry.map_or(selector.registers, |other| other.agreed(selector.registers));
                *entry = Some(agreed);
            }
        }
        blocks.loops |= matches!(node, Node::Test { test: Test::Chain(_), .. });
        blocks.blocks[id.index()] = Block { body: selector.body, end };
    }
    Ok(blocks)
}

fn too_complex() -> Error {
    let message = format!("more than {SCRATCH_WORDS} intermediate results at once");
    Error::new(ErrorKind::Limit, message).expected("a simpler expression")
}

/// The values in the registers, where known.
#[derive(Clone, Copy, Default)]
struct Registers {
    a: Option<ValueId>,
    x: Option<ValueId>,
}

impl Registers {
    fn agreed(self, other: Self) -> Self {
        Self { a: self.a.filter(|_| self.a == other.a), x: self.x.filter(|_| self.x == other.x) }
    }
}

struct Selector<'a> {
    ir: &'a Ir,
    registers: Registers,
    body: Vec<Instruction>,
    /// Words of scratch memory in use for intermediate results, taken from the top.
    in_use: usize,
}

impl Selector<'_> {
    fn push(&mut self, code: u16, k: u32) {
        self.body.push(Instruction::new(code, k));
    }

    fn node(&mut self, node: Node) -> Result<End> {
        match node {
            Node::Bind { slot, value, next } => {
                self.load_a(value)?;
                self.push(op::ST, slot.index() as u32);
                Ok(End::Goto(next))
            }
            Node::Test { test: Test::Chain(chain), then, otherwise } => {
                let network = self.ir.get_place(chain.network).constant;
                let scratch = self.take()?;
                self.body.extend(chain::chain(&chain, network, scratch));
                self.registers = Registers::default();
                Ok(End::Branch { code: op::JEQ_K, k: chain.protocol, then, otherwise })
            }
            Node::Test { test: Test::Compare(how, left, right), then, otherwise } => {
                let (with_constant, with_x) = match how {
                    Comparison::Equal => (op::JEQ_K, op::JEQ_X),
                    Comparison::Greater => (op::JGT_K, op::JGT_X),
                    Comparison::GreaterEqual => (op::JGE_K, op::JGE_X),
                    Comparison::Intersects => (op::JSET_K, op::JSET_X),
                };
                if let Some(k) = self.ir.as_constant(right) {
                    self.load_a(left)?;
                    return Ok(End::Branch { code: with_constant, k, then, otherwise });
                }
                self.load_both(left, right)?;
                Ok(End::Branch { code: with_x, k: 0, then, otherwise })
            }
        }
    }

    /// The value into A.
    fn load_a(&mut self, id: ValueId) -> Result<()> {
        if self.registers.a == Some(id) {
            return Ok(());
        }
        match self.ir.get_value(id) {
            _ if self.registers.x == Some(id) => self.push(op::TXA, 0),
            Value::Constant(constant) => self.push(op::LD_IMM, constant),
            Value::Length => self.push(op::LD_LEN, 0),
            Value::Slot(slot) => self.push(op::LD_MEM, slot.index() as u32),
            Value::Metadata(metadata) => self.metadata(metadata),
            Value::Load(load) => self.load(load)?,
            Value::Negate(operand) => {
                self.load_a(operand)?;
                self.push(op::NEG, 0);
            }
            Value::Binary(operator, left, right) => self.binary(operator, left, right)?,
        }
        self.registers.a = Some(id);
        Ok(())
    }

    /// The widths are those of libpcap; the kernel gives the same for all.
    fn metadata(&mut self, metadata: Metadata) {
        match metadata {
            Metadata::PacketType => self.push(op::LDH_ABS, ancillary::PACKET_TYPE),
            Metadata::InterfaceIndex => self.push(op::LDW_ABS, ancillary::INTERFACE_INDEX),
            Metadata::Protocol => self.push(op::LDH_ABS, ancillary::PROTOCOL),
            Metadata::VlanPresent => self.push(op::LDB_ABS, ancillary::VLAN_PRESENT),
            Metadata::VlanTag => self.push(op::LDB_ABS, ancillary::VLAN_TCI),
        }
    }

    fn load(&mut self, load: Load) -> Result<()> {
        let (absolute, indexed) = match load.width {
            Width::Byte => (op::LDB_ABS, op::LDB_IND),
            Width::Half => (op::LDH_ABS, op::LDH_IND),
            Width::Word => (op::LDW_ABS, op::LDW_IND),
        };
        match load.index {
            Some(index) => {
                self.load_x(index)?;
                self.push(indexed, load.offset);
            }
            None if is_in_packet(load.offset) => self.push(absolute, load.offset),
            // Far past any packet. As an absolute offset it would ask for metadata.
            None => {
                self.push(op::LDX_IMM, load.offset);
                self.registers.x = None;
                self.push(indexed, 0);
            }
        }
        Ok(())
    }

    /// The value into X; A may change.
    fn load_x(&mut self, id: ValueId) -> Result<()> {
        if self.registers.x == Some(id) {
            return Ok(());
        }
        match self.direct_x(id) {
            Some((code, k)) => self.push(code, k),
            None => {
                self.load_a(id)?;
                self.push(op::TAX, 0);
            }
        }
        self.registers.x = Some(id);
        Ok(())
    }

    /// The instruction that puts the value into X without A, if there is one.
    fn direct_x(&self, id: ValueId) -> Option<(u16, u32)> {
        match self.ir.get_value(id) {
            Value::Constant(constant) => Some((op::LDX_IMM, constant)),
            Value::Slot(slot) => Some((op::LDX_MEM, slot.index() as u32)),
            _ => {
                let byte = self.ir.as_ipv4_header_length(id)?;
                let fixed = byte.index.is_none() && is_in_packet(byte.offset);
                fixed.then_some((op::LDX_MSH, byte.offset))
            }
        }
    }

    fn binary(&mut self, operator: BinaryOperator, left: ValueId, right: ValueId) -> Result<()> {
        let (with_constant, with_x) = codes(operator);
        if let Some(k) = self.ir.as_constant(right) {
            match operator {
                BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight if k >= u32::BITS => {
                    self.load_a(left)?;
                    self.push(op::AND_K, 0);
                    return Ok(());
                }
                // No instruction divides by a constant zero; dividing by X rejects, as it should.
                BinaryOperator::Divide | BinaryOperator::Modulo if k == 0 => {}
                _ => {
                    self.load_a(left)?;
                    self.push(with_constant, k);
                    return Ok(());
                }
            }
        }
        let swappable = commutes(operator) && self.direct_x(right).is_none();
        match swappable && self.direct_x(left).is_some() {
            true => self.load_both(right, left)?,
            false => self.load_both(left, right)?,
        }
        self.push(with_x, 0);
        Ok(())
    }

    /// `a` into A and `x` into X.
    fn load_both(&mut self, a: ValueId, x: ValueId) -> Result<()> {
        if self.direct_x(x).is_some() {
            self.load_a(a)?;
            return self.load_x(x);
        }
        // The heavier first, so that fewer results wait at once.
        if self.weight(x) >= self.weight(a) {
            self.load_a(x)?;
            let word = self.take()?;
            self.push(op::ST, word);
            self.load_a(a)?;
            self.push(op::LDX_MEM, word);
        } else {
            self.load_a(a)?;
            let word = self.take()?;
            self.push(op::ST, word);
            self.load_a(x)?;
            self.push(op::TAX, 0);
            self.push(op::LD_MEM, word);
        }
        self.in_use -= 1;
        self.registers = Registers { a: Some(a), x: Some(x) };
        Ok(())
    }

    fn take(&mut self) -> Result<u32> {
        self.in_use += 1;
        let free = SCRATCH_WORDS as usize - self.ir.slot_count();
        if self.in_use > free {
            return Err(too_complex());
        }
        Ok(SCRATCH_WORDS - self.in_use as u32)
    }

    /// How many intermediate results the value takes (R. Sethi, J. D. Ullman, "The generation of
    /// optimal code for arithmetic expressions", Journal of the ACM 17, 1970).
    fn weight(&self, id: ValueId) -> u32 {
        match self.ir.get_value(id) {
            Value::Load(load) => load.index.map_or(0, |index| self.weight(index)),
            Value::Negate(operand) => self.weight(operand),
            Value::Binary(_, left, right) if self.direct_x(right).is_some() => self.weight(left),
            Value::Binary(_, left, right) => {
                let (left, right) = (self.weight(left), self.weight(right));
                if left == right { left + 1 } else { left.max(right) }
            }
            Value::Constant(_) | Value::Length | Value::Slot(_) | Value::Metadata(_) => 0,
        }
    }
}

/// Not where absolute offsets ask for metadata, nor where the kernel counts from other headers.
fn is_in_packet(offset: u32) -> bool {
    offset <= i32::MAX as u32
}

fn commutes(operator: BinaryOperator) -> bool {
    use BinaryOperator::{Add, And, Multiply, Or, Xor};
    matches!(operator, Add | And | Multiply | Or | Xor)
}

fn codes(operator: BinaryOperator) -> (u16, u16) {
    match operator {
        BinaryOperator::Add => (op::ADD_K, op::ADD_X),
        BinaryOperator::Subtract => (op::SUB_K, op::SUB_X),
        BinaryOperator::Multiply => (op::MUL_K, op::MUL_X),
        BinaryOperator::Divide => (op::DIV_K, op::DIV_X),
        BinaryOperator::Modulo => (op::MOD_K, op::MOD_X),
        BinaryOperator::And => (op::AND_K, op::AND_X),
        BinaryOperator::Or => (op::OR_K, op::OR_X),
        BinaryOperator::Xor => (op::XOR_K, op::XOR_X),
        BinaryOperator::ShiftLeft => (op::LSH_K, op::LSH_X),
        BinaryOperator::ShiftRight => (op::RSH_K, op::RSH_X),
    }
}
