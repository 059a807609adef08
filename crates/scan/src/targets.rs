//! What is probed: addresses and ports, each pair once, in an order that looks random.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use linerate_base::{Error, ErrorKind, Result};
use linerate_transmit::blocklist::addresses;
use linerate_transmit::space::{Space, Span, merged};
use linerate_transmit::{Blocklist, Permutation};

/// Where a probe goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The address.
    pub address: IpAddr,
    /// The port; 0 of protocols without any.
    pub port: u16,
}

/// Addresses as users name them.
#[derive(Clone, Debug, Default)]
pub struct Addresses {
    ipv4: Vec<Span>,
    ipv6: Vec<Span>,
}

impl Addresses {
    /// Adds `10.0.0.0/8`, `10.0.0.1` or `10.0.0.1-10.0.0.9`; false for what is none of these.
    pub fn add(&mut self, text: &str) -> bool {
        let Some((span, is_ipv6)) = addresses(text) else { return false };
        let list = if is_ipv6 { &mut self.ipv6 } else { &mut self.ipv4 };
        list.push(span);
        true
    }

    /// Adds those of a list, one to a line, with comments from `#` on, and returns the lines that name none: their numbers
    /// from 1, and their text.
    pub fn add_lines<'a>(&mut self, text: &'a str) -> Vec<(usize, &'a str)> {
        let mut bad = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let entry = line.split('#').next().unwrap_or_default().trim();
            if !entry.is_empty() && !self.add(entry) {
                bad.push((number, entry));
            }
        }
        bad
    }
}

/// A part of a scan: every so many-th of its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which one, from 0.
    pub index: u64,
    /// Of how many, more than `index`.
    pub of: u64,
}

impl Shard {
    /// All of it.
    pub const WHOLE: Self = Self { index: 0, of: 1 };
}

/// All targets of a scan, in an order that is the same on every machine.
#[derive(Clone, Debug)]
pub struct Targets {
    ipv4: Space,
    ipv6: Space,
    ports: Space,
    order: Permutation,
}

impl Targets {
    /// Every address but those `blocked`, with every one of `ports`, which are taken once each, in the order of `seed`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when nothing is left, or more than 2^63 targets.
    pub fn new(
        addresses: Addresses,
        ports: &[(u16, u16)],
        blocked: &Blocklist,
        seed: u64,
    ) -> Result<Self> {
        let left = |spans, blocked| Space::with_repeats(&merged(spans)).without(blocked);
        let ipv4 = left(addresses.ipv4, blocked.ipv4());
        let ipv6 = left(addresses.ipv6, blocked.ipv6());
        let ports: Vec<_> =
            ports.iter().filter_map(|(from, to)| Span::new((*from).into(), (*to).into())).collect();
        let ports = Space::new(&ports);
        let count = ipv4.count().saturating_add(ipv6.count()).saturating_mul(ports.count());
        let refuse = |answer: &str| Error::new(ErrorKind::Invalid, "choose targets", answer);
        match count {
            0 => Err(refuse("none is left").advise(
                "reserved and blocked addresses are left out; --allow-reserved takes reserved ones",
            )),
            1..=MOST => Ok(Self { ipv4, ipv6, ports, order: Permutation::new(count, seed) }),
            _ => Err(refuse("there are more than 2^63").advise("name smaller prefixes of IPv6")),
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.order.count() as u64
    }

    /// How many of them are in this part.
    pub fn count_in(&self, shard: Shard) -> u64 {
        self.count().saturating_sub(shard.index).div_ceil(shard.of)
    }

    /// The one at `position` in this part.
    ///
    /// # Panics
    /// When there are not as many.
    pub fn at(&self, shard: Shard, position: u64) -> Target {
        let index = shard.index + position * shard.of;
        assert!(index < self.count(), "no target at {position}");
        let number = self.order.at(index);
        let ports = self.ports.count() as u64;
        Target { address: self.address(number / ports), port: self.ports.at(number % ports) as u16 }
    }

    fn address(&self, number: u64) -> IpAddr {
        match u128::from(number).checked_sub(self.ipv4.count()) {
            None => Ipv4Addr::from_bits(self.ipv4.at(number) as u32).into(),
            Some(number) => Ipv6Addr::from_bits(self.ipv6.at(number as u64)).into(),
        }
    }

    /// All addresses of IPv4 and of IPv6, in order.
    pub fn addresses(&self) -> [&[Span]; 2] {
        [self.ipv4.spans(), self.ipv6.spans()]
    }

    /// An address of each family that there are targets of: IPv4, IPv6.
    pub fn examples(&self) -> (Option<Ipv4Addr>, Option<Ipv6Addr>) {
        let first = |space: &Space| (space.count() > 0).then(|| space.at(0));
        let ipv4 = first(&self.ipv4).map(|address| Ipv4Addr::from_bits(address as u32));
        (ipv4, first(&self.ipv6).map(Ipv6Addr::from_bits))
    }

    /// A number that stands for the set and its order: two scans with the same one have the same targets at the same
    /// positions. Not a secret.
    pub fn fingerprint(&self) -> u64 {
        let of = |space: &Space| -> Vec<u128> {
            space.spans().iter().flat_map(|span| [span.first, span.last]).collect()
        };
        let parts = [of(&self.ipv4), of(&self.ipv6), of(&self.ports)];
        let with_length = |part: &Vec<u128>| [vec![part.len() as u128], part.clone()].concat();
        let sample = [0, self.count() / 2, self.count() - 1].map(|index| self.order.at(index));
        let numbers = parts.iter().flat_map(with_length).chain(sample.map(u128::from));
        // FNV-1a, 64 bits.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        numbers.flat_map(u128::to_le_bytes).fold(0xcbf2_9ce4_8422_2325, step)
    }
}

/// Positions of a shard stay within 64 bits.
const MOST: u128 = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn addresses_of(texts: &[&str]) -> Addresses {
        let mut addresses = Addresses::default();
        texts.iter().for_each(|text| assert!(addresses.add(text), "{text}"));
        addresses
    }

