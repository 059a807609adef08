//! Targets that were named.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;
use std::net::IpAddr;

use crate::Target;

/// Targets in the order in which they were added, each once.
///
/// Peers name the same others again and again, and millions of targets are in no cache. So one of IPv4 is known by a number of
/// eight bytes, at a place that one wait for memory finds; and the waits for several overlap, if they are [touched](Self::touch)
/// first.
#[derive(Debug, Default)]
pub(crate) struct Roll {
    all: Vec<Target>,
    ipv4: Numbers,
    ipv6: HashSet<Target>,
}

impl Roll {
    /// All of them.
    pub(crate) fn all(&self) -> &[Target] {
        &self.all
    }

    /// Adds one; false for one that is in it.
    pub(crate) fn add(&mut self, target: Target) -> bool {
        let is_new = match number(target) {
            Some(number) => self.ipv4.insert(number),
            None => self.ipv6.insert(target),
        };
        if is_new {
            self.all.push(target);
        }
        is_new
    }

    /// Looks where a target would be, which will be asked for soon.
    pub(crate) fn touch(&self, target: Target) {
        if let Some(number) = number(target) {
            black_box(self.ipv4.entries.get(self.ipv4.home(number)));
        }
    }
}

/// A target of IPv4 as a number that is not zero.
fn number(target: Target) -> Option<u64> {
    let IpAddr::V4(address) = target.address else { return None };
    Some(1 << 48 | u64::from(address.to_bits()) << 16 | u64::from(target.port))
}

/// A set of numbers, by open addressing, at most three quarters full. 0 is free. The hash is keyed: who names targets cannot
/// choose such as fall together.
#[derive(Debug, Default)]
struct Numbers {
    /// A power of two, or none.
    entries: Vec<u64>,
    count: usize,
    hash: RandomState,
}

impl Numbers {
    fn home(&self, number: u64) -> usize {
        self.hash.hash_one(number) as usize & self.entries.len().wrapping_sub(1)
    }

    /// False for one that is in it.
    fn insert(&mut self, number: u64) -> bool {
        if 4 * self.count >= 3 * self.entries.len() {
            self.grow();
        }
        let is_new = self.put(number);
        self.count += usize::from(is_new);
        is_new
    }

    fn put(&mut self, number: u64) -> bool {
        let mut at = self.home(number);
        while self.entries[at] != 0 {
            if self.entries[at] == number {
                return false;
            }
            at = (at + 1) & (self.entries.len() - 1);
        }
        self.entries[at] = number;
        true
    }

    fn grow(&mut self) {
        let size = (2 * self.entries.len()).max(64);
        for number in std::mem::replace(&mut self.entries, vec![0; size]) {
            if number != 0 {
                self.put(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn target() -> impl Strategy<Value = Target> {
        let address = prop_oneof![
            (0..300_u32).prop_map(|bits| IpAddr::from(bits.to_be_bytes())),
            (0..9_u128).prop_map(|bits| IpAddr::from(bits.to_be_bytes())),
        ];
        (address, 0..3_u16).prop_map(|(address, port)| Target { address, port })
    }

    proptest! {
        #[test]
        fn each_is_in_it_once_and_in_order(targets in prop::collection::vec(target(), 0..900)) {
            let (mut roll, mut model, mut order) = (Roll::default(), HashSet::new(), Vec::new());
            for target in targets {
                roll.touch(target);
                let is_new = model.insert(target);
                prop_assert_eq!(roll.add(target), is_new);
                order.extend(is_new.then_some(target));
            }
            prop_assert_eq!(roll.all(), order);
        }
    }
}
