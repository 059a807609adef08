//! What libpcap's functions cannot say of a savefile: that its interfaces differ.

use linerate::base::{Batch, Interface, LinkType};

/// Holds all interfaces of a file to its first one, as a handle has one link type and one snapshot length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    link_type: LinkType,
    snaplen: u32,
    /// Interfaces that were found to be like the first.
    known: usize,
}

impl Rules {
    /// Rules for a file whose first interface this is.
    pub(crate) fn new(first: &Interface) -> Self {
        Self { link_type: first.link_type, snaplen: first.snaplen, known: 1 }
    }

    /// The packets before the first one of an interface that is unlike the first, and what is wrong with that one.
    pub(crate) fn allowed<'a>(&mut self, batch: Batch<'a>) -> (Batch<'a>, Option<String>) {
        let new = batch.interfaces().iter().enumerate().skip(self.known);
        let odd = new.into_iter().find_map(|(at, interface)| Some((at, self.fault(interface)?)));
        let Some((at, fault)) = odd else {
            self.known = batch.interfaces().len();
            return (batch, None);
        };
        let of_it = batch.descriptors().iter().position(|packet| packet.interface as usize >= at);
        (batch.slice(0..of_it.unwrap_or(batch.len())), Some(fault))
    }

    fn fault(&self, interface: &Interface) -> Option<String> {
        if interface.link_type != self.link_type {
            return Some(format!(
                "an interface has a type {} different from the type of the first interface",
                interface.link_type.0
            ));
        }
        (interface.snaplen != self.snaplen).then(|| {
            format!(
                "an interface has a snapshot length {} different from the snapshot length of the first \
                 interface",
                interface.snaplen
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use linerate::base::Descriptor;

    use super::*;

    #[test]
    fn packets_before_an_odd_interface_come_before_the_fault() {
        let ethernet = Interface { link_type: LinkType::ETHERNET, ..Interface::default() };
        let raw = Interface { link_type: LinkType::RAW, ..Interface::default() };
        let interfaces = [ethernet.clone(), ethernet.clone(), raw];
        let packets =
            [0, 1, 2, 0].map(|interface| Descriptor { interface, ..Descriptor::default() });
        let mut rules = Rules::new(&ethernet);
        let (batch, fault) = rules.allowed(Batch::new(&[], &packets[..2], &interfaces[..2]));
        assert_eq!((batch.len(), fault), (2, None));
        let (batch, fault) = rules.allowed(Batch::new(&[], &packets, &interfaces));
        assert_eq!(batch.len(), 2);
        assert!(fault.unwrap().contains("a type 101 different"));
    }
}
