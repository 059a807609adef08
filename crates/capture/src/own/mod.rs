//! Owned addresses, and owned ports of addresses: what is sent to them is the application's, and the host's stack never sees it.
//!
//! [`Owned`] is the set, in maps that the tap's program looks into ([`program`]), so that it can change
//! while packets flow. Questions of neighbours for an owned address the program marks; [`answer`]
//! says what is to be answered and [`responder`] sends it. Whether the host needs its ports itself, [`ports`] knows.

mod answer;
pub(crate) mod ports;
mod prefix;
pub(crate) mod program;
pub(crate) mod responder;

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::bpf::{Map, MapSpec};

pub use prefix::Prefix;

/// A set of addresses, and of ports of addresses, that belong to the application: [`Config::owned`](crate::Config::owned).
///
/// Of an address of which only ports are owned, everything else is the host's, who answers for it and gets what it got before. TCP
/// segments and datagrams of UDP to these ports it does not get. Of ICMP, errors and answers to pings among it, it gets all, and so does
/// the capture: whose they are, their contents tell. Ports are in a packet's first fragment only: later ones go
/// to the host, who cannot put them together. Nor is looked for ports behind extension headers of IPv6.
///
/// Clones are one and the same set. It may change at any time, from any thread; captures that have it
/// follow at once.
#[derive(Clone, Debug)]
pub struct Owned(Arc<Maps>);

#[derive(Debug)]
pub(crate) struct Maps {
    pub(crate) ipv4: Map,
    pub(crate) ipv6: Map,
}

/// The most prefixes of each family.
const MOST: u32 = 65_536;

/// What those who list maps see.
const NAME: &str = "linerate_own";

/// What the maps have for an address that is owned as a whole. For one of which ports are, it is the last port in
/// the higher 16 bits and the first one, which is not 0, in the lower ones.
const WHOLE: u32 = 0;

impl Owned {
    /// A set of these prefixes.
    ///
    /// # Errors
    /// [`ErrorKind::Permission`](linerate_base::ErrorKind::Permission) without CAP_BPF: the set lives
    /// in the kernel. [`ErrorKind::Exhausted`](linerate_base::ErrorKind::Exhausted) for more than 65,536
    /// prefixes of one family.
    pub fn new(prefixes: &[Prefix]) -> Result<Self> {
        let map = |address_size| {
            Map::new(&MapSpec::lpm_trie(NAME, address_size, size_of_val(&WHOLE) as u32, MOST))
        };
        let owned = Self(Arc::new(Maps { ipv4: map(4)?, ipv6: map(16)? }));
        prefixes.iter().try_for_each(|prefix| owned.insert(*prefix))?;
        Ok(owned)
    }

    /// Adds a prefix. Unlike at the opening of a capture, nobody asks whether the host itself has one
    /// of its addresses.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn insert(&self, prefix: Prefix) -> Result<()> {
        self.put(prefix, WHOLE)
    }

    /// Adds ports of an address, in place of others of it. Nobody asks whether the host needs them. What holds for an address is what
    /// was said of it alone, if it was, and not of a prefix that contains it.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`ErrorKind::Invalid`] for no ports, and for port 0, which nobody has.
    pub fn insert_ports(&self, address: IpAddr, ports: RangeInclusive<u16>) -> Result<()> {
        if ports.is_empty() || ports.contains(&0) {
            let asked = format!("own the ports {}-{} of {address}", ports.start(), ports.end());
            return Err(Error::new(ErrorKind::Invalid, asked, "ports are numbers from 1 to 65535"));
        }
        self.put(address.into(), u32::from(*ports.end()) << 16 | u32::from(*ports.start()))
    }

    fn put(&self, prefix: Prefix, value: u32) -> Result<()> {
        let (map, key) = self.place(prefix);
        map.insert(&key, &value.to_ne_bytes())
    }

    /// Removes a prefix that was added, or an address of which ports were; false when it was not. Addresses that another one
    /// contains stay owned.
    ///
    /// # Errors
    /// When the kernel does not let this process change the set.
    pub fn remove(&self, prefix: Prefix) -> Result<bool> {
        let (map, key) = self.place(prefix);
        map.remove(&key)
    }

    /// True for an address that is owned as a whole.
    ///
    /// # Errors
    /// When the kernel does not let this process look.
    pub fn contains(&self, address: IpAddr) -> Result<bool> {
        Ok(self.get(address)? == Some(WHOLE))
    }

    /// The ports that are owned of an address that is not owned as a whole.
    ///
    /// # Errors
    /// As [`contains`](Self::contains).
    pub fn ports(&self, address: IpAddr) -> Result<Option<RangeInclusive<u16>>> {
        let ports = self.get(address)?.filter(|value| *value != WHOLE);
        Ok(ports.map(|value| value as u16..=(value >> 16) as u16))
    }

    fn get(&self, address: IpAddr) -> Result<Option<u32>> {
        let (map, key) = self.place(address.into());
        let value = map.lookup(&key)?;
        Ok(value.and_then(|value| value.try_into().ok()).map(u32::from_ne_bytes))
    }

    pub(crate) fn maps(&self) -> &Maps {
        &self.0
    }

    /// The map of its family, and its key there: `struct bpf_lpm_trie_key_u8` of `linux/bpf.h`.
    fn place(&self, prefix: Prefix) -> (&Map, Vec<u8>) {
        let length = u32::from(prefix.length()).to_ne_bytes();
        match prefix.address() {
            IpAddr::V4(address) => (&self.0.ipv4, [&length[..], &address.octets()].concat()),
            IpAddr::V6(address) => (&self.0.ipv6, [&length[..], &address.octets()].concat()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_can_be_changed_through_any_of_its_handles() {
        if !linerate_lab::need::root() {
            return;
        }
        let prefix = |text: &str| text.parse::<Prefix>().unwrap();
        let owned = Owned::new(&[prefix("10.0.0.0/8"), prefix("fd00::1")]).unwrap();
        let contains = |address: &str| owned.contains(address.parse().unwrap()).unwrap();
        assert!(contains("10.9.9.9") && contains("fd00::1"));
        assert!(!contains("11.0.0.0") && !contains("fd00::2"));
        let other = owned.clone();
        other.insert(prefix("fd00::/64")).unwrap();
        assert!(contains("fd00::2"));
        assert!(other.remove(prefix("10.0.0.0/8")).unwrap());
        assert!(!other.remove(prefix("10.0.0.0/8")).unwrap());
        assert!(!contains("10.9.9.9"));
    }

    #[test]
    fn ports_are_owned_of_an_address_that_is_not() {
        if !linerate_lab::need::root() {
            return;
        }
        let owned = Owned::new(&["10.0.0.0/8".parse().unwrap()]).unwrap();
        for address in ["10.0.0.1", "fd00::1"].map(|text| text.parse::<IpAddr>().unwrap()) {
            for ports in [1..=65_535, 40_000..=40_000] {
                owned.insert_ports(address, ports.clone()).unwrap();
                assert_eq!(owned.ports(address).unwrap(), Some(ports));
            }
            assert!(!owned.contains(address).unwrap());
            for ports in [0..=9, RangeInclusive::new(9, 8)] {
                let error = owned.insert_ports(address, ports).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Invalid);
            }
            assert!(owned.remove(address.into()).unwrap());
            assert_eq!(owned.ports(address).unwrap(), None);
            assert_eq!(owned.contains(address).unwrap(), address.is_ipv4());
        }
    }
}
