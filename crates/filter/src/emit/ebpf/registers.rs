//! What the registers hold, and how much of the packet is proven to be there.

use crate::error::{Error, ErrorKind, Result};
use crate::ir::value::ValueId;
use linerate_bpf::extended::Register;

/// The registers that hold values; calls destroy them.
const POOL: [Register; 6] =
    [Register::R0, Register::R1, Register::R2, Register::R3, Register::R4, Register::R5];

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// A value.
    Value(ValueId),
    /// The value of a load before its bytes are put into the machine's order.
    Raw(ValueId),
}

#[derive(Clone, Copy, Default)]
struct Entry {
    held: Option<Held>,
    /// Not to be given away.
    in_hand: bool,
    /// When it was used last.
    used: u32,
}

/// How many words of the stack keep what the load helper got.
pub(super) const KEPT: usize = 16;

/// All of them at a point of the program, and those words.
#[derive(Clone, Default)]
pub(super) struct Registers {
    entries: [Entry; POOL.len()],
    time: u32,
    /// How many bytes from the packet's first on are proven to be there.
    pub(super) packet: u32,
    /// The loads whose bytes each word keeps.
    kept: [Option<ValueId>; KEPT],
    next: usize,
    /// The length of an IPv4 header that is known to be the usual one.
    usual: Option<ValueId>,
}

impl Registers {
    /// The register that holds it, now in hand.
    pub(super) fn find(&mut self, held: Held) -> Option<Register> {
        let at = self.entries.iter().position(|entry| entry.held == Some(held))?;
        self.time += 1;
        self.entries[at].used = self.time;
        self.entries[at].in_hand = true;
        Some(POOL[at])
    }

    /// Whether any register holds it.
    pub(super) fn holds(&self, held: Held) -> bool {
        self.entries.iter().any(|entry| entry.held == Some(held))
    }

    /// A register in hand that holds nothing: a free one, or else the one used longest ago.
    pub(super) fn take(&mut self) -> Result<Register> {
        let free = (0..POOL.len()).filter(|at| !self.entries[*at].in_hand);
        let best = free.min_by_key(|at| {
            let entry = self.entries[*at];
            (entry.held.is_some(), entry.used)
        });
        let at = best.ok_or_else(too_complex)?;
        self.time += 1;
        self.entries[at] = Entry { in_hand: true, used: self.time, ..Entry::default() };
        Ok(POOL[at])
    }

    /// Notes what a register in hand holds from now on.
    pub(super) fn hold(&mut self, register: Register, held: Option<Held>) {
        if let Some(entry) = self.entry(register) {
            entry.held = held;
        }
    }

    /// No longer needed; it goes on holding what it holds.
    pub(super) fn release(&mut self, register: Register) {
        if let Some(entry) = self.entry(register) {
            entry.in_hand = false;
        }
    }

    /// A call destroys them all.
    pub(super) fn forget(&mut self) {
        self.entries = Default::default();
    }

    /// The word that keeps what this load got.
    pub(super) fn kept(&self, load: ValueId) -> Option<usize> {
        self.kept.iter().position(|kept| *kept == Some(load))
    }

    /// A word to keep it from now on, in turn.
    pub(super) fn keep(&mut self, load: ValueId) -> usize {
        let word = self.next;
        self.next = (word + 1) % KEPT;
        self.kept[word] = Some(load);
        word
    }

    /// Whether this length of an IPv4 header is known to be the usual one.
    pub(super) fn is_usual(&self, length: ValueId) -> bool {
        self.usual == Some(length)
    }

    pub(super) fn note_usual(&mut self, length: ValueId) {
        self.usual = Some(length);
    }

    /// What is so on both ways.
    pub(super) fn agreed(&self, other: &Self) -> Self {
        let mut both = self.clone();
        for (entry, other) in both.entries.iter_mut().zip(&other.entries) {
            if entry.held != other.held {
                *entry = Entry::default();
            }
        }
        both.time = self.time.max(other.time);
        both.packet = self.packet.min(other.packet);
        both.usual = self.usual.filter(|_| self.usual == other.usual);
        for (kept, other) in both.kept.iter_mut().zip(&other.kept) {
            *kept = kept.filter(|_| *kept == *other);
        }
        both
    }

    /// `None` for registers that are not of the pool, and always hold the same.
    fn entry(&mut self, register: Register) -> Option<&mut Entry> {
        let at = POOL.iter().position(|pooled| *pooled == register)?;
        Some(&mut self.entries[at])
    }
}

pub(super) fn too_complex() -> Error {
    Error::new(ErrorKind::Limit, "too many intermediate results at once")
        .expected("a simpler expression")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Ir;

    fn held(number: u32) -> Option<Held> {
        let mut ir = Ir::default();
        let ids = (0..=number).map(|n| ir.constant(n));
        ids.last().map(Held::Value)
    }

    #[test]
    fn the_one_used_longest_ago_is_given_away() {
        let mut registers = Registers::default();
        for number in 0..6 {
            let register = registers.take().expect("free");
            registers.hold(register, held(number));
            registers.release(register);
        }
        let first = registers.find(held(0).expect("a value")).expect("still there");
        registers.release(first);
        assert_eq!(registers.take().expect("one of six"), Register::R1);
        assert_eq!(registers.find(held(1).expect("a value")), None);
    }

    #[test]
    fn what_is_in_hand_is_kept() {
        let mut registers = Registers::default();
        let taken: Vec<_> = (0..6).map(|_| registers.take().expect("free")).collect();
        assert!(registers.take().is_err());
        registers.release(taken[4]);
        assert_eq!(registers.take(), Ok(taken[4]));
    }

    #[test]
    fn ways_agree_on_what_both_hold() {
        let with = |first, second, packet| {
            let mut registers = Registers { packet, ..Registers::default() };
            for number in [first, second] {
                let register = registers.take().expect("free");
                registers.hold(register, held(number));
                registers.release(register);
            }
            registers
        };
        let mut both = with(1, 2, 24).agreed(&with(1, 3, 14));
        assert_eq!(both.packet, 14);
        assert_eq!(both.find(held(1).expect("a value")), Some(Register::R0));
        assert_eq!(both.find(held(2).expect("a value")), None);
    }
}
