//! Packets that vary, written as Scapy's users write them.
//!
//! ```text
//! Ether()/IP(dst="10.64.0.0/10")/TCP(dport=[80, 443], flags="S")/Raw(size=18)
//! ```
//! Layers and their fields have Scapy's names and defaults: Ether, Dot1Q, ARP, IP, IPv6, ICMP,
//! ICMPv6EchoRequest, ICMPv6EchoReply, ICMPv6DestUnreach, ICMPv6PacketTooBig, ICMPv6TimeExceeded, ICMPv6ND_NS,
//! ICMPv6ND_NA and their address options, TCP, UDP, DNS (a query), Raw. Messages of ICMP carry the packet that they are
//! about: `IP()/ICMP(type=3, code=1)/IP()/UDP()`. Text in quotes is a layer of its own, as in `TCP()/"GET /"`. Lengths, checksums, the interface's addresses and the next hop's are filled in where they are not
//! given; so is the Ethernet header.
//!
//! A field takes a constant (`80`, `"10.0.0.1"`), a range (`1024-65535`, or Scapy's `(1024, 65535)`), a
//! prefix (`"10.0.0.0/8"`), or a list (`[80, 443]`, `"10.0.0.1, 10.0.0.9"`). Of several values it takes
//! one after another; around them, `permute(...)` says each once in an order that looks random, `random(...)`
//! any at any time, `seq(...)` what is meant anyway. Scapy's `RandShort()`, `RandIP("10.0.0.0/8")`, `RandNum(1, 9)` and
//! their like are `random(...)` of these values, without any of all that the field can have. Fields that are walked take every combination of their values
//! once before any comes again; those permuted are permuted together. Sizes in sequence change from packet to packet.
//!
//! TCP's options are written as Scapy has them, `[("MSS", 1460), ("NOP", None)]`. `DNSQR(qname=...)` takes a list of
//! names, which are asked in turn. `Raw(size=...)` gives the payload's size: a number, a range, or `"imix"`, the mix of
//! IP packets of 40, 576 and 1500 bytes, 7 to 4 to 1.
//!
//! A [`Template`] is one frame, the list of fields that vary in it and of the checksums that follow: good for
//! [filling](Template::fill) buffers, and for a program in the kernel that does the same.

mod assemble;
mod compiled;
mod error;
mod layers;
mod options;
mod partial;
mod placed;
mod question;
mod sums;
mod surroundings;
mod syntax;
mod values;
mod walks;

use compiled::Size;
pub use compiled::{Checksum, Varying, Write};
pub use error::{Error, Result};
pub use surroundings::{NextHop, Surroundings};
pub use values::Walk;
pub(crate) use walks::{Step, Walks};

use crate::blocklist::Blocklist;
use assemble::Assembly;
use linerate_sys::xsk::PartialChecksum;
use partial::Partial;
use sums::tails;
use walks::Excess;

/// How many checksums a packet may have: one for each of the layers that have one, tunnels included.
const CHECKSUMS: usize = 8;

/// Packets that differ in some fields.
#[derive(Clone, Debug)]
pub struct Template {
    frame: Vec<u8>,
    varying: Vec<Varying>,
    checksums: Vec<Checksum>,
    size: Option<Size>,
    walks: Walks,
    /// What a network card can do.
    partial: Option<Partial>,
    notes: Vec<String>,
}

impl Template {
    /// Compiles an expression.
    ///
    /// Destinations on `blocklist` are left out. `seed` chooses the order of permutations and random values: the
    /// same expression and seed give the same packets.
    ///
    /// # Errors
    /// With the place in the text, when it is not understood or does not fit `surroundings`.
    pub fn compile(
        text: &str,
        surroundings: &dyn Surroundings,
        blocklist: &Blocklist,
        seed: u64,
    ) -> Result<Self> {
        build(text, surroundings, blocklist, seed).map_err(|error| error.within(text))
    }

    /// How many packets differ in what is walked: 1 when nothing is. Packets of higher numbers begin anew, but
    /// for what is random in them.
    pub fn count(&self) -> u128 {
        self.walks.count()
    }

    /// Bytes of the longest packet.
    pub fn longest(&self) -> usize {
        self.frame.len()
    }

