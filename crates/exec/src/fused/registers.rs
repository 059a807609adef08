//! Which of the processor's registers hold what. General ones come first, then vectors, then masks' own.

use crate::program::{ColumnId, Place};

/// What is computed in passing.
pub(super) const TEMPORARY: u8 = 0;
/// Where the next chunk's mark goes.
pub(super) const OUT: u8 = 1;
/// Where descriptors end.
pub(super) const END: u8 = 2;
pub(super) const STACK: u8 = 4;
/// The chunk's descriptors.
pub(super) const DESCRIPTORS: u8 = 6;
pub(super) const REGION: u8 = 7;
/// The limit as it is given; a mask afterwards.
pub(super) const LIMIT_GIVEN: u8 = 8;
/// Whether packets are near.
pub(super) const NEAR: u8 = 9;
/// Those that a function has to leave as they were (System V ABI for AMD64, 3.2.1).
pub(super) const SAVED: [u8; 6] = [3, 5, 12, 13, 14, 15];
/// For masks of packets.
pub(super) const MASKS: [u8; 9] = [8, 10, 11, 3, 5, 12, 13, 14, 15];

/// Vectors: where packets begin, and how many bytes of each there are.
pub(super) const STARTS: u8 = 0;
pub(super) const CAPTURED: u8 = 1;
/// Where packets may end.
pub(super) const LIMIT: u8 = 2;
/// Which parts of descriptors are taken, and which of these.
pub(super) const SECONDS: u8 = 3;
pub(super) const EVEN: u8 = 4;
pub(super) const ODD: u8 = 5;
/// Turns the bytes of each lane round.
pub(super) const TURN: u8 = 6;
/// From this one on they hold columns.
pub(super) const UNUSED: u8 = 7;

/// The mask register that everything goes through, and another.
pub(super) const MASK: u8 = 1;
pub(super) const OTHER: u8 = 2;
/// Who passes, while choices are made.
pub(super) const PASSED: u8 = 4;

const COUNT: usize = 32;

/// What vector registers hold.
#[derive(Default)]
pub(super) struct Vectors {
    held: [Option<Held>; COUNT],
    /// By how many it is used at the moment.
    users: [u8; COUNT],
    /// Which one is given up next.
    next: u8,
}

/// A column of a chunk, in a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// Bytes of packets as they are, the first in the lowest bits.
    Bytes(ColumnId),
    Number(ColumnId),
    /// How many bytes were captured behind a base.
    Room(ColumnId),
}

impl Vectors {
    /// The register with a column, which is used from now on.
    pub(super) fn find(&mut self, held: Held) -> Option<u8> {
        let register = self.held.iter().position(|other| *other == Some(held))?;
        self.users[register] += 1;
        Some(register as u8)
    }

    /// A register for something new, which is used from now on; `None` while all are used.
    pub(super) fn claim(&mut self) -> Option<u8> {
        let is_free = |register: &u8| self.users[usize::from(*register)] == 0;
        let all = || UNUSED..COUNT as u8;
        let empty = all().find(|r| is_free(r) && self.held[usize::from(*r)].is_none());
        let oldest = || all().cycle().skip(usize::from(self.next)).take(COUNT).find(is_free);
        let register = empty.or_else(oldest)?;
        self.next = register - UNUSED + 1;
        self.held[usize::from(register)] = None;
        self.users[usize::from(register)] = 1;
        Some(register)
    }

    /// A claimed register holds a column from now on.
    pub(super) fn hold(&mut self, register: u8, held: Held) {
        self.held[usize::from(register)] = Some(held);
    }

    /// No register holds any of these columns any more.
    pub(super) fn forget(&mut self, columns: &[ColumnId]) {
        let is_one = |held: &Held| {
            let (Held::Bytes(column) | Held::Number(column) | Held::Room(column)) = held;
            columns.contains(column)
        };
        for held in &mut self.held {
            *held = held.filter(|held| !is_one(held));
        }
    }

    /// One user less. What a register holds stays until it is claimed by others.
    pub(super) fn release(&mut self, register: u8) {
        self.users[usize::from(register)] -= 1;
    }
}

/// Where the mask of the packets is that come to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// Nobody has come yet.
    Nowhere,
    Register(u8),
    /// In the place's own cell on the stack.
    Cell,
}

/// General registers for masks, and which of them are places'.
pub(super) struct Masks {
    free: Vec<u8>,
    spots: Vec<Spot>,
}

impl Masks {
    pub(super) fn new(places: usize) -> Self {
        Self { free: MASKS.to_vec(), spots: vec![Spot::Nowhere; places] }
    }

    /// A register that nobody uses, and the place whose mask has to go to its cell before.
    pub(super) fn claim(&mut self) -> (u8, Option<Place>) {
        if let Some(register) = self.free.pop() {
            return (register, None);
        }
        // The last is needed last.
        let in_register = |spot: &Spot| matches!(spot, Spot::Register(_));
        let place = self.spots.iter().rposition(in_register).expect("steps use few registers");
        let Spot::Register(register) = self.spots[place] else { unreachable!("found as one") };
        self.spots[place] = Spot::Cell;
        (register, Some(place))
    }

    pub(super) fn release(&mut self, register: u8) {
        self.free.push(register);
    }

    pub(super) fn spot(&self, place: Place) -> Spot {
        self.spots[place]
    }

    /// A place's mask is in a register, which was claimed.
    pub(super) fn set(&mut self, place: Place, register: u8) {
        self.spots[place] = Spot::Register(register);
    }

    /// A place's register, if any, is somebody's who has called for it.
    pub(super) fn forget(&mut self, place: Place) {
        self.spots[place] = Spot::Nowhere;
    }
}
