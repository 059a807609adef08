//! The function: its loop over chunks, and where their packets are.
//!
//! The function takes the region (`rdi`), the first descriptor (`rsi`) and the end of them (`rdx`), whose number is a multiple of
//! sixteen, where a mask of 16 bits for each chunk goes (`rcx`), and how far from the region's beginning packets may end
//! (`r8d`), which is three bytes before its end: so that four bytes can be loaded of which a packet has but the first; at last,
//! whether packets are in a cache that is near (`r9d`). It gives the descriptor before which it ended: the last one's end, or the
//! chunk that has a packet that ends farther, or is cut between two fields of which the second is not always asked for.
//!
//! The steps are there twice: for chunks whose packets all have the bytes that are looked at, but for those behind headers of
//! variable length, and for the others.

use std::mem::offset_of;

use cranelift_assembler_x64::inst;
use linerate_base::Descriptor;

use super::pool::Pool;
use super::registers::{
    CAPTURED, DESCRIPTORS, END, EVEN, LIMIT, LIMIT_GIVEN, MASK, MASKS, Masks, NEAR, ODD, OUT,
    REGION, SAVED, SECONDS, STACK, STARTS, TEMPORARY, TURN, UNUSED, Vectors,
};
use super::steps::Steps;
use super::vectors::{self, ALL, How, Source};
use crate::assembler::{Assembler, Label, at};
use crate::condition::Condition;
use crate::lanes::CHUNK;
use crate::program::{Column, ColumnId, Program};
use crate::quads::{self, Quad};

/// Bytes of a descriptor, and where in it are a packet's offset, the bytes captured, and its length.
pub(super) const DESCRIPTOR: i32 = size_of::<Descriptor>() as i32;
pub(super) const OFFSET: i32 = offset_of!(Descriptor, offset) as i32;
const CAPTURED_AT: i32 = offset_of!(Descriptor, captured) as i32;
pub(super) const LENGTH: i32 = offset_of!(Descriptor, length) as i32;

// Two descriptors are a vector, and offset and bytes captured the second of a descriptor's four parts.
const _: () = assert!(DESCRIPTOR == 32 && OFFSET == 8 && CAPTURED_AT == 12);

/// Bytes of a chunk's descriptors.
const ALL_DESCRIPTORS: i32 = CHUNK as i32 * DESCRIPTOR;

/// Chunks between the one that is looked at and the one that begins to be loaded.
const AHEAD: i32 = 2;

/// Of longer programs most steps have no packets, and it is better to leave them out.
const LONGEST: usize = 64;

/// The code; `None` where this knows none for what the program asks.
pub(super) fn assemble(program: &Program) -> Option<Vec<u8>> {
    if program.steps.is_empty() || program.steps.len() > LONGEST {
        return None;
    }
    let mut function = Function { program, code: Assembler::default(), pool: Pool::default() };
    function.whole()?;
    let Function { mut code, pool, .. } = function;
    pool.write(&mut code);
    Some(code.finish())
}

struct Function<'a> {
    program: &'a Program,
    code: Assembler,
    pool: Pool,
}

