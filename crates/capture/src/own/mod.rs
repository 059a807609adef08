//! Owned addresses: what is sent to them is the application's, and the host's stack never sees it.
//!
//! [`Owned`] is the set, in maps that the tap's program looks into ([`program`]), so that it can change
//! while packets flow. Questions of neighbours for an owned address the program marks; [`answer`]
//! says what is to be answered and [`responder`] sends it.

mod answer;
mod prefix;
pub(crate) mod program;
pub(crate) mod responder;

use std::net::IpAddr;
use std::sync::Arc;

use linerate_base::Result;
use linerate_sys::bpf::{Map, MapSpec};

pub use prefix::Prefix;

/// A set of addresses that belong to the application: [`Config::owned`](crate::Config::owned).
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

impl Owned {
    /// A set of these prefixes.
    ///
    /// # Errors
    /// [`ErrorKind::Permission`](linerate_base::ErrorKind::Permission) without CAP_BPF: the set lives
    /// in the kernel. [`ErrorKind::Exhausted`](linerate_base::ErrorKind::Exhausted) for more than 65,536
    /// prefixes of one family.
    pub fn new(prefixes: &[Prefix]) -> Result<Self> {
        let map = |address_size| Map::new(&MapSpec::lpm_trie(NAME, address_size, 1, MOST));
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
        let (map, key) = self.place(prefix);
        map.insert(&key, &[1])
    }

    /// Removes a prefix that was added; false when it was not. Addresses that another one contains
    /// stay owned.
    ///
    /// # Errors
    /// When the kernel does not let this process change the set.
    pub fn remove(&self, prefix: Prefix) -> Result<bool> {
        let (map, key) = self.place(prefix);
        map.remove(&key)
    }

    /// True for an address that one of the prefixes contains.
    ///
    /// # Errors
    /// When the kernel does not let this process look.
    pub fn contains(&self, address: IpAddr) -> Result<bool> {
        let (map, key) = self.place(address.into());
        Ok(map.lookup(&key)?.is_some())
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
}