    /// Bytes of a packet on average.
    pub fn mean(&self) -> usize {
        let Some(size) = &self.size else { return self.frame.len() };
        let values = &self.varying[size.varying].values;
        // At most one for each length that a packet can have, or those of a mix.
        let count = values.count() as u64;
        let sum: usize = (0..count).map(|index| size.length(values.at(index))).sum();
        size.headers + sum / count as usize
    }

    /// The longest packet with zeroes where fields vary, and for checksums.
    pub fn frame(&self) -> &[u8] {
        &self.frame
    }

    /// What varies, in the order of the packet's layers; the size first.
    pub fn varying(&self) -> &[Varying] {
        &self.varying
    }

    /// The checksums that are to be filled in.
    pub fn checksums(&self) -> &[Checksum] {
        &self.checksums
    }

    /// The same packets with a checksum that a network card can complete, and where it is; `None` where cards do not find
    /// it, or would repair what was meant to be wrong.
    pub fn partial(&self) -> Option<(Self, PartialChecksum)> {
        self.partial.as_ref().map(|partial| partial.apply(self))
    }

    /// What was filled in that users may want otherwise, one line each, for them to read.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// True when packets differ in their size.
    pub fn is_of_varying_size(&self) -> bool {
        self.size.is_some()
    }

    /// How the values of the fields follow from a packet's number.
    pub(crate) fn walks(&self) -> &Walks {
        &self.walks
    }

    /// Writes the packet `number` to the beginning of `slot`, and returns its length.
    ///
    /// # Panics
    /// When `slot` is shorter than the [longest](Self::longest) packet.
    pub fn fill(&self, number: u64, slot: &mut [u8]) -> usize {
        let slot = &mut slot[..self.frame.len()];
        slot.copy_from_slice(&self.frame);
        let permuted = self.walks.permuted(number);
        let mut sums = [0; CHECKSUMS];
        let mut length = self.frame.len();
        for (place, (varying, step)) in self.varying.iter().zip(self.walks.steps()).enumerate() {
            let mut value = varying.values.at(step.index(number, permuted));
            if let Some(size) = self.size.as_ref().filter(|size| size.varying == place) {
                value = size.put(value, slot, &mut sums);
                length = size.headers + value as usize;
            }
            for write in &varying.writes {
                write.apply(value, slot);
                let sum = write.sum(value);
                write.sums.iter().for_each(|checksum| sums[*checksum] += sum);
            }
        }
        // Those that others cover come first.
        for (index, checksum) in self.checksums.iter().enumerate().rev() {
            let number = checksum.put(sums[index], slot);
            checksum.within.iter().for_each(|outer| sums[*outer] += u64::from(number));
        }
        length
    }
}

fn build(
    text: &str,
    surroundings: &dyn Surroundings,
    blocklist: &Blocklist,
    seed: u64,
) -> Result<Template> {
    let whole = 0..text.trim_end().len();
    let layers = placed::place(&syntax::parse(text)?, blocklist)?;
    let mut assembly = Assembly::new(&layers, surroundings)?;
    let checksums = sums::checksums(&mut assembly);
    if checksums.len() > CHECKSUMS {
        let message =
            format!("{} layers with checksums; at most {CHECKSUMS} work", checksums.len());
        return Err(Error::at(&whole, message));
    }
    let walks =
        Walks::new(&assembly.varying, assembly.size, seed).map_err(|excess| match excess {
            Excess::Fields => Error::at(&whole, "too many fields vary").advise("at most 16 can"),
            Excess::Combinations => Error::at(&whole, "there are more than 2^64 combinations")
                .advise("take fewer values, or random(...) for some fields"),
        })?;
    let partial = Partial::of(&assembly, &checksums);
    let before = layers.last().map_or(0, |last| last.at + last.layer.length);
    let size = assembly.size.map(|varying| Size {
        varying,
        headers: before,
        tails: layers.last().map_or_else(Vec::new, |last| tails(&last.tails, before)),
        sums: assembly.tail_sums,
    });
    let Assembly { frame, varying, notes, .. } = assembly;
    Ok(Template { frame, varying, checksums, size, walks, partial, notes })
}
