//! Layers in their places to one frame and what varies in it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::compiled::{Varying, Write};
use super::error::{Error, Result};
use super::layers::{Carrier, Default, Field, Kind, Role};
use super::placed::Placed;
use super::surroundings::Surroundings;
use super::values::Values;

/// The largest frame: what a 16-bit length can tell behind the longest link-layer header.
const LARGEST: usize = u16::MAX as usize;

/// A frame in the making.
pub(super) struct Assembly<'a> {
    pub(super) layers: &'a [Placed],
    surroundings: &'a dyn Surroundings,
    /// What varies is zero here, and so are checksums.
    pub(super) frame: Vec<u8>,
    pub(super) varying: Vec<Varying>,
    /// Which of `varying` is the size.
    pub(super) size: Option<usize>,
    /// The checksums that cover what is of varying size.
    pub(super) tail_sums: Vec<usize>,
    /// What users may want otherwise.
    pub(super) notes: Vec<String>,
}

impl<'a> Assembly<'a> {
    /// Puts all fields where they belong, checksums left out.
    pub(super) fn new(layers: &'a [Placed], surroundings: &'a dyn Surroundings) -> Result<Self> {
        let mut frame = Vec::new();
        for placed in layers {
            frame.resize(frame.len() + placed.layer.length, 0);
            frame.extend(&placed.tail);
            if frame.len() > LARGEST {
                let message = format!("with this the packet has {} bytes", frame.len());
                return Err(Error::at(&placed.place, message)
                    .advise(format!("packets have at most {LARGEST}")));
            }
        }
        let (varying, tail_sums, notes) = (Vec::new(), Vec::new(), Vec::new());
        let mut assembly =
            Self { layers, surroundings, frame, varying, size: None, tail_sums, notes };
        assembly.add_size();
        for (index, placed) in layers.iter().enumerate() {
            for field in placed.layer.fields.iter().filter(|field| field.bits > 0) {
                assembly.add(index, placed, field)?;
            }
        }
        Ok(assembly)
    }

    fn add_size(&mut self) {
        let Some(placed) = self.layers.last() else { return };
        if let Some(sizes) = &placed.sizes {
            let path = match placed.tails.as_slice() {
                [] => placed.path("size"),
                _ => "DNSQR.qname".into(),
            };
            self.size = Some(self.varying.len());
            self.varying.push(Varying::new(path, sizes));
        }
    }

    fn add(&mut self, index: usize, placed: &Placed, field: &Field) -> Result<()> {
        match placed.values(field.name) {
            Some(values) => self.put(placed, field, values),
            None => self.put_default(index, placed, field)?,
        }
        Ok(())
    }

    fn put(&mut self, placed: &Placed, field: &Field, values: &Values) {
        if values.space.count() == 1 {
            return self.put_number(placed, field, values.space.at(0));
        }
        let mut varying = Varying::new(placed.path(field.name), values);
        varying.writes.push(write(placed, field));
        self.varying.push(varying);
    }

    fn put_number(&mut self, placed: &Placed, field: &Field, number: u128) {
        write(placed, field).apply(number, &mut self.frame);
    }

    fn put_default(&mut self, index: usize, placed: &Placed, field: &Field) -> Result<()> {
        let number = match field.default {
            Default::Number(number) => number,
            Default::Next(otherwise) => self.next(index, placed).unwrap_or(otherwise).into(),
            Default::Length(less) => {
                self.put_length(placed, field, less);
                return Ok(());
            }
            Default::Words => ((placed.end() - placed.at) / 4) as u128,
            Default::HopLimit => self.hop_limit(index),
            Default::SourceMac => number(&self.surroundings.mac()),
            Default::DestinationMac => number(&self.destination_mac(index, placed)?),
            Default::SourceIpv4 => match self.surroundings.ipv4() {
                Some(address) => address.to_bits().into(),
                None => return Err(no_source(placed, field)),
            },
            Default::SourceIpv6 => match self.surroundings.ipv6() {
                Some(address) => address.to_bits(),
                None => return Err(no_source(placed, field)),
            },
            Default::Checksum(_) | Default::Absent => 0,
        };
        self.put_number(placed, field, number);
        Ok(())
    }

    /// What the layer calls the one that follows it.
    fn next(&self, index: usize, placed: &Placed) -> Option<u64> {
        let carrier = placed.layer.role.carrier();
        let numbers = self.layers.get(index + 1)?.layer.numbers;
        numbers.iter().find(|(by, _)| *by == carrier && *by != Carrier::Any).map(|(_, n)| *n)
    }

    /// RFC 4861, 7.1: neighbour discovery is heard with 255 only.
    fn hop_limit(&self, index: usize) -> u128 {
        let next = self.layers.get(index + 1).map(|next| next.layer.role);
        if next == Some(Role::Discovery) { 255 } else { 64 }
    }

    /// Of packets of varying size the length varies with it.
    fn put_length(&mut self, placed: &Placed, field: &Field, less: usize) {
        let begin = placed.at + less;
        match (self.size, self.layers.last()) {
            (Some(size), Some(last)) => {
                let add = (last.at + last.layer.length - begin) as u64;
                self.varying[size].writes.push(Write { add, ..write(placed, field) });
            }
            _ => self.put_number(placed, field, (self.frame.len() - begin) as u128),
        }
    }

