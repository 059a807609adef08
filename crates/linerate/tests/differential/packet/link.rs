//! Link layers, and what lies between them and the network layer.

use linerate::base::LinkType;

use super::Builder;
use crate::pool;

/// What carries a network layer, for the number that announces it.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Network {
    Ipv4,
    Ipv6,
    Other(u16),
}

impl Network {
    fn ethertype(self) -> u16 {
        match self {
            Self::Ipv4 => 0x0800,
            Self::Ipv6 => 0x86dd,
            Self::Other(number) => number,
        }
    }

    /// PPP's number for it (RFC 1332, RFC 5072).
    fn ppp(self) -> u16 {
        match self {
            Self::Ipv4 => 0x0021,
            Self::Ipv6 => 0x0057,
            Self::Other(0x8847) => 0x0281,
            Self::Other(0x8848) => 0x0283,
            Self::Other(number) => number,
        }
    }
}

impl Builder {
    pub(super) fn link_layer(&mut self, link_type: LinkType) {
        match link_type {
            LinkType::ETHERNET => self.ethernet(),
            LinkType::LINUX_SLL => self.cooked(),
            LinkType::LINUX_SLL2 => self.cooked2(),
            LinkType::RAW => self.raw(),
            LinkType::IPV4 => self.network(Network::Ipv4),
            LinkType::IPV6 => self.network(Network::Ipv6),
            LinkType::NULL => self.loopback(u32::to_ne_bytes),
            LinkType::LOOP => self.loopback(u32::to_be_bytes),
            LinkType::PPP => self.ppp_framed(),
            other => panic!("no packets of link type {other}"),
        }
    }

    fn choose_network(&mut self) -> Network {
        match self.dice.below(10) {
            0..=4 => Network::Ipv4,
            5..=7 => Network::Ipv6,
            _ => Network::Other(self.dice.pick(pool::ETHERTYPES)),
        }
    }

    pub(super) fn ethernet(&mut self) {
        for _ in 0..2 {
            let mac = self.dice.pick(pool::MAC);
            self.put(&mac);
        }
        if self.dice.one_in(6) {
            return self.length_framed();
        }
        self.ethertype_and_payload();
    }

    pub(super) fn ethertype_and_payload(&mut self) {
        let network = self.choose_network();
        self.put16(network.ethertype());
        self.network(network);
    }

    fn cooked(&mut self) {
        let packet_type = self.dice.pick(&[0_u16, 1, 2, 3, 4]);
        self.put16(packet_type);
        let hardware = self.dice.pick(&[1_u16, 772, 778]);
        self.put16(hardware);
        self.put16(6);
        let mac = self.dice.pick(pool::MAC);
        self.put(&mac);
        self.put(&[0, 0]);
        self.cooked_protocol();
    }

    fn cooked_protocol(&mut self) {
        if self.dice.one_in(5) {
            let novell_or_llc = self.dice.pick(&[1_u16, 4]);
            self.put16(novell_or_llc);
            return self.llc();
        }
        self.ethertype_and_payload();
    }

    fn cooked2(&mut self) {
        let network = self.choose_network();
        let number =
            if self.dice.one_in(8) { self.dice.pick(&[1, 4]) } else { network.ethertype() };
        self.put16(number);
        self.put(&[0, 0]);
        let interface = self.dice.pick(&[0_u32, 1, 7]);
        self.put32(interface);
        self.put16(1);
        let packet_type = self.dice.pick(&[0_u8, 1, 2, 3, 4]);
        self.put(&[packet_type, 6]);
        let mac = self.dice.pick(pool::MAC);
        self.put(&mac);
        self.put(&[0, 0]);
        self.network(network);
    }

    fn raw(&mut self) {
        let network = self.dice.pick(&[Network::Ipv4, Network::Ipv4, Network::Ipv6]);
        self.network(network);
    }

