//! Frames on their way out: a row of slots, the ring that takes them and the ring that gives them back.

use super::metadata::Offloads;
use super::ring::{Consumer, Producer};

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The device took it.
    Sent,
    /// The device had no room, and the kernel dropped it.
    Lost,
}

/// The slots of one socket. They are filled in turn.
#[derive(Debug)]
pub(super) struct Slots {
    transmit: Producer<libc::xdp_desc>,
    completions: Consumer<u64>,
    /// Bytes from one slot to the next.
    stride: u32,
    /// What is asked of the driver before the frame in each.
    offloads: Offloads,
    states: Vec<State>,
    /// The next slot to be filled.
    next: usize,
    /// Slots before it that were submitted and not completed.
    outstanding: usize,
    /// The transmit ring's counter of entries that the kernel is through with.
    taken: u32,
}

/// What is known of a slot's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    /// The kernel gave it back.
    is_done: bool,
    /// The device did not take it.
    is_lost: bool,
}

/// In the place of a frame that was taken back. The kernel passes over entries without a length
/// (`xp_aligned_validate_desc` in net/xdp/xsk_queue.h, Linux 6.18).
const EMPTY: libc::xdp_desc = libc::xdp_desc { addr: 0, len: 0, options: 0 };

impl Slots {
    /// `count` slots of `stride` bytes. Both rings have an entry for each.
    pub(super) fn new(
        transmit: Producer<libc::xdp_desc>,
        completions: Consumer<u64>,
        stride: u32,
        count: u32,
        offloads: Offloads,
    ) -> Self {
        let states = vec![State::default(); count as usize];
        Self { transmit, completions, stride, offloads, states, next: 0, outstanding: 0, taken: 0 }
    }

    /// At most `most` slots that follow one another and are the process's: the number of the first, and how
    /// many they are.
    pub(super) fn free(&self, most: usize) -> (usize, usize) {
        let free = self.states.len() - self.outstanding;
        let free = free.min(self.transmit.room() as usize).min(self.states.len() - self.next);
        (self.next, free.min(most))
    }

    /// Gives the kernel the next slots, with frames of these lengths.
    ///
    /// # Panics
    /// When these are more slots than there are free, or a frame is longer than a slot, empty, or so short that it has
    /// no place for the checksum that the driver completes.
    pub(super) fn submit(&mut self, lengths: &[u32]) {
        assert!(lengths.len() <= self.states.len() - self.outstanding, "more frames than slots");
        assert!(lengths.len() <= self.transmit.room() as usize, "more frames than the ring takes");
        let (head, options) = (self.offloads.room() as u32, self.offloads.options());
        let fitting = self.offloads.shortest()..=self.stride - head;
        for &len in lengths {
            assert!(fitting.contains(&len), "a frame of {len} bytes");
            let addr = self.next as u64 * u64::from(self.stride) + u64::from(head);
            self.transmit.push(libc::xdp_desc { addr, len, options });
            self.states[self.next] = State::default();
            self.next = (self.next + 1) % self.states.len();
        }
        self.outstanding += lengths.len();
        self.transmit.publish();
    }

    /// True when the kernel, or the driver, must be told to look at the transmit ring.
    pub(super) fn needs_wakeup(&self) -> bool {
        self.transmit.needs_wakeup()
    }

    /// Takes note of how far the kernel is; true when it is farther than it was.
    pub(super) fn advance(&mut self) -> bool {
        let taken = self.transmit.taken();
        // The kernel's word is late by frames that were lost.
        let is_farther = taken.wrapping_sub(self.taken).cast_signed() > 0;
        if is_farther {
            self.taken = taken;
        }
        is_farther
    }

