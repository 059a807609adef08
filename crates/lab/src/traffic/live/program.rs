//! The sender's program: it numbers each frame and redirects it to the wire when it is due.

use std::time::Duration;

use linerate_bpf::extended::{Alu, Assembler, Instruction, Label, Register, Size, Test, helper};

use Register::{R0, R1, R2, R3, R6, R7, R8, R9, R10};

/// Where the number lies in a frame: behind Ethernet, IPv4 and UDP headers.
pub(super) const NUMBER_AT: usize = 42;
/// Its bytes.
pub(super) const NUMBER_SIZE: usize = 8;
/// Where the UDP source port lies.
const PORT_AT: i16 = 34;
/// Source ports are 1024 and up, one after the other, so many of them.
const FLOWS: i32 = 1024;

/// Fractional bits of the gap between two frames.
pub(super) const GAP_BITS: u32 = 20;

/// A sender that falls behind by more than this, in nanoseconds, does not catch up on the rest: what
/// it asked of the receiver would be another rate.
const MOST_LAG: i32 = 1_000_000;

/// How often the clock is read before the program gives the core back to the kernel for a moment:
/// some 15 to 50 microseconds.
const READINGS: i32 = 1000;

/// About the least that so many readings take.
pub(super) const WAIT: Duration = Duration::from_micros(10);

/// What user space tells the program: three 64-bit numbers.
pub(super) mod control {
    /// The number before which to end.
    pub(crate) const END: i16 = 0;
    /// Time from one frame to the next, in nanoseconds times 2^[`GAP_BITS`](super::GAP_BITS).
    pub(crate) const GAP: i16 = 8;
    /// Time after which to end, in nanoseconds.
    pub(crate) const LIMIT: i16 = 16;
    pub(crate) const SIZE: u32 = 24;
}

/// What the program tells user space: four 64-bit numbers. Times are `CLOCK_MONOTONIC`.
pub(super) mod state {
    /// The next frame's number.
    pub(crate) const NUMBER: i16 = 0;
    /// When the first frame was sent; 0 before.
    pub(crate) const BEGAN: i16 = 8;
    /// When the last one had been sent; 0 before.
    pub(crate) const ENDED: i16 = 16;
    /// When number 0 was due or would have been: later by what was not caught up.
    pub(crate) const SCHEDULE: i16 = 24;
    pub(crate) const SIZE: u32 = 32;
}

/// Where the program finds its maps, and how it sends.
pub(super) struct Plan {
    /// Descriptors of the two maps.
    pub(super) control: i32,
    pub(super) state: i32,
    /// Descriptor of the map whose first element is the interface to send from.
    pub(super) wire: i32,
    /// How many frames are sent between two looks at the clock: a power of two.
    pub(super) group: u32,
}

/// `enum xdp_action`.
const XDP_DROP: i32 = 1;

/// Offsets in `struct xdp_md`.
const DATA: i16 = 0;
const DATA_END: i16 = 4;

/// Registers throughout: R6 context, R7 state, R9 the frame's number.
pub(super) fn assemble(plan: &Plan) -> Vec<Instruction> {
    let mut p = Assembler::new();
    let [send, stop, over, drop] = [p.label(), p.label(), p.label(), p.label()];
    p.push(Instruction::mov(R6, R1));
    p.extend(Instruction::load_map_value(R7, plan.state, 0));
    p.push(Instruction::load(Size::Double, R9, R7, state::NUMBER));
    load_control(&mut p, plan, R1, control::END);
    p.jump_if(Test::GreaterOrEqual, R9, R1, over);
    p.push(Instruction::mov(R1, R9));
    p.push(Instruction::alu(Alu::And, R1, plan.group as i32 - 1));
    p.jump_if(Test::NotEqual, R1, 0, send);
    find_distance(&mut p, plan);
    begin(&mut p);
    find_due_time(&mut p);
    let due = p.label();
    read_clock_until(&mut p, due);
    stop_past_limit(&mut p, plan, stop);
    p.jump(drop);
    p.place(due);
    keep_to_schedule(&mut p);
    stop_past_limit(&mut p, plan, stop);
    p.place(send);
    write_number(&mut p, drop);
    redirect(&mut p, plan);
    p.place(stop);
    p.extend(Instruction::load_map_value(R1, plan.control, 0));
    p.push(Instruction::store(Size::Double, R1, control::END, 0));
    p.place(over);
    note_the_end(&mut p, drop);
    p.place(drop);
    p.extend([Instruction::mov(R0, XDP_DROP), Instruction::exit()]);
    p.finish().expect("every label is placed")
}

/// Destroys nothing but `to`.
fn load_control(p: &mut Assembler, plan: &Plan, to: Register, field: i16) {
    p.extend(Instruction::load_map_value(to, plan.control, 0));
    p.push(Instruction::load(Size::Double, to, to, field));
}

