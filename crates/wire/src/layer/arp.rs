//! The Address Resolution Protocol (RFC 826) and its reverse (RFC 903).

use std::net::Ipv4Addr;

use etherparse::ArpPacketSlice;
use serde::Serialize;

use super::{Decoded, Layer, Next, Octets, numbers};
use crate::data::Data;

/// An ARP packet.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Arp<'a> {
    /// 1 asks, 2 answers; others are rare.
    pub operation: u16,
    /// The kind of hardware; 1 is Ethernet.
    pub hardware_type: u16,
    /// The Ethernet type of the protocol asked about; 0x0800 is IPv4.
    pub protocol_type: u16,
    /// The length of a protocol address in bytes.
    pub protocol_length: u8,
    /// The sender's hardware address.
    pub sender_hardware: Octets<'a>,
    /// The sender's IPv4 address, null when it is not one.
    pub sender: Option<Ipv4Addr>,
    /// The target's hardware address.
    pub target_hardware: Octets<'a>,
    /// The target's IPv4 address, null when it is not one.
    pub target: Option<Ipv4Addr>,
    /// Bytes on the wire.
    pub length: usize,
}

impl<'a> Arp<'a> {
    const FIXED: usize = 8;

    pub(super) fn decode(data: Data<'a>) -> Decoded<'a> {
        let view = ArpPacketSlice::from_slice(data.bytes()).ok()?;
        let (hardware, protocol) =
            (usize::from(view.hw_addr_size()), usize::from(view.proto_addr_size()));
        let (sender, target) = view.slice()[Self::FIXED..].split_at(hardware + protocol);
        let is_ipv4 = view.proto_addr_type().0 == numbers::IPV4;
        let ipv4 = |bytes: &[u8]| {
            let octets = <[u8; 4]>::try_from(bytes).ok().filter(|_| is_ipv4)?;
            Some(Ipv4Addr::from_octets(octets))
        };
        let arp = Self {
            operation: view.operation().0,
            hardware_type: view.hw_addr_type().0,
            protocol_type: view.proto_addr_type().0,
            protocol_length: view.proto_addr_size(),
            sender_hardware: Octets(&sender[..hardware]),
            sender: ipv4(&sender[hardware..]),
            target_hardware: Octets(&target[..hardware]),
            target: ipv4(&target[hardware..]),
            length: data.length(),
        };
        Some((Layer::Arp(arp), Next::Nothing))
    }
}
