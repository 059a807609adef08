//! Checksums: what of each is known beforehand, and which writes change it.

use etherparse::checksum::Sum16BitWords;
use std::ops::Range;

use super::assemble::Assembly;
use super::compiled::{Checksum, Tail, Write, fold};
use super::layers::{Cover, Default, Role};
use super::placed::Placed;

/// The checksums of the packet, in the order of its layers: one that covers others comes before them. Tells the writes
/// which of them they change.
pub(super) fn checksums(assembly: &mut Assembly<'_>) -> Vec<Checksum> {
    let mut checksums = Vec::new();
    let mut all_covered: Vec<Covered> = Vec::new();
    for (index, placed) in assembly.layers.iter().enumerate() {
        let automatic = placed.layer.fields.iter().find_map(|field| match field.default {
            Default::Checksum(cover) if placed.values(field.name).is_none() => Some((field, cover)),
            _ => None,
        });
        let Some((field, cover)) = automatic else { continue };
        let covered = Covered::new(assembly, index, placed, cover);
        let at = placed.at + field.bit / 8;
        let outer = all_covered.iter().enumerate().filter(|(_, outer)| outer.contains(at));
        let checksum = Checksum {
            at,
            within: outer.map(|(index, _)| index).collect(),
            base: covered.base(&assembly.frame),
            // RFC 768: a sum of zero is sent as all ones.
            zero_as_ones: cover == Cover::Pseudo(17),
            is_partial: false,
        };
        covered.mark(assembly, checksums.len());
        checksums.push(checksum);
        all_covered.push(covered);
    }
    checksums
}

/// The endings `all` of packets, which begin at the byte `at`: at an odd one bytes count exchanged (RFC 1071, 2 B).
pub(super) fn tails(all: &[Vec<u8>], at: usize) -> Vec<Tail> {
    let tail = |bytes: &Vec<u8>| {
        let sum = u64::from(folded(&Sum16BitWords::new().add_slice(bytes)));
        let sum = if at.is_multiple_of(2) { sum } else { fold(sum << 8) };
        Tail { bytes: bytes.clone(), sum }
    };
    all.iter().map(tail).collect()
}

fn folded(sum: &Sum16BitWords) -> u16 {
    !u16::from_be(sum.ones_complement())
}

/// What a checksum is over.
pub(super) struct Covered {
    ranges: Vec<Range<usize>>,
    /// Of the pseudo-header, what stands nowhere in the frame.
    constant: u64,
    /// What is to be added to the payload's size for the pseudo-header's length, where sizes vary.
    length: Option<u64>,
}

impl Covered {
    pub(super) fn new(
        assembly: &Assembly<'_>,
        index: usize,
        placed: &Placed,
        cover: Cover,
    ) -> Self {
        let rest = placed.at..assembly.frame.len();
        match cover {
            Cover::Header => {
                let header = placed.at..placed.at + placed.layer.length;
                Self { ranges: vec![header], constant: 0, length: None }
            }
            Cover::Rest => Self { ranges: vec![rest], constant: 0, length: None },
            Cover::Pseudo(protocol) => {
                let network = assembly.layers[..index]
                    .iter()
                    .rfind(|below| matches!(below.layer.role, Role::Ipv4 | Role::Ipv6));
                let addresses = network.map_or(0..0, addresses);
                let varies = assembly.size.and(assembly.layers.last());
                let length = varies.map(|last| (last.at + last.layer.length - placed.at) as u64);
                let known = if length.is_none() { rest.len() as u64 } else { 0 };
                let constant = u64::from(protocol) + known;
                Self { ranges: vec![addresses, rest], constant, length }
            }
        }
    }

    /// True for a byte that is covered.
    fn contains(&self, at: usize) -> bool {
        self.ranges.iter().any(|range| range.contains(&at))
    }

    fn base(&self, frame: &[u8]) -> u16 {
        let sum = Sum16BitWords::new().add_8bytes(self.constant.to_be_bytes());
        folded(&self.ranges.iter().fold(sum, |sum, range| sum.add_slice(&frame[range.clone()])))
    }

    /// Of one with a pseudo-header: where its addresses stand, and the sum of all of it that does not vary.
    pub(super) fn pseudo_header(self, frame: &[u8]) -> (Range<usize>, u16) {
        let addresses = self.ranges[0].clone();
        let base = Self { ranges: vec![addresses.clone()], ..self }.base(frame);
        (addresses, base)
    }

    fn mark(&self, assembly: &mut Assembly<'_>, checksum: usize) {
        for write in assembly.varying.iter_mut().flat_map(|varying| &mut varying.writes) {
            if write.width > 0 && self.contains(write.at) {
                write.sums.push(checksum);
            }
        }
        let tail = assembly.layers.last().map_or(0, |last| last.at + last.layer.length);
        if self.contains(tail) {
            assembly.tail_sums.push(checksum);
        }
        if let (Some(size), Some(add)) = (assembly.size, self.length) {
            let unwritten = Write { at: 0, width: 0, shift: 0, add, sums: vec![checksum] };
            assembly.varying[size].writes.push(unwritten);
        }
    }
}

fn addresses(network: &Placed) -> Range<usize> {
    let first = if network.layer.role == Role::Ipv4 { 12 } else { 8 };
    network.at + first..network.at + network.layer.length
}
