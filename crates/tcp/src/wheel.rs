//! Timers: a hierarchical wheel whose lists run through what waits (Varghese, Lauck, "Hashed and hierarchical timing
//! wheels", 1987, scheme 7).
//!
//! A tick is a millisecond. Four levels of 64 slots reach 4.6 hours ahead; what is due later fires early, and its
//! owner files it again. Filing, taking out and firing cost the same however many wait.

const LEVELS: u32 = 4;
/// Bits of a tick that choose a slot of a level.
const BITS: u32 = 6;
const SLOTS: u32 = 1 << BITS;
/// The longest time ahead.
const REACH: u32 = (1 << (BITS * LEVELS)) - 1;

/// No item.
const NONE: u32 = u32::MAX;
/// Marks the number of a slot where that of the item before stands in others.
const HEAD: u32 = 1 << 31;

/// Where an item stands in the wheel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    next: u32,
    previous: u32,
    at: u32,
}

impl Node {
    /// One that waits for nothing.
    pub(crate) const IDLE: Self = Self { next: NONE, previous: NONE, at: 0 };

    /// The tick that it waits for.
    pub(crate) fn at(&self) -> Option<u32> {
        (self.previous != NONE).then_some(self.at)
    }
}

/// Whoever has the items that wait, by number, below 2^31.
pub(crate) trait Nodes {
    /// Where this item stands.
    fn node(&mut self, item: u32) -> &mut Node;
}

/// The wheel.
#[derive(Debug)]
pub(crate) struct Wheel {
    now: u32,
    waiting: usize,
    heads: [u32; (LEVELS * SLOTS) as usize],
}

/// True when tick `a` is behind tick `b`, or the same; for ticks less than 2^31 apart.
pub(crate) fn is_reached(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 >= 0
}

impl Wheel {
    /// An empty one at the tick `now`.
    pub(crate) fn new(now: u32) -> Self {
        Self { now, waiting: 0, heads: [NONE; (LEVELS * SLOTS) as usize] }
    }

    /// How many items wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Files an item for the tick `at`, but the next one at the earliest, wherever it stood before.
    pub(crate) fn file(&mut self, nodes: &mut impl Nodes, item: u32, at: u32) {
        self.take(nodes, item);
        let ahead = at.wrapping_sub(self.now) as i32;
        let ahead = u32::try_from(ahead).unwrap_or(0).clamp(1, REACH);
        self.put(nodes, item, self.now.wrapping_add(ahead));
        self.waiting += 1;
    }

    /// Takes an item out; one that does not wait stays as it is.
    pub(crate) fn take(&mut self, nodes: &mut impl Nodes, item: u32) {
        let Node { next, previous, .. } = *nodes.node(item);
        if previous == NONE {
            return;
        }
        match previous & HEAD {
            0 => nodes.node(previous).next = next,
            _ => self.heads[(previous & !HEAD) as usize] = next,
        }
        if next != NONE {
            nodes.node(next).previous = previous;
        }
        *nodes.node(item) = Node::IDLE;
        self.waiting -= 1;
    }

    /// Takes out an item that is due by the tick `now`, if there is one.
    pub(crate) fn due(&mut self, nodes: &mut impl Nodes, now: u32) -> Option<u32> {
        loop {
            let item = self.heads[(self.now % SLOTS) as usize];
            if item != NONE {
                self.take(nodes, item);
                return Some(item);
            }
            if is_reached(self.now, now) {
                return None;
            }
            if self.waiting == 0 {
                self.now = now;
                return None;
            }
            self.step(nodes);
        }
    }

    /// One tick further: where a level's slot comes up, what is in it is filed anew, nearer.
    fn step(&mut self, nodes: &mut impl Nodes) {
        self.now = self.now.wrapping_add(1);
        let whole = self.now.trailing_zeros() / BITS;
        for level in (1..=whole.min(LEVELS - 1)).rev() {
            let head = &mut self.heads[slot(level, self.now)];
            let mut item = std::mem::replace(head, NONE);
            while item != NONE {
                let Node { next, at, .. } = *nodes.node(item);
                self.put(nodes, item, at);
                item = next;
            }
        }
    }

    fn put(&mut self, nodes: &mut impl Nodes, item: u32, at: u32) {
        let ahead = at.wrapping_sub(self.now);
        let level = (ahead.max(1).ilog2() / BITS).min(LEVELS - 1);
        let slot = slot(level, at);
        let next = std::mem::replace(&mut self.heads[slot], item);
        *nodes.node(item) = Node { next, previous: HEAD | slot as u32, at };
        if next != NONE {
            nodes.node(next).previous = item;
        }
    }
}

fn slot(level: u32, at: u32) -> usize {
    (level * SLOTS + (at >> (level * BITS)) % SLOTS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Nodes for Vec<Node> {
        fn node(&mut self, item: u32) -> &mut Node {
            &mut self[item as usize]
        }
    }

    #[test]
    fn every_distance_fires_on_its_tick() {
        let start = 0x00ff_ffe0;
        for ahead in (1..200).chain([4_095, 4_096, 4_097, 262_143, 262_144, 300_000]) {
            let (mut wheel, mut nodes) = (Wheel::new(start), vec![Node::IDLE]);
            wheel.file(&mut nodes, 0, start + ahead);
            assert_eq!(wheel.due(&mut nodes, start + ahead - 1), None, "{ahead}");
            assert_eq!(wheel.due(&mut nodes, start + ahead), Some(0), "{ahead}");
            assert_eq!((wheel.waiting(), nodes[0].at()), (0, None));
        }
    }

    #[test]
    fn what_is_due_already_fires_with_the_next_tick() {
        let (mut wheel, mut nodes) = (Wheel::new(5), vec![Node::IDLE]);
        wheel.file(&mut nodes, 0, 3);
        assert_eq!((wheel.due(&mut nodes, 5), wheel.due(&mut nodes, 6)), (None, Some(0)));
    }

    #[test]
    fn what_is_too_far_ahead_fires_early() {
        let (mut wheel, mut nodes) = (Wheel::new(0), vec![Node::IDLE]);
        wheel.file(&mut nodes, 0, 1 << 30);
        assert_eq!(nodes[0].at(), Some(REACH));
    }

    proptest! {
        #[test]
        fn items_fire_when_they_are_due_and_not_before(
            start in prop::sample::select(vec![0, 100, u32::MAX - 5_000]),
            steps in prop::collection::vec((0..8_u32, 0..9_000_u32, 0..700_u32, any::<bool>()), 1..80),
        ) {
            let (mut wheel, mut nodes) = (Wheel::new(start), vec![Node::IDLE; 8]);
            let mut model = [None; 8];
            let mut now = start;
            for (item, ahead, pass, takes) in steps {
                if takes {
                    wheel.take(&mut nodes, item);
                    model[item as usize] = None;
                } else {
                    wheel.file(&mut nodes, item, now.wrapping_add(ahead));
                    model[item as usize] = Some(now.wrapping_add(ahead.max(1)));
                }
                now = now.wrapping_add(pass);
                while let Some(item) = wheel.due(&mut nodes, now) {
                    let at = model[item as usize].take();
                    prop_assert!(at.is_some_and(|at| is_reached(now, at)), "{item} {at:?} {now}");
                }
                prop_assert!(model.iter().flatten().all(|at| !is_reached(now, *at)));
                prop_assert_eq!(wheel.waiting(), model.iter().flatten().count());
            }
        }
    }
}
