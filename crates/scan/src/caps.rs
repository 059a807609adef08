//! How many of a host, and of a network, are probed or visited at once.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The most visits at once, and those under way.
#[derive(Clone, Debug, Default)]
pub struct Caps {
    hosts: Counts<IpAddr>,
    networks: Counts<IpAddr>,
}

/// Of each key, how many.
#[derive(Clone, Debug)]
struct Counts<K> {
    most: Option<u32>,
    counts: HashMap<K, u32>,
}

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self { most: None, counts: HashMap::new() }
    }
}

impl Caps {
    /// So many of a host and of a network at most; `None`: as many as there are. A network is a /24 of IPv4 or a /48 of IPv6,
    /// which is what one site has (RFC 6177).
    pub fn new(of_host: Option<u32>, of_network: Option<u32>) -> Self {
        let counts = |most| Counts { most, counts: HashMap::new() };
        Self { hosts: counts(of_host), networks: counts(of_network) }
    }

    /// False when there is nothing to be counted.
    pub(crate) fn are_set(&self) -> bool {
        self.hosts.most.is_some() || self.networks.most.is_some()
    }

    /// One more visit to this address, if it may be.
    pub(crate) fn enter(&mut self, address: IpAddr) -> bool {
        let may = self.hosts.has_room(&address) && self.networks.has_room(&network(address));
        if may {
            self.enter_anyway(address);
        }
        may
    }

    /// One more visit, which is under way already.
    pub(crate) fn enter_anyway(&mut self, address: IpAddr) {
        self.hosts.add(address);
        self.networks.add(network(address));
    }

    /// One visit less.
    pub(crate) fn leave(&mut self, address: IpAddr) {
        self.hosts.remove(&address);
        self.networks.remove(&network(address));
    }
}

impl<K: Eq + Hash> Counts<K> {
    fn has_room(&self, key: &K) -> bool {
        self.most.is_none_or(|most| self.counts.get(key).is_none_or(|count| *count < most))
    }

    fn add(&mut self, key: K) {
        if self.most.is_some() {
            *self.counts.entry(key).or_default() += 1;
        }
    }

    fn remove(&mut self, key: &K) {
        if let Some(count) = self.counts.get_mut(key) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(key);
            }
        }
    }
}

/// The first address of its network.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() & !0xff).into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !0 << 80).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_networks_have_room_again_when_visits_are_over() {
        let address = |text: &str| text.parse().unwrap();
        let mut caps = Caps::new(Some(2), Some(3));
        let enters = ["10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.1.3"];
        let found = enters.map(|text| caps.enter(address(text)));
        assert_eq!(found, [true, true, false, true, false, true]);
        caps.leave(address("10.0.0.1"));
        assert!(!caps.clone().enter(address("10.0.0.1")) || caps.enter(address("10.0.0.3")));
        let six = ["fd00:0:1::1", "fd00:0:1::2", "fd00:0:1:9::1", "fd00:0:1:8::1", "fd00:0:2::1"];
        let found = six.map(|text| caps.enter(address(text)));
        assert_eq!(found, [true, true, true, false, true]);
        for text in ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.1.3"] {
            caps.leave(address(text));
        }
        assert!(caps.hosts.counts.keys().all(IpAddr::is_ipv6), "nothing is left");
    }

    #[test]
    fn without_caps_nothing_is_kept() {
        let mut caps = Caps::default();
        assert!(!caps.are_set());
        assert!((0..100).all(|_| caps.enter([10, 0, 0, 1].into())));
        assert!(caps.hosts.counts.is_empty());
    }
}
