//! The whole program: it waits until a frame is due, stamps it and sends it.

use linerate_bpf::extended::Register::{R0, R1, R2, R6, R7, R8, R9, R10};
use linerate_bpf::extended::{Alu, Assembler, Instruction, Label, Size, Test, helper};

use super::Stamp;
use super::code::{load, redirect, with};
use crate::pacing::CATCH_UP;

/// How often the clock is read before the program gives the core back to the kernel for a moment.
const READINGS: i32 = 1000;

/// What user space tells the program, 64-bit numbers.
pub(super) mod control {
    /// The number before which to end.
    pub(crate) const END: i16 = 0;
    /// The time after which no frame is due, in nanoseconds.
    pub(crate) const LIMIT: i16 = 8;
    pub(crate) const SIZE: u32 = 16;
}

/// What the program tells user space, 64-bit numbers. Times are `CLOCK_MONOTONIC`.
pub(super) mod state {
    /// The next frame's number.
    pub(crate) const NUMBER: i16 = 0;
    /// When the first frame was sent; 0 before.
    pub(crate) const BEGAN: i16 = 8;
    /// When all had been sent; 0 before.
    pub(crate) const ENDED: i16 = 16;
    /// When the next frame is due, and the rest of the division; before, how long after the beginning the first is due.
    pub(crate) const DUE: i16 = 24;
    pub(crate) const REST: i16 = 32;
    /// Frames that may still be sent without a look at the clock.
    pub(crate) const LEFT: i16 = 40;
    /// Nanoseconds that the schedule was moved.
    pub(crate) const LOST: i16 = 48;
    /// Frames that could not be made.
    pub(crate) const REFUSED: i16 = 56;
    pub(crate) const SIZE: u32 = 64;
}

/// How the program sends.
#[derive(Debug)]
pub(super) struct Setup<'a> {
    pub(super) stamp: &'a Stamp,
    /// From a frame's number to the next one's.
    pub(super) step: i32,
    /// Nanoseconds that a frame takes, as a fraction; `None` without a limit.
    pub(super) pace: Option<(u64, u64)>,
    /// Frames between two looks at the clock.
    pub(super) group: u32,
    /// Descriptor of the map whose first element is the interface to send from.
    pub(super) wire: i32,
    /// Descriptors of the two maps.
    pub(super) control: i32,
    pub(super) state: i32,
}

/// `enum xdp_action`.
pub(super) const XDP_DROP: i32 = 1;

/// Offsets in `struct xdp_md`.
pub(super) const DATA: i16 = 0;
pub(super) const DATA_END: i16 = 4;

/// Where on the stack the readings of the clock are counted: nowhere near the stamp's part.
const READING: i16 = -136;

/// Registers throughout: R6 context, R7 state, R9 the frame's number.
pub(super) fn assemble(setup: &Setup<'_>) -> Vec<Instruction> {
    let mut p = Assembler::new();
    let [send, stop, over, drop, refuse] = [p.label(), p.label(), p.label(), p.label(), p.label()];
    p.push(Instruction::mov(R6, R1));
    p.extend(Instruction::load_map_value(R7, setup.state, 0));
    p.push(Instruction::load(Size::Double, R9, R7, state::NUMBER));
    load_control(&mut p, setup, control::END);
    p.jump_if(Test::GreaterOrEqual, R9, R1, over);
    p.push(Instruction::load(Size::Double, R1, R7, state::LEFT));
    p.jump_if(Test::NotEqual, R1, 0, send);
    begin(&mut p);
    if setup.pace.is_some() {
        wait(&mut p, drop);
    }
    stop_past_limit(&mut p, setup, stop);
    p.push(Instruction::store(Size::Double, R7, state::LEFT, setup.group as i32));
    p.place(send);
    count(&mut p, state::LEFT, -1);
    count(&mut p, state::NUMBER, setup.step);
    if let Some((time, rate)) = setup.pace {
        advance(&mut p, time, rate);
    }
    setup.stamp.emit(&mut p, refuse);
    redirect(&mut p, setup.wire);
    p.place(refuse);
    count(&mut p, state::REFUSED, 1);
    p.jump(drop);
    p.place(stop);
    p.extend(Instruction::load_map_value(R1, setup.control, 0));
    p.push(Instruction::store(Size::Double, R1, control::END, 0));
    p.place(over);
    note_the_end(&mut p, drop);
    p.place(drop);
    p.extend([Instruction::mov(R0, XDP_DROP), Instruction::exit()]);
    p.finish().expect("every label is placed")
}

