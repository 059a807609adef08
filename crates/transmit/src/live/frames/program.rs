//! The program that pulls a frame out of the ring and sends it.

use linerate_bpf::extended::Register::{R0, R1, R2, R3, R4, R5, R6, R7, R8, R9};
use linerate_bpf::extended::{Alu, Assembler, Instruction, Label, Size, Test, helper};
use linerate_sys::frame_ring::{Geometry, layout};

use super::super::code::{piece, redirect, write};
use super::super::program::{DATA, DATA_END, XDP_DROP};
use super::Alike;
use crate::link::HEADER;

/// What the program is made for.
#[derive(Debug)]
pub(super) struct Setup<'a> {
    pub(super) geometry: &'a Geometry,
    /// What frames have in common, where only the rest is in the ring.
    pub(super) alike: Option<&'a Alike>,
    /// Descriptor of the ring's map.
    pub(super) ring: i32,
    /// Descriptor of the map whose first element is the interface to send from.
    pub(super) wire: i32,
}

/// It expects frames as long as a slot has room, and cuts them off; or frames as long as those that are alike.
///
/// Registers throughout: R6 context, R7 ring, R8 the frame's length, R9 its slot.
pub(super) fn assemble(setup: &Setup<'_>) -> Vec<Instruction> {
    let mut p = Assembler::new();
    let [empty, refuse, drop] = [p.label(), p.label(), p.label()];
    p.push(Instruction::mov(R6, R1));
    p.extend(Instruction::load_map_value(R7, setup.ring, 0));
    find_slot(&mut p, setup.geometry, empty);
    fetch_ahead(&mut p, setup.geometry);
    match setup.alike {
        None => pull_whole(&mut p, setup.geometry, refuse),
        Some(alike) => pull_alike(&mut p, alike, refuse),
    }
    redirect(&mut p, setup.wire);
    p.place(refuse);
    give_back(&mut p);
    count(&mut p, layout::REFUSED);
    p.jump(drop);
    p.place(empty);
    count(&mut p, layout::EMPTY);
    p.place(drop);
    p.extend([Instruction::mov(R0, XDP_DROP), Instruction::exit()]);
    p.finish().expect("every label is placed")
}

/// Takes a frame that is whole.
fn pull_whole(p: &mut Assembler, geometry: &Geometry, refuse: Label) {
    let (whole, room) = (p.label(), geometry.room() as i32);
    p.push(Instruction::load(Size::Word, R8, R9, layout::LENGTH as i16));
    // The process keeps to these limits; this is for the verifier.
    p.jump_if(Test::Less, R8, HEADER as i32, refuse);
    p.jump_if(Test::Greater, R8, room, refuse);
    copy(p, geometry, refuse);
    give_back(p);
    p.push(Instruction::mov(R2, R8));
    p.push(Instruction::alu(Alu::Sub, R2, room));
    p.jump_if(Test::Equal, R2, 0, whole);
    p.push(Instruction::mov(R1, R6));
    p.push(Instruction::call(helper::XDP_ADJUST_TAIL));
    p.place(whole);
}

/// Takes what varies of a frame, and writes the rest, too: on a virtual wire whoever got the page before may have changed it.
/// Destroys R0 to R4.
fn pull_alike(p: &mut Assembler, alike: &Alike, refuse: Label) {
    let frame = alike.frame();
    begin_frame(p, frame.len() as i32, refuse);
    write(p, R2, frame);
    for group in alike.pieces().chunks(4) {
        let registers = || [R0, R1, R3, R4].into_iter().zip(group);
        for (register, part) in registers() {
            let from = layout::FRAME + part.packed;
            p.push(Instruction::load(piece(part.length).0, register, R9, from as i16));
        }
        for (register, part) in registers() {
            p.push(Instruction::store(piece(part.length).0, R2, part.at as i16, register));
        }
    }
    give_back(p);
}

/// R2 = where the frame begins, which has at least so many bytes. Destroys R1 and R3.
fn begin_frame(p: &mut Assembler, length: i32, refuse: Label) {
    p.push(Instruction::load(Size::Word, R2, R6, DATA));
    p.push(Instruction::load(Size::Word, R3, R6, DATA_END));
    p.push(Instruction::mov(R1, R2));
    p.push(Instruction::alu(Alu::Add, R1, length));
    p.jump_if(Test::Greater, R1, R3, refuse);
}

