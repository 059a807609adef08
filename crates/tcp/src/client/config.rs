//! What a client is made with.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::frame::{IPV4, IPV6, Path};
use crate::segment::HEADER;

/// What a client is made with.
#[derive(Clone, Debug)]
pub struct Config {
    /// The addresses and ports that are its own.
    pub locals: Vec<Local>,
    /// A secret, random and new for each run: who knows it can forge answers.
    pub key: [u8; 16],
    /// Connections kept at once, at most.
    pub connections: usize,
    /// Bytes that a peer may have under way, up to 1 GiB.
    pub window: u32,
    /// Bytes of the longest IP packet that is sent or asked for.
    pub mtu: u16,
    /// Bytes of memory for data that come early, shared by all connections.
    pub disorder: usize,
    /// How long a connection lasts at most.
    pub lifetime: Duration,
    /// How long late segments of a connection that ended are answered, and it is not opened again.
    pub linger: Duration,
    /// The shortest time before a segment is sent again; RFC 6298 2.4 says a second, common OSes 200 ms.
    pub least_timeout: Duration,
    /// Times that a segment is sent again before the peer counts as gone, at most 15.
    pub retries: u8,
    /// Answers a second, at most, to segments that are not in order: challenge ACKs, late and unknown segments.
    pub answers: u32,
    /// Take segments whose checksum their sender's kernel left to a card: for virtual wires, where there is none.
    pub partial_checksums: bool,
}

impl Config {
    /// What suits most uses: a window of 256 KiB, an MTU of 1500 bytes, 64 MiB for early data, connections of 30 s at most.
    pub fn new(locals: Vec<Local>, key: [u8; 16]) -> Self {
        Self {
            locals,
            key,
            connections: 1 << 20,
            window: 256 << 10,
            mtu: 1500,
            disorder: 64 << 20,
            lifetime: Duration::from_secs(30),
            linger: Duration::from_secs(2),
            least_timeout: Duration::from_millis(200),
            retries: 5,
            answers: 1_000,
            partial_checksums: false,
        }
    }

    /// Why it makes no sense, if it does not.
    pub(super) fn nonsense(&self) -> Option<String> {
        let longest = self.lifetime.max(self.linger);
        match self {
            Self { locals, .. } if locals.is_empty() => Some("there is no local address".into()),
            Self { locals, .. } if locals.len() > u16::MAX.into() => {
                Some(format!("there are {} local addresses, and 65,535 at most", locals.len()))
            }
            Self { mtu, .. } if *mtu < LEAST_MTU => {
                Some(format!("an MTU of {mtu} bytes is less than {LEAST_MTU}"))
            }
            Self { window, .. } if !(1..=MOST_WINDOW).contains(window) => {
                Some(format!("a window of {window} bytes is none of TCP's"))
            }
            Self { retries: 16.., .. } => {
                Some(format!("{} retries are more than 15", self.retries))
            }
            Self { connections, .. } if *connections > MOST_CONNECTIONS => {
                Some(format!("{connections} connections are more than {MOST_CONNECTIONS}"))
            }
            _ if longest > LONGEST => Some(format!("{longest:?} is longer than a week")),
            _ => None,
        }
    }

    /// Bits by which our windows are shifted, as few as do (RFC 7323 2.3).
    pub(super) fn window_scale(&self) -> u8 {
        let bits = u32::BITS - self.window.leading_zeros();
        bits.saturating_sub(16) as u8
    }

    /// The longest payload that we take from an address (RFC 9293 3.7.1).
    pub(super) fn receive_mss(&self, remote: IpAddr) -> u16 {
        self.mtu - headers(remote)
    }
}

/// Bytes of the headers before options in a packet to this address.
pub(super) fn headers(remote: IpAddr) -> u16 {
    (HEADER + if remote.is_ipv4() { IPV4 } else { IPV6 }) as u16
}

