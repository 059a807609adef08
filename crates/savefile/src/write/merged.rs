//! The interfaces of several sources in the one table of a savefile.

use std::ops::Range;

use linerate_base::{Error, ErrorKind, Interface, Packet, Result};

/// The interfaces that a savefile describes, and which of them those of the current source are.
///
/// An interface of a later source shares the place of one that is equal in everything and that an earlier
/// source brought, provided that both sources have such interfaces in the same order; otherwise it gets a
/// place of its own. Interfaces of one source never share a place.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    all: Vec<Interface>,
    /// For each interface of the current source, its index in `all`.
    current: Vec<u32>,
    /// Places that interfaces of the current source can still share.
    shareable: Range<usize>,
}

impl Merged {
    pub(crate) fn new(interfaces: &[Interface]) -> Self {
        let mut merged = Self::default();
        merged.declare(interfaces);
        merged
    }

    /// All interfaces, those of earlier sources included.
    pub(crate) fn all(&self) -> &[Interface] {
        &self.all
    }

    /// From here on, indexes are those of a new source.
    pub(crate) fn next_source(&mut self) {
        self.current.clear();
        self.shareable = 0..self.all.len();
    }

    /// Takes what is new in the source's whole table. True when there are more interfaces than before.
    pub(crate) fn declare(&mut self, interfaces: &[Interface]) -> bool {
        let before = self.all.len();
        for interface in interfaces.iter().skip(self.current.len()) {
            let place = self.place(interface);
            self.current.push(place as u32);
        }
        self.all.len() > before
    }

    fn place(&mut self, interface: &Interface) -> usize {
        let shared = self.all[self.shareable.clone()].iter().position(|known| known == interface);
        if let Some(skipped) = shared {
            let place = self.shareable.start + skipped;
            self.shareable.start = place + 1;
            return place;
        }
        self.all.push(interface.clone());
        self.all.len() - 1
    }

    /// The place of the current source's interface `index`.
    pub(crate) fn index(&self, index: u32) -> Option<u32> {
        self.current.get(index as usize).copied()
    }

    /// The place of the interface of `packet`. A link type other than the interface's would be read back
    /// as that, silently, and is an error.
    #[inline]
    pub(crate) fn of(&self, packet: &Packet<'_>) -> Result<u32> {
        let place = self.index(packet.interface).ok_or_else(|| self.undeclared(packet))?;
        let declared = self.all[place as usize].link_type;
        match packet.link_type == declared {
            true => Ok(place),
            false => Err(refused(packet, format!("it was declared with link type {declared}"))),
        }
    }

    fn undeclared(&self, packet: &Packet<'_>) -> Error {
        refused(packet, format!("only {} interfaces have been declared", self.current.len()))
    }
}

fn refused(packet: &Packet<'_>, answer: String) -> Error {
    let Packet { link_type, interface, .. } = packet;
    let asked = format!("write a packet of link type {link_type} and interface {interface}");
    Error::new(ErrorKind::Invalid, asked, answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interfaces(names: &[&str]) -> Vec<Interface> {
        let named = |name: &&str| Interface { name: (*name).to_owned(), ..Interface::default() };
        names.iter().map(named).collect()
    }

    /// The places of the interfaces of each source.
    fn places(sources: &[&[&str]]) -> Vec<Vec<u32>> {
        let mut merged = Merged::default();
        let place = |source: &&[&str]| {
            merged.next_source();
            merged.declare(&interfaces(source));
            merged.current.clone()
        };
        sources.iter().map(place).collect()
    }

    #[test]
    fn equal_interfaces_of_two_sources_share_a_place() {
        assert_eq!(places(&[&["a", "b"], &["a", "c", "b"]]), [vec![0, 1], vec![0, 2, 1]]);
        assert_eq!(places(&[&["a"], &["b"], &["b"], &["a"]]), [[0], [1], [1], [0]]);
    }

    #[test]
    fn in_another_order_only_the_first_is_shared() {
        assert_eq!(places(&[&["a", "b"], &["b", "a"]]), [[0, 1], [1, 2]]);
    }

    #[test]
    fn interfaces_of_one_source_stay_apart() {
        assert_eq!(places(&[&["a", "a"], &["a", "a", "a"]]), [vec![0, 1], vec![0, 1, 2]]);
    }
}