/// Leaves in R8 how long after number 0 this one is due.
fn find_distance(p: &mut Assembler, plan: &Plan) {
    load_control(p, plan, R8, control::GAP);
    p.push(Instruction::alu(Alu::Mul, R8, R9));
    p.push(Instruction::alu(Alu::Rsh, R8, GAP_BITS as i32));
}

/// Starts the clock with the first frame.
fn begin(p: &mut Assembler) {
    let begun = p.label();
    p.push(Instruction::load(Size::Double, R1, R7, state::BEGAN));
    p.jump_if(Test::NotEqual, R1, 0, begun);
    p.push(Instruction::call(helper::KTIME_GET_NS));
    p.push(Instruction::store(Size::Double, R7, state::BEGAN, R0));
    p.push(Instruction::alu(Alu::Sub, R0, R8));
    p.push(Instruction::store(Size::Double, R7, state::SCHEDULE, R0));
    p.place(begun);
}

/// Leaves the frame's due time in R8.
fn find_due_time(p: &mut Assembler) {
    p.push(Instruction::load(Size::Double, R1, R7, state::SCHEDULE));
    p.push(Instruction::alu(Alu::Add, R8, R1));
}

/// Goes to `due` when the time has come, and falls through when it does not come soon; R0 = time.
fn read_clock_until(p: &mut Assembler, due: Label) {
    let again = p.label();
    p.push(Instruction::store(Size::Double, R10, READING, 0));
    p.place(again);
    p.push(Instruction::call(helper::KTIME_GET_NS));
    p.jump_if(Test::GreaterOrEqual, R0, R8, due);
    p.push(Instruction::load(Size::Double, R1, R10, READING));
    p.push(Instruction::alu(Alu::Add, R1, 1));
    p.push(Instruction::store(Size::Double, R10, READING, R1));
    p.jump_if(Test::Less, R1, READINGS, again);
}

/// Where on the stack the readings of the clock are counted.
const READING: i16 = -8;

/// Moves the schedule by what is too late to be caught up.
fn keep_to_schedule(p: &mut Assembler) {
    let in_time = p.label();
    p.push(Instruction::mov(R1, R0));
    p.push(Instruction::alu(Alu::Sub, R1, R8));
    p.jump_if(Test::LessOrEqual, R1, MOST_LAG, in_time);
    p.push(Instruction::alu(Alu::Sub, R1, MOST_LAG));
    p.push(Instruction::load(Size::Double, R2, R7, state::SCHEDULE));
    p.push(Instruction::alu(Alu::Add, R2, R1));
    p.push(Instruction::store(Size::Double, R7, state::SCHEDULE, R2));
    p.place(in_time);
}

/// Destroys R0, which is the time.
fn stop_past_limit(p: &mut Assembler, plan: &Plan, stop: Label) {
    p.push(Instruction::load(Size::Double, R1, R7, state::BEGAN));
    p.push(Instruction::alu(Alu::Sub, R0, R1));
    load_control(p, plan, R1, control::LIMIT);
    p.jump_if(Test::Greater, R0, R1, stop);
}

fn write_number(p: &mut Assembler, drop: Label) {
    p.push(Instruction::load(Size::Word, R1, R6, DATA));
    p.push(Instruction::load(Size::Word, R2, R6, DATA_END));
    p.push(Instruction::mov(R8, R1));
    p.push(Instruction::alu(Alu::Add, R8, (NUMBER_AT + NUMBER_SIZE) as i32));
    // The frame is long enough; this is for the verifier.
    p.jump_if(Test::Greater, R8, R2, drop);
    p.push(Instruction::mov(R2, R9));
    p.push(Instruction::big_endian64(R2));
    p.push(Instruction::store(Size::Double, R1, NUMBER_AT as i16, R2));
    p.push(Instruction::mov(R2, R9));
    p.push(Instruction::alu(Alu::And, R2, FLOWS - 1));
    p.push(Instruction::alu(Alu::Add, R2, 1024));
    p.push(Instruction::big_endian16(R2));
    p.push(Instruction::store(Size::Half, R1, PORT_AT, R2));
}

fn redirect(p: &mut Assembler, plan: &Plan) {
    p.push(Instruction::alu(Alu::Add, R9, 1));
    p.push(Instruction::store(Size::Double, R7, state::NUMBER, R9));
    p.extend(Instruction::load_map(R1, plan.wire));
    p.extend([R2, R3].map(|register| Instruction::mov(register, 0)));
    p.push(Instruction::call(helper::REDIRECT_MAP));
    p.push(Instruction::exit());
}

/// The first time only.
fn note_the_end(p: &mut Assembler, drop: Label) {
    p.push(Instruction::load(Size::Double, R1, R7, state::ENDED));
    p.jump_if(Test::NotEqual, R1, 0, drop);
    p.push(Instruction::call(helper::KTIME_GET_NS));
    p.push(Instruction::store(Size::Double, R7, state::ENDED, R0));
}
