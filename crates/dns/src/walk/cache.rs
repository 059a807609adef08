//! What is known by names, up to a number of them.

use std::collections::HashMap;
use std::mem;

use crate::name::Name;

/// A map that forgets what was not asked for lately: it has two halves, and what is found in the old one moves to the young
/// one. Once that is full it becomes the old one, and what was left there is gone.
#[derive(Debug)]
pub(super) struct Cache<V> {
    young: HashMap<Name, V>,
    old: HashMap<Name, V>,
    /// What a half has room for.
    half: usize,
}

impl<V> Cache<V> {
    /// With room for so many.
    pub(super) fn new(most: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), half: most / 2 }
    }

    pub(super) fn get(&mut self, name: &[u8]) -> Option<&V> {
        if let Some((name, value)) = self.old.remove_entry(name) {
            self.put(name, value);
        }
        self.young.get(name)
    }

    pub(super) fn put(&mut self, name: Name, value: V) {
        if self.young.len() >= self.half {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_stays_and_the_rest_goes() {
        let name = |number: u32| Name::new([&number.to_be_bytes()[..]].into_iter());
        let mut cache = Cache::new(100);
        for number in 0..1_000 {
            cache.put(name(number), number);
            assert_eq!(cache.get(name(0).as_slice()), Some(&0));
            assert!(cache.young.len() + cache.old.len() <= 100);
        }
        assert_eq!(cache.get(name(1).as_slice()), None);
        assert_eq!(cache.get(name(990).as_slice()), Some(&990));
    }
}
