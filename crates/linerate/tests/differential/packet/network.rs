//! Network layers.

use super::Builder;
use super::link::Network;
use crate::pool;

/// Deeper packets would only be longer.
const DEEPEST: u32 = 4;

impl Builder {
    pub(super) fn network(&mut self, network: Network) {
        self.depth += 1;
        if self.depth > DEEPEST {
            return;
        }
        match network {
            Network::Ipv4 => self.ipv4(),
            Network::Ipv6 => self.ipv6(),
            Network::Other(number) => self.other(number),
        }
    }

    fn ipv4(&mut self) {
        let options = if self.dice.one_in(3) { self.dice.below(11) } else { 0 };
        let words = 5 + options as u8;
        let length = self.dice.pick(&[20_u16, 40, 60, 1500]);
        let fragment = match self.dice.below(6) {
            0 => 0x2000,
            1 => 0x2001,
            2 => 0x00b9,
            3 => 0x4000,
            _ => 0,
        };
        let protocol = self.next_header();
        let [tos, ttl, id] = self.dice.bytes();
        self.put(&[0x40 | words, tos]);
        self.put16(length);
        self.put(&[0, id]);
        self.put16(fragment);
        self.put(&[ttl, protocol, 0, 0]);
        for _ in 0..2 {
            let address = self.dice.pick(pool::IPV4);
            self.put(&address);
        }
        self.put(&[0, 1, 1, 1].repeat(options));
        self.transport(protocol);
    }

    fn ipv6(&mut self) {
        let [class, label, hops] = self.dice.bytes();
        let next = self.next_header();
        let length = self.dice.pick(&[0_u16, 8, 40, 1440]);
        self.put(&[0x60 | class >> 4, class << 4, 0, label]);
        self.put16(length);
        self.put(&[next, hops]);
        for _ in 0..2 {
            for group in self.dice.pick(pool::IPV6) {
                self.put16(group);
            }
        }
        self.transport(next);
    }

    /// Transport protocols most of the time.
    pub(super) fn next_header(&mut self) -> u8 {
        match self.dice.below(4) {
            0..=1 => self.dice.pick(&[6, 17]),
            2 => self.dice.pick(&[1, 58, 132, 51, 0, 60, 43, 44, 4, 41]),
            _ => self.dice.pick(pool::PROTOCOLS),
        }
    }
}
