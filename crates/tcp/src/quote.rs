//! ICMP errors, and the segment of ours that they quote.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use etherparse::IpNumber;
use etherparse::checksum::Sum16BitWords;

use crate::frame::{IPV4, IPV6, Packet};
use crate::{Flow, Seq};

/// Bytes of an ICMP error before what it quotes (RFC 792, RFC 4443 3).
const ICMP: usize = 8;

/// An error that somebody tells of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The segment's ends: local is its sender.
    pub flow: Flow,
    /// The segment's sequence number.
    pub seq: Seq,
    /// What is wrong.
    pub trouble: Trouble,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The destination cannot be reached, for the reason of this code (RFC 792, RFC 4443 3.1).
    Unreachable(u8),
    /// Packets may have so many bytes and no more (RFC 1191 4, RFC 4443 3.2).
    TooBig(u32),
}

/// The same of a packet of any protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// Whom the packet is from.
    pub source: IpAddr,
    /// Whom it is for.
    pub destination: IpAddr,
    /// What its payload is.
    pub protocol: IpNumber,
    /// The beginning of its payload.
    pub head: [u8; 8],
    /// What is wrong.
    pub trouble: Trouble,
}

impl Quoted {
    /// The error in a packet of ICMP; `None` for other messages and damaged ones.
    pub fn parse(packet: &Packet<'_>) -> Option<Self> {
        let (header, quoted) = packet.payload.split_first_chunk::<ICMP>()?;
        let word = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        let trouble = match (packet.protocol, header[0], header[1]) {
            (IpNumber::ICMP, 3, 4) => Trouble::TooBig(word & 0xffff),
            (IpNumber::ICMP, 3, code) | (IpNumber::IPV6_ICMP, 1, code) => {
                Trouble::Unreachable(code)
            }
            (IpNumber::IPV6_ICMP, 2, _) => Trouble::TooBig(word),
            _ => return None,
        };
        let is_sound = match packet.protocol {
            IpNumber::ICMP => Sum16BitWords::new().add_slice(packet.payload).ones_complement() == 0,
            _ => packet.is_sound(),
        };
        let (source, destination, protocol, rest) = match packet.protocol {
            IpNumber::ICMP => quoted_ipv4(quoted)?,
            _ => quoted_ipv6(quoted)?,
        };
        let head = *rest.first_chunk().filter(|_| is_sound)?;
        Some(Self { source, destination, protocol, head, trouble })
    }

    /// The two ends, for protocols that begin with ports: local is the packet's sender.
    pub fn flow(&self) -> Flow {
        let port = |at: usize| u16::from_be_bytes([self.head[at], self.head[at + 1]]);
        Flow {
            local: SocketAddr::new(self.source, port(0)),
            remote: SocketAddr::new(self.destination, port(2)),
        }
    }
}

impl Quote {
    /// The error in a packet of ICMP; `None` for other messages, damaged ones, and those about other protocols.
    pub fn parse(packet: &Packet<'_>) -> Option<Self> {
        let quoted = Quoted::parse(packet).filter(|quoted| quoted.protocol == IpNumber::TCP)?;
        let seq = quoted.head[4..].first_chunk().copied().map(u32::from_be_bytes)?;
        Some(Self { flow: quoted.flow(), seq: Seq(seq), trouble: quoted.trouble })
    }
}

/// Source, destination, protocol and payload.
type Inner<'a> = (IpAddr, IpAddr, IpNumber, &'a [u8]);

/// Routers cut what they quote, so lengths mean nothing.
fn quoted_ipv4(quoted: &[u8]) -> Option<Inner<'_>> {
    let header = quoted.first_chunk::<IPV4>()?;
    let length = usize::from(header[0] & 0x0f) * 4;
    let address = |at: usize| header[at..].first_chunk::<4>().copied().map(Ipv4Addr::from);
    let is_ipv4 = header[0] >> 4 == 4 && length >= IPV4;
    let rest = quoted.get(length..).filter(|_| is_ipv4)?;
    Some((address(12)?.into(), address(16)?.into(), IpNumber(header[9]), rest))
}