/// R9 = the slot of the next frame. The producer's cache line is looked at only when all known frames are taken.
fn find_slot(p: &mut Assembler, geometry: &Geometry, empty: Label) {
    let some = p.label();
    p.push(Instruction::load(Size::Double, R8, R7, layout::TAIL as i16));
    p.push(Instruction::load(Size::Double, R1, R7, layout::KNOWN as i16));
    p.jump_if(Test::NotEqual, R8, R1, some);
    p.push(Instruction::load(Size::Double, R2, R7, layout::HEAD as i16));
    p.jump_if(Test::Equal, R8, R2, empty);
    see_head(p);
    p.place(some);
    p.push(Instruction::alu(Alu::And, R8, geometry.slots() as i32 - 1));
    p.push(Instruction::alu(Alu::Mul, R8, geometry.stride() as i32));
    p.push(Instruction::mov(R9, R7));
    p.push(Instruction::alu(Alu::Add, R9, R8));
    p.push(Instruction::alu(Alu::Add, R9, layout::SLOTS as i32));
}

/// Frames whose first cache lines are asked for together.
const GROUP: usize = 16;

/// At the first frame of a group, has the first lines of the next group come from the producer's core, all at the same
/// time: one by one, as they are needed, each would be waited for. Frames that are not published yet stay where they are
/// being written. Destroys R0 to R2.
fn fetch_ahead(p: &mut Assembler, geometry: &Geometry) {
    let stride = geometry.stride();
    if geometry.slots() < 4 * GROUP || GROUP * stride > i16::MAX as usize {
        return;
    }
    let none = p.label();
    p.push(Instruction::load(Size::Double, R1, R7, layout::TAIL as i16));
    p.push(Instruction::mov(R2, R1));
    p.push(Instruction::alu(Alu::And, R2, GROUP as i32 - 1));
    p.jump_if(Test::NotEqual, R2, 0, none);
    p.push(Instruction::load(Size::Double, R2, R7, layout::KNOWN as i16));
    p.push(Instruction::alu(Alu::Sub, R2, R1));
    p.jump_if(Test::Less, R2, 2 * GROUP as i32, none);
    p.push(Instruction::alu(Alu::Add, R1, GROUP as i32));
    p.push(Instruction::alu(Alu::And, R1, (geometry.slots() - GROUP) as i32));
    p.push(Instruction::alu(Alu::Mul, R1, stride as i32));
    p.push(Instruction::mov(R2, R7));
    p.push(Instruction::alu(Alu::Add, R2, R1));
    p.push(Instruction::alu(Alu::Add, R2, layout::SLOTS as i32));
    for line in (0..GROUP * stride).step_by(stride.max(layout::LINE)) {
        p.push(Instruction::load(Size::Word, R0, R2, line as i16));
    }
    p.place(none);
}

/// KNOWN = R2, which was R1. The frames are there for who sees the head: of plain loads x86 promises it; elsewhere an
/// atomic operation does.
fn see_head(p: &mut Assembler) {
    if cfg!(target_arch = "x86_64") {
        p.push(Instruction::store(Size::Double, R7, layout::KNOWN as i16, R2));
    } else {
        p.push(Instruction::alu(Alu::Sub, R2, R1));
        p.push(Instruction::atomic_fetch_add(Size::Double, R7, layout::KNOWN as i16, R2));
    }
}

/// The tail grows by one, once the frame has been read: see [`see_head`].
fn give_back(p: &mut Assembler) {
    if cfg!(target_arch = "x86_64") {
        count(p, layout::TAIL);
    } else {
        p.push(Instruction::mov(R1, 1));
        p.push(Instruction::atomic_fetch_add(Size::Double, R7, layout::TAIL as i16, R1));
    }
}

/// Destroys R1.
fn count(p: &mut Assembler, field: usize) {
    p.push(Instruction::load(Size::Double, R1, R7, field as i16));
    p.push(Instruction::alu(Alu::Add, R1, 1));
    p.push(Instruction::store(Size::Double, R7, field as i16, R1));
}

/// Copies the frame, a cache line of its slot at a time. Destroys R0 to R5.
fn copy(p: &mut Assembler, geometry: &Geometry, refuse: Label) {
    let done = p.label();
    begin_frame(p, geometry.room() as i32, refuse);
    for line in (0..geometry.stride()).step_by(layout::LINE) {
        let start = line.saturating_sub(layout::FRAME);
        let end = line + layout::LINE - layout::FRAME;
        if line > 0 {
            p.jump_if(Test::LessOrEqual, R8, start as i32, done);
        }
        copy_line(p, start, end);
    }
    p.place(done);
}

/// Copies these bytes of the frame: four loads, then four stores.
fn copy_line(p: &mut Assembler, start: usize, end: usize) {
    let pieces: Vec<_> = (start..end)
        .step_by(8)
        .map(|at| (at as i16, if end - at < 8 { Size::Word } else { Size::Double }))
        .collect();
    for group in pieces.chunks(4) {
        let registers = || [R0, R1, R4, R5].into_iter().zip(group);
        for (register, (at, size)) in registers() {
            p.push(Instruction::load(*size, register, R9, at + layout::FRAME as i16));
        }
        for (register, (at, size)) in registers() {
            p.push(Instruction::store(*size, R2, *at, register));
        }
    }
}