/// R1 = a number of user space's.
fn load_control(p: &mut Assembler, setup: &Setup<'_>, field: i16) {
    p.extend(Instruction::load_map_value(R1, setup.control, 0));
    p.push(Instruction::load(Size::Double, R1, R1, field));
}

/// Adds to a number of the state. Destroys R1.
fn count(p: &mut Assembler, field: i16, by: i32) {
    p.push(Instruction::load(Size::Double, R1, R7, field));
    p.push(Instruction::alu(Alu::Add, R1, by));
    p.push(Instruction::store(Size::Double, R7, field, R1));
}

/// R0 = the time; the clock starts with the first frame.
fn begin(p: &mut Assembler) {
    let begun = p.label();
    p.push(Instruction::call(helper::KTIME_GET_NS));
    p.push(Instruction::load(Size::Double, R1, R7, state::BEGAN));
    p.jump_if(Test::NotEqual, R1, 0, begun);
    p.push(Instruction::store(Size::Double, R7, state::BEGAN, R0));
    p.push(Instruction::load(Size::Double, R1, R7, state::DUE));
    p.push(Instruction::alu(Alu::Add, R1, R0));
    p.push(Instruction::store(Size::Double, R7, state::DUE, R1));
    p.place(begun);
}

/// Waits until the next frame is due, or goes to `later` when that is not soon. Leaves its time in R0.
fn wait(p: &mut Assembler, later: Label) {
    let [again, due, in_time] = [p.label(), p.label(), p.label()];
    p.push(Instruction::load(Size::Double, R8, R7, state::DUE));
    p.push(Instruction::store(Size::Double, R10, READING, 0));
    p.place(again);
    p.jump_if(Test::GreaterOrEqual, R0, R8, due);
    p.push(Instruction::call(helper::KTIME_GET_NS));
    p.push(Instruction::load(Size::Double, R1, R10, READING));
    p.push(Instruction::alu(Alu::Add, R1, 1));
    p.push(Instruction::store(Size::Double, R10, READING, R1));
    p.jump_if(Test::Less, R1, READINGS, again);
    p.jump(later);
    p.place(due);
    // What is too late to be made up for moves the schedule.
    p.push(Instruction::alu(Alu::Sub, R0, R8));
    p.jump_if(Test::LessOrEqual, R0, CATCH_UP as i32, in_time);
    p.push(Instruction::alu(Alu::Sub, R0, CATCH_UP as i32));
    p.push(Instruction::alu(Alu::Add, R8, R0));
    p.push(Instruction::store(Size::Double, R7, state::DUE, R8));
    p.push(Instruction::load(Size::Double, R1, R7, state::LOST));
    p.push(Instruction::alu(Alu::Add, R1, R0));
    p.push(Instruction::store(Size::Double, R7, state::LOST, R1));
    p.place(in_time);
    p.push(Instruction::mov(R0, R8));
}

/// R0 is the time, or that at which the frame is due.
fn stop_past_limit(p: &mut Assembler, setup: &Setup<'_>, stop: Label) {
    p.push(Instruction::load(Size::Double, R1, R7, state::BEGAN));
    p.push(Instruction::alu(Alu::Sub, R0, R1));
    load_control(p, setup, control::LIMIT);
    p.jump_if(Test::GreaterOrEqual, R0, R1, stop);
}

/// The next frame is due by `time / rate` later, exactly.
fn advance(p: &mut Assembler, time: u64, rate: u64) {
    let whole = p.label();
    p.push(Instruction::load(Size::Double, R1, R7, state::DUE));
    with(p, Alu::Add, R1, time / rate);
    p.push(Instruction::load(Size::Double, R2, R7, state::REST));
    with(p, Alu::Add, R2, time % rate);
    load(p, R0, rate);
    p.jump_if(Test::Less, R2, R0, whole);
    p.push(Instruction::alu(Alu::Sub, R2, R0));
    p.push(Instruction::alu(Alu::Add, R1, 1));
    p.place(whole);
    p.push(Instruction::store(Size::Double, R7, state::DUE, R1));
    p.push(Instruction::store(Size::Double, R7, state::REST, R2));
}

/// The first time only.
fn note_the_end(p: &mut Assembler, drop: Label) {
    p.push(Instruction::load(Size::Double, R1, R7, state::ENDED));
    p.jump_if(Test::NotEqual, R1, 0, drop);
    p.push(Instruction::call(helper::KTIME_GET_NS));
    p.push(Instruction::store(Size::Double, R7, state::ENDED, R0));
}