impl Function<'_> {
    fn whole(&mut self) -> Option<()> {
        let frame = (4 * self.program.places()).next_multiple_of(16) as i32;
        let [top, next, slow, done] = [(); 4].map(|()| self.code.label());
        self.begin(frame);
        self.code.align(64);
        self.code.bind(top);
        self.code.push(inst::cmpq_rm::new(DESCRIPTORS, END));
        self.code.jump_if(Condition::AboveOrEqual, done);
        self.prefetch();
        self.descriptors(done);
        let quads: Vec<_> = quads(self.program).collect();
        let ends = self.program.columns.iter().filter_map(end_of);
        let known =
            ends.chain(quads.iter().map(|quad| quad.offset + quads::BYTES)).max().unwrap_or(0);
        if known > 0 {
            let bytes = self.pool.number(&mut self.code, known);
            self.code.compare(How::AtLeast, MASK, CAPTURED, bytes, ALL);
            self.code.test_mask(MASK);
            self.code.jump_if(Condition::AboveOrEqual, slow);
        }
        self.steps(known, quads, done)?;
        self.code.bind(next);
        self.code.push(inst::addq_mi_sxl::new(DESCRIPTORS, ALL_DESCRIPTORS));
        self.code.push(inst::addq_mi_sxl::new(OUT, 2));
        self.code.jump(top);
        self.code.bind(slow);
        if known > 0 {
            self.steps(0, Vec::new(), done)?;
            self.code.jump(next);
        }
        self.code.bind(done);
        self.end(frame);
        Some(())
    }

    fn steps(&mut self, known: u32, quads: Vec<Quad>, done: Label) -> Option<()> {
        let masks = Masks::new(self.program.places());
        let vectors = Vectors::default();
        let Self { program, code, pool } = self;
        Steps { program, code, pool, known, masks, vectors, quads, done }.all()
    }

    fn begin(&mut self, frame: i32) {
        SAVED.iter().for_each(|saved| self.code.push(inst::pushq_o::new(*saved)));
        self.code.push(inst::subq_mi_sxl::new(STACK, frame));
        self.code.vector(vectors::BROADCAST_REGISTER, LIMIT, 0, Source::Register(LIMIT_GIVEN));
        // The second of a descriptor's four parts, of two descriptors in each of two vectors.
        let seconds = [1, 5, 9, 13].into_iter().chain([0; 4]).flat_map(|part| [part, 0]);
        let turn = (0..CHUNK as u32).map(|lane| 0x0001_0203 + 0x0404_0404 * (lane % 4));
        let constants: [(u8, Vec<u32>); 4] = [
            (SECONDS, seconds.collect()),
            (EVEN, (0..CHUNK as u32).map(|lane| 2 * lane).collect()),
            (ODD, (0..CHUNK as u32).map(|lane| 2 * lane + 1).collect()),
            (TURN, turn.collect()),
        ];
        for (register, lanes) in constants {
            let lanes = std::array::from_fn(|lane| lanes[lane]);
            let source = self.pool.vector(&mut self.code, lanes);
            self.code.vector(vectors::MOVE, register, 0, source);
        }
    }

    fn end(&mut self, frame: i32) {
        self.code.push(inst::leaq_rm::new(TEMPORARY, at(DESCRIPTORS, 0)));
        self.code.push(inst::addq_mi_sxl::new(STACK, frame));
        SAVED.iter().rev().for_each(|saved| self.code.push(inst::popq_o::new(*saved)));
        self.code.forget_vectors();
        self.code.push(inst::retq_zo::new());
    }

    /// Begins to load the packets of a later chunk; at the end, of the last. Not so where packets are near.
    fn prefetch(&mut self) {
        const CHUNK_AHEAD: u8 = MASKS[0];
        let near = self.code.label();
        self.code.push(inst::testl_mr::new(NEAR, NEAR));
        self.code.jump_if(Condition::NotEqual, near);
        let ahead = at(DESCRIPTORS, AHEAD * ALL_DESCRIPTORS);
        self.code.push(inst::leaq_rm::new(CHUNK_AHEAD, ahead));
        self.code.push(inst::leaq_rm::new(TEMPORARY, at(END, -ALL_DESCRIPTORS)));
        self.code.push(inst::cmpq_rm::new(CHUNK_AHEAD, TEMPORARY));
        self.code.push(inst::cmovaq_rm::new(CHUNK_AHEAD, TEMPORARY));
        for packet in 0..CHUNK as i32 {
            let offset = at(CHUNK_AHEAD, DESCRIPTOR * packet + OFFSET);
            self.code.push(inst::movl_rm::new(TEMPORARY, offset));
            // A prefetch of any address is harmless.
            self.code.prefetch(REGION, TEMPORARY, self.program.reach as i32);
        }
        self.code.bind(near);
    }

    /// Takes offsets and captured bytes; ends at `done` where a packet ends too far.
    fn descriptors(&mut self, done: Label) {
        let [low, high] = [0, 8].map(|first| {
            let registers = [UNUSED + first as u8, UNUSED + first as u8 + 1];
            for (half, register) in registers.into_iter().enumerate() {
                let from = DESCRIPTOR * (first + 4 * half as i32);
                self.code.vector(vectors::MOVE, register, 0, Source::Memory(DESCRIPTORS, from));
                let second = Source::Memory(DESCRIPTORS, from + 2 * DESCRIPTOR);
                self.code.vector(vectors::PERMUTE_64, register, SECONDS, second);
            }
            let [half, other] = registers;
            self.code.vector_with(vectors::INSERT_HALF, half, half, Source::Register(other), 1);
            half
        });
        for (numbers, to) in [(EVEN, STARTS), (ODD, CAPTURED)] {
            self.code.vector(vectors::MOVE, to, 0, Source::Register(low));
            self.code.vector(vectors::PERMUTE, to, numbers, Source::Register(high));
        }
        self.code.vector(vectors::ADD, low, STARTS, Source::Register(CAPTURED));
        self.code.compare(How::AtMost, MASK, low, Source::Register(LIMIT), ALL);
        self.code.test_mask(MASK);
        self.code.jump_if(Condition::AboveOrEqual, done);
    }
}

/// Those that are at constant offsets.
fn quads(program: &Program) -> impl Iterator<Item = Quad> {
    let first = |(id, quad): (ColumnId, &Option<Quad>)| {
        quad.filter(|quad| quad.windows[0] == Some(id) && quad.base.is_none())
    };
    program.quads.iter().enumerate().filter_map(first)
}

/// How many bytes a packet needs for a column at least.
fn end_of(column: &Column) -> Option<u32> {
    match column {
        Column::Present { end, .. } => Some(*end),
        _ => None,
    }
}
