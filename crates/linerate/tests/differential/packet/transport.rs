//! What follows a network layer's header: transport layers, extension headers, tunnels.

use super::Builder;
use super::link::Network;
use crate::pool;

const GENEVE: u16 = 6081;
/// Extension headers in a row, network layers before them included.
const LONGEST_CHAIN: u32 = 6;

impl Builder {
    pub(super) fn transport(&mut self, protocol: u8) {
        match protocol {
            1 | 58 => self.icmp(),
            4 => self.network(Network::Ipv4),
            41 => self.network(Network::Ipv6),
            6 => self.tcp(),
            17 => self.udp(),
            132 => self.sctp(),
            0 | 43 | 60 => self.extension(),
            44 => self.fragment(),
            51 => self.authentication(),
            _ => self.noise(24),
        }
    }

    fn ports(&mut self) -> u16 {
        let (source, destination) = (self.dice.pick(pool::PORTS), self.dice.pick(pool::PORTS));
        self.put16(source);
        self.put16(destination);
        destination
    }

    fn tcp(&mut self) {
        self.ports();
        let [sequence, acknowledgement, flags, window] = self.dice.bytes();
        self.put32(sequence.into());
        self.put32(acknowledgement.into());
        let words = self.dice.pick(&[5_u8, 5, 6, 8, 15, 0]);
        self.put(&[words << 4, flags, 0, window, 0, 0, 0, 0]);
        self.put(&[1; 4].repeat(usize::from(words.saturating_sub(5))));
        self.noise(12);
    }

    fn udp(&mut self) {
        let destination = self.ports();
        self.put(&[0, 40, 0, 0]);
        match destination {
            GENEVE => self.geneve(),
            _ => self.noise(16),
        }
    }

    fn sctp(&mut self) {
        self.ports();
        self.noise(16);
    }

    fn icmp(&mut self) {
        let kind = self.dice.pick(&[0_u8, 3, 8, 11, 128, 129, 133, 134, 135]);
        self.put(&[kind, 0, 0, 0]);
        self.noise(12);
    }

    /// RFC 8926: version and length of the options, protocol, network identifier.
    fn geneve(&mut self) {
        let words = self.dice.pick(&[0_u8, 0, 1, 3, 63]);
        let version = self.dice.pick(&[0_u8, 0, 0, 0x40]);
        self.put(&[version | words, 0]);
        let protocol = self.dice.pick(&[0x6558_u16, 0x6558, 0x0800, 0x86dd, 0x8100, 0x88b5]);
        self.put16(protocol);
        let identifier = self.dice.pick(pool::VNIS);
        self.put32(identifier << 8);
        self.put(&[0, 1, 2, 3].repeat(usize::from(words)));
        match protocol {
            0x6558 => self.ethernet(),
            0x0800 => self.network(Network::Ipv4),
            0x86dd => self.network(Network::Ipv6),
            _ => self.noise(20),
        }
    }

    /// An IPv6 extension header whose length counts units of 8 bytes beyond the first.
    fn extension(&mut self) {
        let next = self.next_header();
        let units = self.dice.pick(&[0_u8, 0, 1, 2]);
        self.put(&[next, units]);
        self.put(&vec![0; (usize::from(units) + 1) * 8 - 2]);
        self.transport_within(next);
    }

    fn fragment(&mut self) {
        let next = self.next_header();
        let offset = self.dice.pick(&[0_u16, 1, 0xb9 << 3]);
        self.put(&[next, 0]);
        self.put16(offset);
        self.put32(7);
        self.transport_within(next);
    }

    /// Its length counts units of 4 bytes beyond the first two.
    fn authentication(&mut self) {
        let next = self.next_header();
        let units = self.dice.pick(&[1_u8, 4, 4, 0]);
        self.put(&[next, units]);
        self.put(&vec![0; (usize::from(units) + 2) * 4 - 2]);
        self.transport_within(next);
    }

    fn transport_within(&mut self, next: u8) {
        self.depth += 1;
        if self.depth <= LONGEST_CHAIN {
            self.transport(next);
        }
    }
}