    fn destination_mac(&mut self, index: usize, placed: &Placed) -> Result<[u8; 6]> {
        let layers = self.layers;
        let carried = layers[index + 1..].iter().find(|l| l.layer.role != Role::Link);
        let destinations = carried.and_then(destinations);
        let (Some(carried), Some((destination, count))) = (carried, destinations) else {
            return Ok(self.broadcast(carried));
        };
        // Nobody answers at the first address of a network.
        let address = (0..count.min(FIRST))
            .map(&destination)
            .find(|address| self.surroundings.may_be_neighbour(*address))
            .unwrap_or_else(|| destination(0));
        if let Some(mac) = group(address) {
            self.note_shared(carried, count, address, mac);
            return Ok(mac);
        }
        let hop = self.surroundings.next_hop(address).map_err(|error| {
            let message = format!("no hardware address for {address}: {}", error.answered());
            Error::at(&placed.place, message)
                .advise("say where packets go first: Ether(dst=\"02:00:00:00:00:01\")")
        })?;
        if hop.address == address {
            self.note_shared(carried, count, address, hop.mac);
        }
        Ok(hop.mac)
    }

    /// Where packets go that lead nowhere. ARP asks everybody.
    fn broadcast(&mut self, carried: Option<&Placed>) -> [u8; 6] {
        let is_question =
            |carried: &Placed| carried.layer.role == Role::Arp && carried.values("op").is_none();
        if !carried.is_some_and(is_question) {
            let note = "Ether.dst: all on the wire (ff:ff:ff:ff:ff:ff), as the packets name nobody; \
                        Ether(dst=...) does";
            self.notes.push(note.into());
        }
        BROADCAST
    }

    /// Destinations on the wire itself have hardware addresses of their own; frames have one.
    fn note_shared(&mut self, carried: &Placed, count: u64, of: IpAddr, mac: [u8; 6]) {
        if count > 1 && mac != [0; 6] {
            let mac = mac.map(|byte| format!("{byte:02x}")).join(":");
            let (path, count) = (carried.path("dst"), shown(count));
            self.notes.push(format!(
                "Ether.dst: {mac}, that of {of}, for all {count} values of {path}; Ether(dst=...) names another"
            ));
        }
    }
}

const BROADCAST: [u8; 6] = [0xff; 6];

/// Among so many of the first destinations one is looked for that may have a neighbour.
const FIRST: u64 = 4;

/// The network layer's destination of each number, and how many there are; `None` of a layer that has none.
fn destinations(placed: &Placed) -> Option<(impl Fn(u64) -> IpAddr + '_, u64)> {
    let to_address: fn(u128) -> IpAddr = match placed.layer.role {
        Role::Ipv4 => |bits| IpAddr::V4(Ipv4Addr::from_bits(bits as u32)),
        Role::Ipv6 => |bits| IpAddr::V6(Ipv6Addr::from_bits(bits)),
        _ => return None,
    };
    let default = placed.layer.fields.iter().find(|field| field.name == "dst");
    let default = match default.map(|field| field.default) {
        Some(Default::Number(number)) => number,
        _ => 0,
    };
    let space = placed.values("dst").map(|values| &values.space);
    let count = space.map_or(1, |space| u64::try_from(space.count()).unwrap_or(u64::MAX));
    Some((move |number| to_address(space.map_or(default, |space| space.at(number))), count))
}

fn shown(count: u64) -> String {
    if count == u64::MAX { "2^64".into() } else { count.to_string() }
}

/// The hardware address of a group: RFC 1112, 6.4; RFC 2464, 7.
fn group(address: IpAddr) -> Option<[u8; 6]> {
    match address {
        IpAddr::V4(address) if address.is_broadcast() => Some(BROADCAST),
        IpAddr::V4(address) if address.is_multicast() => {
            let [_, a, b, c] = address.octets();
            Some([0x01, 0x00, 0x5e, a & 0x7f, b, c])
        }
        IpAddr::V6(address) if address.is_multicast() => {
            let octets = address.octets();
            Some([0x33, 0x33, octets[12], octets[13], octets[14], octets[15]])
        }
        _ => None,
    }
}

fn no_source(placed: &Placed, field: &Field) -> Error {
    let (version, example) = match field.kind {
        Kind::Ipv6(_) => ("IPv6", "2001:db8::1"),
        _ => ("IPv4", "10.0.0.1"),
    };
    let message = format!("the interface has no {version} address to send from");
    let advice = format!("give one: {}({}=\"{example}\")", placed.layer.name, field.name);
    Error::at(&placed.place, message).advise(advice)
}

fn number(mac: &[u8; 6]) -> u128 {
    mac.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

/// Where a field's bits lie in the frame.
fn write(placed: &Placed, field: &Field) -> Write {
    let first = field.bit / 8;
    let end = (field.bit + field.bits).div_ceil(8);
    let shift = end * 8 - (field.bit + field.bits);
    Write {
        at: placed.at + first,
        width: end - first,
        shift: shift as u32,
        add: 0,
        sums: Vec::new(),
    }
}
