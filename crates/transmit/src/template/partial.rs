//! Packets whose checksum a network card completes: of TCP or UDP, and so far the sum of the pseudo-header only.

use std::ops::Range;

use linerate_sys::xsk::PartialChecksum;

use super::Template;
use super::assemble::Assembly;
use super::compiled::Checksum;
use super::layers::{Cover, Default, Role};
use super::placed::Placed;
use super::sums::Covered;

/// The checksum that a card can complete.
#[derive(Clone, Debug)]
pub(super) struct Partial {
    /// Which of the template's it is.
    index: usize,
    place: PartialChecksum,
    /// The sum of what does not vary of the pseudo-header.
    base: u16,
    /// The pseudo-header's bytes in the frame.
    addresses: Range<usize>,
}

impl Partial {
    /// Some cards are told where the checksum is, others look for it themselves, and write those of IP anew as well: so
    /// the packet is one of TCP or UDP in IP, and nothing in its headers is other than it should be.
    pub(super) fn of(assembly: &Assembly<'_>, checksums: &[Checksum]) -> Option<Self> {
        let layers = assembly.layers;
        let links = layers.iter().take_while(|placed| placed.layer.role == Role::Link).count();
        let [network, transport, rest @ ..] = &layers[links..] else { return None };
        let is_plain = matches!(network.layer.role, Role::Ipv4 | Role::Ipv6)
            && rest.iter().all(|placed| placed.layer.role == Role::Payload)
            && layers[..links + 2].iter().all(is_regular);
        let (at, cover) = transport.layer.fields.iter().find_map(|field| match field.default {
            Default::Checksum(cover @ Cover::Pseudo(6 | 17)) => {
                Some((transport.at + field.bit / 8, cover))
            }
            _ => None,
        })?;
        let index = checksums.iter().position(|checksum| checksum.at == at)?;
        let (addresses, base) =
            Covered::new(assembly, links + 1, transport, cover).pseudo_header(&assembly.frame);
        let place =
            PartialChecksum { start: transport.at as u16, offset: (at - transport.at) as u16 };
        is_plain.then_some(Self { index, place, base, addresses })
    }

    /// The same packets as of `template`, but for this checksum.
    pub(super) fn apply(&self, template: &Template) -> (Template, PartialChecksum) {
        let mut partial = Template { partial: None, ..template.clone() };
        for write in partial.varying.iter_mut().flat_map(|varying| &mut varying.writes) {
            // What stands nowhere is the pseudo-header's length.
            if write.width > 0 && !self.addresses.contains(&write.at) {
                write.sums.retain(|index| *index != self.index);
            }
        }
        if let Some(size) = &mut partial.size {
            size.sums.retain(|index| *index != self.index);
        }
        let checksum = &mut partial.checksums[self.index];
        (checksum.base, checksum.is_partial, checksum.zero_as_ones) = (self.base, true, false);
        (partial, self.place)
    }
}

/// True when nothing was given by which cards find their way through the headers; fragments have no checksum of their own.
fn is_regular(placed: &Placed) -> bool {
    placed.given.iter().all(|(field, values)| match (placed.layer.role, field.name) {
        (Role::Ipv4 | Role::Ipv6, "version" | "ihl" | "frag") => false,
        (Role::Ipv4, "flags") => values.space.count() == 1 && values.space.at(0) & 1 == 0,
        _ => !matches!(
            field.default,
            Default::Next(_) | Default::Length(_) | Default::Words | Default::Checksum(_)
        ),
    })
}
