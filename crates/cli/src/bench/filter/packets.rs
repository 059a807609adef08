//! What filters are run over.

use std::fmt;

use etherparse::PacketBuilder;
use linerate::base::{Batch, Descriptor, Interface, LinkType};

/// Where packets and their table fit: the caches of a processor of today. All are twice and more the size of the next nearer cache.
#[derive(Clone, Copy)]
pub(in crate::bench) enum Place {
    L2,
    L3,
    Memory,
}

impl Place {
    pub(in crate::bench) const ALL: [Self; 3] = [Self::L2, Self::L3, Self::Memory];

    /// 112 bytes each with their descriptors: 0.9, 15 and 235 MB.
    fn packets(self) -> usize {
        match self {
            Self::L2 => 1 << 13,
            Self::L3 => 1 << 17,
            Self::Memory => 1 << 21,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::L2 => "L2",
            Self::L3 => "L3",
            Self::Memory => "DRAM",
        })
    }
}

/// How alike packets are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::bench) enum Traffic {
    /// One connection: the same branch every time.
    Steady,
    /// Of every kind, in an order that no branch predictor learns.
    Mixed,
}

impl Traffic {
    pub(in crate::bench) const ALL: [Self; 2] = [Self::Steady, Self::Mixed];
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Steady { "steady" } else { "mixed" })
    }
}

/// Bytes from one packet to the next, as in a savefile of frames of 60 bytes.
const STRIDE: usize = 80;
const FRAME: usize = 60;

/// Packets one behind the other.
pub(in crate::bench) struct Packets {
    region: Vec<u8>,
    table: Vec<Descriptor>,
    interfaces: [Interface; 1],
}

impl Packets {
    pub(in crate::bench) fn new(place: Place, traffic: Traffic) -> Self {
        let different: u32 = if traffic == Traffic::Steady { 1 } else { 1 << 14 };
        let frames: Vec<_> = (0..different).map(frame).collect();
        let count = place.packets();
        let mut region = vec![0; count * STRIDE];
        let descriptor = |(number, slot): (usize, &mut [u8])| {
            let frame = &frames[(scrambled(number as u32) % different) as usize];
            slot[..FRAME].copy_from_slice(frame);
            let (offset, bytes) = ((number * STRIDE) as u32, FRAME as u32);
            Descriptor { offset, captured: bytes, length: bytes, ..Descriptor::default() }
        };
        let table = region.chunks_exact_mut(STRIDE).enumerate().map(descriptor).collect();
        let interface = Interface { link_type: LinkType::ETHERNET, ..Interface::default() };
        Self { region, table, interfaces: [interface] }
    }

    pub(in crate::bench) fn batch(&self) -> Batch<'_> {
        Batch::new(&self.region, &self.table, &self.interfaces)
    }
}

/// A number without a pattern (the finaliser of MurmurHash3, by A. Appleby).
fn scrambled(number: u32) -> u32 {
    let number = (number ^ number >> 16).wrapping_mul(0x85eb_ca6b);
    let number = (number ^ number >> 13).wrapping_mul(0xc2b2_ae35);
    number ^ number >> 16
}

/// Ports of servers.
const PORTS: [u16; 16] =
    [80, 443, 443, 443, 53, 22, 25, 8080, 123, 993, 3306, 5432, 6881, 5060, 179, 8443];

/// One of the frames: mostly TCP over IPv4, with UDP, ICMP, ARP and IPv6 among it. The first is web traffic.
fn frame(number: u32) -> Vec<u8> {
    let hash = if number == 0 { 0 } else { scrambled(number) };
    let address = |bits: u32| [10, 0, (bits >> 8 & 3) as u8, bits as u8];
    let (client, server) = (address(hash), address(hash >> 10));
    let port = PORTS[(hash >> 20) as usize % PORTS.len()];
    let other = 32_768 + (hash >> 3 & 0x7fff) as u16;
    let (from, to) = if hash >> 19 & 1 == 0 { (port, other) } else { (other, port) };
    let link = PacketBuilder::ethernet2([2, 0, 0, 0, 0, hash as u8 & 1], [2, 0, 0, 0, 0, 9]);
    let mut bytes = Vec::with_capacity(2 * FRAME);
    let wide = |[a, b, c, d]: [u8; 4]| [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d];
    let written = match hash >> 24 & 15 {
        0..=8 => link.ipv4(client, server, 64).tcp(from, to, hash, 1024).write(&mut bytes, &[0; 6]),
        9..=11 => link.ipv4(client, server, 64).udp(from, to).write(&mut bytes, &[0; 18]),
        12 => link.ipv4(client, server, 64).icmpv4_echo_request(1, 1).write(&mut bytes, &[0; 18]),
        13 => link
            .ipv6(wide(client), wide(server), 64)
            .tcp(from, to, hash, 1024)
            .write(&mut bytes, &[]),
        14 => link.ipv6(wide(client), wide(server), 64).udp(from, to).write(&mut bytes, &[]),
        _ => {
            bytes = vec![0; FRAME];
            (bytes[12], bytes[13]) = (0x08, 0x06);
            Ok(())
        }
    };
    written.expect("a vector takes every byte");
    bytes.resize(FRAME, 0);
    bytes
}