    /// Marks the frame at which a call ended because the device did not take it: the last one that
    /// the kernel took. Its counter tells of it only if the call had sent others before
    /// (`__xsk_generic_xmit` in net/xdp/xsk.c, Linux 6.18).
    pub(super) fn lose_one(&mut self) {
        if !self.advance() || self.last_taken().len == 0 {
            self.taken = self.taken.wrapping_add(1);
        }
        let slot = self.last_taken().addr / u64::from(self.stride);
        if let Some(state) = self.states.get_mut(slot as usize) {
            state.is_lost = true;
        }
    }

    fn last_taken(&self) -> libc::xdp_desc {
        self.transmit.get(self.taken.wrapping_sub(1))
    }

    /// What became of the oldest outstanding frame, whose slot is free again; `None` while it is not
    /// known.
    pub(super) fn complete(&mut self) -> Option<Outcome> {
        let oldest = (self.next + self.states.len() - self.outstanding) % self.states.len();
        if self.outstanding == 0 || !self.is_done(oldest) {
            return None;
        }
        self.outstanding -= 1;
        Some(if self.states[oldest].is_lost { Outcome::Lost } else { Outcome::Sent })
    }

    fn is_done(&mut self, slot: usize) -> bool {
        if !self.states[slot].is_done {
            self.reap();
        }
        self.states[slot].is_done
    }

    /// Takes all entries out of the completion ring. They come in any order.
    fn reap(&mut self) {
        let count = self.completions.available();
        for index in 0..count {
            let slot = self.completions.get(index) / u64::from(self.stride);
            if let Some(state) = self.states.get_mut(slot as usize) {
                state.is_done = true;
            }
        }
        self.completions.release(count);
    }