    /// The family is in the capturing host's byte order, or in the other one.
    fn loopback(&mut self, order: fn(u32) -> [u8; 4]) {
        let (family, network) = match self.dice.below(8) {
            0..=3 => (2, Network::Ipv4),
            4..=6 => (self.dice.pick(&[10, 24, 28, 30]), Network::Ipv6),
            _ => (self.dice.pick(&[0, 7, 23, 0x0800]), Network::Ipv4),
        };
        let mut bytes = order(family);
        if self.dice.one_in(6) {
            bytes.reverse();
        }
        self.put(&bytes);
        self.network(network);
    }

    fn ppp_framed(&mut self) {
        let direction_or_hdlc = self.dice.pick(&[[0xff, 3], [0, 3], [1, 3]]);
        self.put(&direction_or_hdlc);
        self.ppp();
    }

    fn ppp(&mut self) {
        let network = self.choose_network();
        self.put16(network.ppp());
        self.network(network);
    }

    /// An 802.3 frame.
    fn length_framed(&mut self) {
        let length = self.dice.pick(&[0_u16, 3, 46, 1500]);
        self.put16(length);
        if self.dice.one_in(6) {
            // Novell's framing without any 802.2 header.
            self.put16(0xffff);
            return self.noise(20);
        }
        self.llc();
    }

    fn llc(&mut self) {
        let (dsap, ssap) = match self.dice.pick(pool::SAPS) {
            sap if self.dice.one_in(8) => (sap, self.dice.pick(pool::SAPS)),
            sap => (sap, sap),
        };
        let response = u8::from(self.dice.one_in(4));
        let control = self
            .dice
            .pick(&[0x03_u8, 0x00, 0x01, 0x05, 0x09, 0x63, 0x43, 0x6f, 0xe3, 0xaf, 0x87, 0x7f]);
        self.put(&[dsap, ssap | response, control]);
        match dsap {
            0xaa => self.snap(),
            0xfe => self.osi(),
            _ => self.noise(20),
        }
    }

    fn snap(&mut self) {
        let organisation = self.dice.pick(&[[0, 0, 0], [8, 0, 7], [0, 0, 0xc]]);
        self.put(&organisation);
        self.ethertype_and_payload();
    }

    /// ISO network layers: CLNP, ES-IS, IS-IS with each of its packet types.
    fn osi(&mut self) {
        let discriminator = self.dice.pick(&[0x81_u8, 0x82, 0x83]);
        self.put(&[discriminator, 27, 1, 0]);
        let kind = self.dice.pick(&[15_u8, 16, 17, 18, 20, 24, 25, 26, 27]);
        self.put(&[kind, 1, 0, 0]);
        self.noise(12);
    }

    pub(super) fn other(&mut self, number: u16) {
        match number {
            0x0806 | 0x8035 => self.arp(),
            0x8100 | 0x88a8 | 0x9100 => self.vlan(),
            0x8847 | 0x8848 => self.mpls(),
            0x8863 | 0x8864 => self.pppoe(),
            0x0600.. => self.noise(30),
            _ => self.llc(),
        }
    }

    fn vlan(&mut self) {
        let tag = self.dice.pick(pool::VLANS) | self.dice.pick(&[0, 0x2000, 0xf000]);
        self.put16(tag);
        self.ethertype_and_payload();
    }

    fn mpls(&mut self) {
        for left in (0..=self.dice.below(3)).rev() {
            let label = self.dice.pick(pool::LABELS) << 12;
            let bottom = u32::from(left == 0) << 8;
            self.put32(label | bottom | 64);
        }
        let network = self.dice.pick(&[Network::Ipv4, Network::Ipv4, Network::Ipv6]);
        self.network(network);
    }

    fn pppoe(&mut self) {
        self.put(&[0x11, 0]);
        let session = self.dice.pick(pool::SESSIONS);
        self.put16(session);
        self.put16(40);
        self.ppp();
    }

    fn arp(&mut self) {
        self.put(&[0, 1, 8, 0, 6, 4]);
        let operation = self.dice.pick(&[1_u16, 2, 3]);
        self.put16(operation);
        for _ in 0..2 {
            let mac = self.dice.pick(pool::MAC);
            self.put(&mac);
            let address = self.dice.pick(pool::IPV4);
            self.put(&address);
        }
    }
}