/// What any host must take (RFC 791 3.1).
const LEAST_MTU: u16 = 576;
/// RFC 7323 2.3: 65,535 shifted by 14.
const MOST_WINDOW: u32 = 65_535 << 14;
/// So that numbers leave a bit free.
const MOST_CONNECTIONS: usize = 1 << 30;
/// Ticks are compared over half their range.
const LONGEST: Duration = Duration::from_secs(7 * 86_400);

/// An address of the client's own.
#[derive(Clone, Debug)]
pub struct Local {
    /// The address.
    pub address: IpAddr,
    /// Its ports that are the client's; segments to others are not looked at.
    pub ports: RangeInclusive<u16>,
    /// The hardware address that frames are from.
    pub mac: [u8; 6],
}

impl Local {
    /// The way to `destination` by this next hop.
    pub(super) fn path(&self, destination: IpAddr, next_hop: [u8; 6]) -> Path {
        Path { mac: self.mac, next_hop, source: self.address, destination }
    }
}

/// Local addresses in order, with their indices, and the ports of each. Every segment that comes is looked up.
#[derive(Debug)]
pub(super) struct Locals {
    ipv4: Vec<(Ipv4Addr, u16)>,
    ipv6: Vec<(Ipv6Addr, u16)>,
    ports: Vec<RangeInclusive<u16>>,
}

impl Locals {
    pub(super) fn new(locals: &[Local]) -> Self {
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        for (local, index) in locals.iter().zip(0..) {
            match local.address {
                IpAddr::V4(address) => ipv4.push((address, index)),
                IpAddr::V6(address) => ipv6.push((address, index)),
            }
        }
        ipv4.sort_unstable();
        ipv6.sort_unstable();
        Self { ipv4, ipv6, ports: locals.iter().map(|local| local.ports.clone()).collect() }
    }

    /// The index of the local address that this is a port of.
    pub(super) fn find(&self, end: SocketAddr) -> Option<u16> {
        let index = match end.ip() {
            IpAddr::V4(address) => found(&self.ipv4, &address)?,
            IpAddr::V6(address) => found(&self.ipv6, &address)?,
        };
        self.ports[usize::from(index)].contains(&end.port()).then_some(index)
    }
}

fn found<T: Ord>(sorted: &[(T, u16)], address: &T) -> Option<u16> {
    let place = sorted.binary_search_by(|(known, _)| known.cmp(address)).ok()?;
    Some(sorted[place].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        let local = |address: &str| Local {
            address: address.parse().unwrap(),
            ports: 1000..=1999,
            mac: [2; 6],
        };
        Config::new(vec![local("fd00::1"), local("10.0.0.1")], [0; 16])
    }

    #[test]
    fn windows_are_shifted_as_little_as_does() {
        for (window, scale) in [(1, 0), (65_535, 0), (65_536, 1), (256 << 10, 3), (MOST_WINDOW, 14)]
        {
            let config = Config { window, ..config() };
            assert_eq!(config.window_scale(), scale, "{window}");
            assert_eq!(config.nonsense(), None);
            assert!(window >> scale <= 65_535);
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let day = Duration::from_secs(86_400);
        for bad in [
            Config { locals: vec![], ..config() },
            Config { mtu: 500, ..config() },
            Config { window: 0, ..config() },
            Config { window: MOST_WINDOW + 1, ..config() },
            Config { retries: 16, ..config() },
            Config { connections: MOST_CONNECTIONS + 1, ..config() },
            Config { lifetime: 8 * day, ..config() },
        ] {
            assert!(bad.nonsense().is_some(), "{bad:?}");
        }
    }

    #[test]
    fn ports_and_addresses_of_others_are_not_ours() {
        let locals = Locals::new(&config().locals);
        let find = |end: &str| locals.find(end.parse().unwrap());
        assert_eq!((find("10.0.0.1:1000"), find("[fd00::1]:1999")), (Some(1), Some(0)));
        assert_eq!((find("10.0.0.1:2000"), find("10.0.0.2:1000")), (None, None));
    }
}