    fn targets(texts: &[&str], ports: &[(u16, u16)], seed: u64) -> Targets {
        let blocked = Blocklist::parse("10.0.0.4/30\nfd00::2\n", "b").unwrap();
        Targets::new(addresses_of(texts), ports, &blocked, seed).unwrap()
    }

    #[test]
    fn bad_lines_are_told_and_the_rest_is_taken() {
        let mut addresses = Addresses::default();
        let text = "10.0.0.1 # one\n\nexample.com\n10.0.0.2-10.0.0.3\n10.0.0/8\n";
        assert_eq!(addresses.add_lines(text), [(3, "example.com"), (5, "10.0.0/8")]);
        let blocked = Blocklist::default();
        assert_eq!(Targets::new(addresses, &[(80, 80)], &blocked, 1).unwrap().count(), 3);
    }

    #[test]
    fn both_families_and_all_ports_are_in_it_and_none_that_is_blocked() {
        let names = ["10.0.0.0/29", "10.0.0.1", "fd00::1-fd00::3"];
        let targets = targets(&names, &[(80, 81), (80, 80), (7, 7)], 3);
        assert_eq!(targets.count(), (4 + 2) * 3);
        let all: HashSet<_> = (0..18).map(|p| targets.at(Shard::WHOLE, p)).collect();
        assert_eq!(all.len(), 18);
        let has =
            |address: &str, port| all.contains(&Target { address: address.parse().unwrap(), port });
        assert!(has("10.0.0.3", 81) && has("fd00::3", 7));
        assert!(!has("10.0.0.4", 80) && !has("fd00::2", 80));
    }

    #[test]
    fn nothing_and_too_much_are_refused() {
        let refused = |text: &str| {
            let blocked = Blocklist::parse("10.0.0.0/8", "b").unwrap();
            let addresses = addresses_of(&[text]);
            Targets::new(addresses, &[(0, 1)], &blocked, 1).unwrap_err().to_string()
        };
        assert!(refused("10.1.0.0/16").contains("--allow-reserved"));
        assert!(refused("fd00::/64").contains("2^63"));
    }

    #[test]
    fn fingerprints_tell_scans_apart() {
        let print = |text: &str, port, seed| targets(&[text], &[(port, port)], seed).fingerprint();
        let one = print("10.9.0.0/16", 80, 1);
        assert_eq!(one, print("10.9.0.0/16", 80, 1));
        for (text, port, seed) in
            [("10.9.0.0/17", 80, 1), ("10.9.0.0/16", 81, 1), ("10.9.0.0/16", 80, 2)]
        {
            assert_ne!(one, print(text, port, seed));
        }
    }

    proptest! {
        #[test]
        fn shards_share_all_targets(of in 1..9_u64, bits in 20..32_u32, seed: u64) {
            let targets = targets(&[&format!("10.1.0.0/{bits}")], &[(1, 3)], seed);
            let mut all = HashSet::new();
            let mut sum = 0;
            for index in 0..of {
                let shard = Shard { index, of };
                sum += targets.count_in(shard);
                all.extend((0..targets.count_in(shard)).map(|p| targets.at(shard, p)));
            }
            prop_assert_eq!((all.len() as u64, sum), (targets.count(), targets.count()));
        }
    }
}
