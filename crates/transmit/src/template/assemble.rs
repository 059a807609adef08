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
        let (varying, tail_sums) = (Vec::new(), Vec::new());
        let mut assembly = Self { layers, surroundings, frame, varying, size: None, tail_sums };
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

    fn destination_mac(&self, index: usize, placed: &Placed) -> Result<[u8; 6]> {
        let carried = self.layers[index + 1..].iter().find(|l| l.layer.role != Role::Link);
        let Some(carried) = carried else { return Ok(BROADCAST) };
        let address = match carried.layer.role {
            Role::Ipv4 => IpAddr::V4(Ipv4Addr::from_bits(destination(carried) as u32)),
            Role::Ipv6 => IpAddr::V6(Ipv6Addr::from_bits(destination(carried))),
            _ => return Ok(BROADCAST),
        };
        if let Some(group) = group(address) {
            return Ok(group);
        }
        self.surroundings.next_hop(address).map_err(|error| {
            let message = format!("no hardware address for {address}: {}", error.answered());
            Error::at(&placed.place, message)
                .advise("say where packets go first: Ether(dst=\"02:00:00:00:00:01\")")
        })
    }
}

const BROADCAST: [u8; 6] = [0xff; 6];

/// Where a network layer's first packet goes.
fn destination(placed: &Placed) -> u128 {
    let default = placed.layer.fields.iter().find(|field| field.name == "dst");
    match (placed.values("dst"), default.map(|field| field.default)) {
        (Some(values), _) => values.space.at(0),
        (None, Some(Default::Number(number))) => number,
        _ => 0,
    }
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