fn quoted_ipv6(quoted: &[u8]) -> Option<Inner<'_>> {
    let (header, rest) = quoted.split_first_chunk::<IPV6>()?;
    let address = |at: usize| header[at..].first_chunk::<16>().copied().map(Ipv6Addr::from);
    let (source, destination) = (address(8)?, address(24)?);
    let is_ipv6 = header[0] >> 4 == 6;
    is_ipv6.then_some((source.into(), destination.into(), IpNumber(header[6]), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{ETHERNET, Path};
    use crate::segment::{Control, Header};
    use proptest::prelude::*;

    /// A SYN of ours, and an error of a router about it.
    fn error(six: bool, kind: [u8; 2], word: u32, cut: usize) -> Vec<u8> {
        let names = if six {
            ["fd00::1", "fd00::2", "fd00::9"]
        } else {
            ["10.0.0.1", "10.0.0.2", "10.0.0.9"]
        };
        let [source, destination, router] = names.map(|name| name.parse().unwrap());
        let path = Path { mac: [2; 6], next_hop: [4; 6], source, destination };
        let (mut syn, mut slot) = ([0; 100], vec![0; 200]);
        let header = Header { seq: Seq(0x0102_0304), control: Control::SYN, ..Header::default() };
        let length = header.write(&mut syn, &path, (40_000, 80), |_| 0);
        let back = Path { source: router, destination: source, ..path };
        let protocol = if six { IpNumber::IPV6_ICMP } else { IpNumber::ICMP };
        let length = back.write(&mut slot, protocol, 2, |icmp| {
            let quoted = &syn[ETHERNET..length - cut];
            icmp[..2].copy_from_slice(&kind);
            icmp[4..8].copy_from_slice(&word.to_be_bytes());
            icmp[ICMP..ICMP + quoted.len()].copy_from_slice(quoted);
            ICMP + quoted.len()
        });
        slot.truncate(length);
        slot
    }

    #[test]
    fn the_quoted_segment_is_found() {
        for (six, kind, word, trouble) in [
            (false, [3, 1], 0, Trouble::Unreachable(1)),
            (false, [3, 4], 1400, Trouble::TooBig(1400)),
            (true, [1, 4], 0, Trouble::Unreachable(4)),
            (true, [2, 0], 1280, Trouble::TooBig(1280)),
        ] {
            let frame = error(six, kind, word, 12);
            let quote = Quote::parse(&Packet::parse(&frame).unwrap()).unwrap();
            assert_eq!((quote.seq, quote.trouble), (Seq(0x0102_0304), trouble));
            assert_eq!((quote.flow.local.port(), quote.flow.remote.port()), (40_000, 80));
        }
    }

    #[test]
    fn other_messages_and_damaged_ones_are_none() {
        let parse = |frame: &[u8]| Quote::parse(&Packet::parse(frame).unwrap());
        assert_eq!(parse(&error(false, [8, 0], 0, 0)), None, "an echo request");
        assert_eq!(parse(&error(false, [3, 1], 0, 13)), None, "the quote is too short");
        let mut frame = error(true, [1, 0], 0, 0);
        *frame.last_mut().unwrap() ^= 1;
        assert_eq!(parse(&frame), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(six: bool, data in prop::collection::vec(any::<u8>(), 8..90)) {
            let protocol = if six { IpNumber::IPV6_ICMP } else { IpNumber::ICMP };
            let address: IpAddr = if six { "::1" } else { "1.2.3.4" }.parse().unwrap();
            let packet = Packet {
                neighbour: [0; 6], source: address, destination: address, protocol, hop_limit: 1, payload: &data,
            };
            Quote::parse(&packet);
        }
    }
}
