//! Random packets with the structure that filters ask about, and some damage.

mod link;
mod network;
mod transport;

use linerate::base::LinkType;

/// A packet of this link type, the same for the same seed.
pub(crate) fn packet(link_type: LinkType, seed: u64) -> Vec<u8> {
    let mut packet = Builder { dice: Dice(seed), bytes: Vec::new(), depth: 0 };
    packet.link_layer(link_type);
    packet.damage();
    packet.bytes
}

/// A small generator of random numbers (SplitMix64): the packet's seed must be all there is to it.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// True once in `n` times.
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next() as u8)
    }
}

struct Builder {
    dice: Dice,
    bytes: Vec<u8>,
    /// Network layers within network layers so far.
    depth: u32,
}

impl Builder {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn put16(&mut self, number: u16) {
        self.put(&number.to_be_bytes());
    }

    fn put32(&mut self, number: u32) {
        self.put(&number.to_be_bytes());
    }

    fn noise(&mut self, most: usize) {
        for _ in 0..self.dice.below(most + 1) {
            let byte = self.dice.next() as u8;
            self.bytes.push(byte);
        }
    }

    /// Bits that a sender would not have sent.
    fn damage(&mut self) {
        if self.bytes.is_empty() || !self.dice.one_in(4) {
            return;
        }
        for _ in 0..=self.dice.below(3) {
            let at = self.dice.below(self.bytes.len());
            self.bytes[at] = self.dice.pick(&[0, 1, 0x45, 0x60, 0xff, self.bytes[at] ^ 1]);
        }
    }
}
