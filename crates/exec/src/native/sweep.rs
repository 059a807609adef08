//! The function of many packets: its loop, which is the same for all processors.
//!
//! It takes the region, the first descriptor, the end of the descriptors, and where a byte for each packet goes: 1 if the filter
//! keeps it, or 0. Packets go through [`Straight`] code, if the filter has it. Those that leave it, and all packets of other
//! filters, go through the function of a single packet.

use std::mem::offset_of;

use linerate_base::Descriptor;

use super::places::{self, Placed, Routine};
use super::straight::{Op, Straight};

/// Bytes of a descriptor, and where in it are a packet's offset, the bytes captured, and its length.
pub(super) const DESCRIPTOR: i32 = size_of::<Descriptor>() as i32;
pub(super) const OFFSET: i32 = offset_of!(Descriptor, offset) as i32;
pub(super) const CAPTURED: i32 = offset_of!(Descriptor, captured) as i32;
pub(super) const LENGTH: i32 = offset_of!(Descriptor, length) as i32;

/// Packets between the one that is looked at and the one that begins to be loaded.
pub(super) const AHEAD: i32 = 32;

/// What a processor does.
pub(super) trait Machine {
    /// A place in the code.
    type Label: Copy;

    /// Registers for numbers, six at least.
    const REGISTERS: &'static [u8];

    /// A label that is nowhere yet.
    fn label(&mut self) -> Self::Label;

    /// The label is here.
    fn bind(&mut self, label: Self::Label);

    /// Goes on there.
    fn jump(&mut self, to: Self::Label);

    /// Begins the function, with so many cells of four bytes.
    fn begin(&mut self, cells: usize);

    /// The loop begins here, at `top`; goes to `done` if there are no packets. The packet's place in the region is noted, and the
    /// byte at `reach` of a later one begins to be loaded.
    fn packet(&mut self, top: Self::Label, reach: u32, done: Self::Label);

    /// Goes to `slow` if the packet has fewer bytes.
    fn need(&mut self, bytes: u32, slow: Self::Label);

    /// Does an operation; what leaves goes to `slow`.
    fn op(&mut self, op: &Op<u8>, to: u8, slow: Self::Label);

    /// Brings a cell to a register.
    fn fetch(&mut self, to: u8, cell: usize);

    /// And a register to a cell.
    fn put(&mut self, cell: usize, from: u8);

    /// Calls the function of single packets; gives the register that its result is in.
    fn single(&mut self) -> u8;

    /// Writes whether the packet is kept.
    fn keep(&mut self, result: u8);

    /// Goes on with the next packet at `top`; falls through behind the last.
    fn next(&mut self, top: Self::Label);

    /// Ends the function.
    fn end(&mut self);

    /// Puts a table behind the code.
    fn table(&mut self, words: &[u32]);
}

/// The function.
pub(super) fn sweep<M: Machine>(machine: &mut M, straight: Option<&Straight>, reach: u32) {
    let routine = straight.map(|straight| places::place(straight, M::REGISTERS));
    let [top, kept, slow, done] = [(); 4].map(|()| machine.label());
    machine.begin(routine.as_ref().map_or(0, |routine| routine.cells));
    machine.packet(top, reach, done);
    match straight.zip(routine) {
        Some((straight, routine)) => {
            machine.need(straight.known, slow);
            run(machine, &routine, slow);
            machine.bind(kept);
            machine.next(top);
            machine.jump(done);
            machine.bind(slow);
            alone(machine);
            machine.jump(kept);
        }
        None => {
            alone(machine);
            machine.next(top);
        }
    }
    machine.bind(done);
    machine.end();
    let tables = straight.map(|straight| &straight.tables[..]).unwrap_or_default();
    tables.iter().for_each(|table| machine.table(table));
}

fn run<M: Machine>(machine: &mut M, routine: &Routine, slow: M::Label) {
    for step in &routine.steps {
        match step {
            Placed::Op(op, to) => machine.op(op, *to, slow),
            Placed::Fetch(to, cell) => machine.fetch(*to, *cell),
            Placed::Put(cell, from) => machine.put(*cell, *from),
        }
    }
    machine.keep(routine.result);
}

fn alone(machine: &mut impl Machine) {
    let result = machine.single();
    machine.keep(result);
}