    /// Takes back the frames, the newest first, that the kernel has not taken; returns how many. Their
    /// entries stay in the ring, without a length.
    ///
    /// # Safety
    /// The kernel does not read the transmit ring at this moment.
    pub(super) unsafe fn withdraw(&mut self) -> usize {
        self.advance();
        let before = self.outstanding;
        let mut counter = self.transmit.written();
        while self.outstanding > 0 && counter != self.taken {
            counter = counter.wrapping_sub(1);
            if self.transmit.get(counter).len == 0 {
                continue;
            }
            // SAFETY: the caller sees to it that nobody reads the entry.
            unsafe { self.transmit.replace(counter, EMPTY) };
            self.next = (self.next + self.states.len() - 1) % self.states.len();
            self.outstanding -= 1;
        }
        before - self.outstanding
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mmap::SharedMemory;
    use crate::xsk::PartialChecksum;
    use crate::xsk::ring::Layout;

    const LAYOUT: Layout = Layout { producer: 0, consumer: 64, flags: 128, entries: 192 };

    /// The kernel's ends of the rings, in memory of its own for each.
    struct Kernel {
        taken: u32,
        done: u32,
    }

    fn slots() -> (Slots, Kernel) {
        slots_with(Offloads::default())
    }

    fn slots_with(offloads: Offloads) -> (Slots, Kernel) {
        let memory = || SharedMemory::anonymous(4096).unwrap();
        let transmit = Producer::over(memory(), LAYOUT, 8);
        let completions = Consumer::over(memory(), LAYOUT, 8);
        (Slots::new(transmit, completions, 2048, 4, offloads), Kernel { taken: 0, done: 0 })
    }

    impl Kernel {
        /// Takes so many entries, and tells so or does not.
        fn take(&mut self, slots: &Slots, count: u32, tells: bool) {
            self.taken += count;
            if tells {
                slots.transmit.play_taken(self.taken);
            }
        }

        fn give_back(&mut self, slots: &Slots, slot: u64) {
            self.give_back_from(slots, slot * 2048);
        }

        fn give_back_from(&mut self, slots: &Slots, address: u64) {
            slots.completions.play_published(self.done, address);
            self.done += 1;
        }
    }

    fn outcomes(slots: &mut Slots) -> Vec<Outcome> {
        std::iter::from_fn(|| slots.complete()).collect()
    }

    #[test]
    fn frames_end_in_order_whatever_order_they_are_given_back_in() {
        let (mut slots, mut kernel) = slots();
        assert_eq!(slots.free(9), (0, 4));
        slots.submit(&[60, 60, 60]);
        assert_eq!(slots.free(9), (3, 1), "up to the end");
        kernel.take(&slots, 3, true);
        kernel.give_back(&slots, 1);
        assert_eq!(outcomes(&mut slots), [], "the second waits for the first");
        kernel.give_back(&slots, 0);
        assert_eq!(outcomes(&mut slots), [Outcome::Sent; 2]);
        slots.submit(&[60]);
        assert_eq!(slots.free(9), (0, 2), "from the beginning again");
    }

    #[test]
    fn a_lost_frame_is_the_last_one_taken_whether_or_not_the_kernel_tells() {
        let (mut slots, mut kernel) = slots();
        slots.submit(&[60, 61, 62, 63]);
        // The second after the first was sent, the third at the beginning of a call.
        kernel.take(&slots, 2, true);
        slots.lose_one();
        kernel.take(&slots, 1, false);
        slots.lose_one();
        (0..3).for_each(|slot| kernel.give_back(&slots, slot));
        assert_eq!(outcomes(&mut slots), [Outcome::Sent, Outcome::Lost, Outcome::Lost]);
        // SAFETY: there is no kernel.
        assert_eq!(unsafe { slots.withdraw() }, 1, "the fourth is not taken");
    }

    #[test]
    fn what_is_not_taken_can_be_withdrawn_and_the_entries_are_passed_over() {
        let (mut slots, mut kernel) = slots();
        slots.submit(&[60; 4]);
        kernel.take(&slots, 1, true);
        // SAFETY: there is no kernel.
        assert_eq!(unsafe { slots.withdraw() }, 3);
        assert_eq!(slots.free(9), (1, 3));
        // SAFETY: as above.
        assert_eq!(unsafe { slots.withdraw() }, 0);
        slots.submit(&[70]);
        assert_eq!(slots.transmit.get(3).len, 0);
        assert_eq!((slots.transmit.get(4).addr, slots.transmit.get(4).len), (2048, 70));
        // SAFETY: as above.
        assert_eq!(unsafe { slots.withdraw() }, 1, "the first is still being sent");
        slots.submit(&[80]);
        // Passing over what was withdrawn, the kernel loses the new one and does not tell.
        kernel.take(&slots, 4, true);
        kernel.take(&slots, 1, false);
        slots.lose_one();
        kernel.give_back(&slots, 0);
        kernel.give_back(&slots, 1);
        assert_eq!(slots.free(1), (2, 1));
        assert_eq!(outcomes(&mut slots), [Outcome::Sent, Outcome::Lost]);
    }

    #[test]
    fn frames_lie_behind_what_is_asked_of_the_driver() {
        let (mut slots, mut kernel) =
            slots_with(Offloads { launches: true, ..Offloads::default() });
        slots.submit(&[60, 2024]);
        let last = slots.transmit.get(1);
        assert_eq!((last.addr, last.len, last.options), (2048 + 24, 2024, libc::XDP_TX_METADATA));
        kernel.take(&slots, 2, true);
        slots.lose_one();
        kernel.give_back_from(&slots, 24);
        kernel.give_back_from(&slots, 2048 + 24);
        assert_eq!(outcomes(&mut slots), [Outcome::Sent, Outcome::Lost]);
    }

    #[test]
    #[should_panic(expected = "a frame of 40 bytes")]
    fn a_frame_without_a_place_for_the_checksum_is_none() {
        let checksum = Some(PartialChecksum { start: 34, offset: 6 });
        slots_with(Offloads { checksum, launches: false }).0.submit(&[42, 40]);
    }

    #[test]
    #[should_panic(expected = "a frame of 0 bytes")]
    fn an_empty_frame_is_none() {
        slots().0.submit(&[0]);
    }
}
