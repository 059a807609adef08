//! The User Datagram Protocol (RFC 768).

use etherparse::UdpHeaderSlice;
use serde::Serialize;

use super::{Addresses, Application, Checksum, Decoded, Layer, Next, Upper};
use crate::data::Data;

/// A UDP header.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Udp<'a> {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// The checksum, its pseudo-header included; its value is 0 when the sender made none.
    pub checksum: Checksum<'a>,
    /// Bytes of payload on the wire, by the header's own count.
    pub length: usize,
    /// Source and destination of the IP packet.
    #[serde(skip)]
    pub addresses: Addresses,
}

impl<'a> Udp<'a> {
    const LENGTH: usize = 8;

    pub(super) fn decode(upper: Upper, data: Data<'a>) -> Decoded<'a> {
        let Ok(header) = UdpHeaderSlice::from_slice(data.bytes()) else {
            return if data.length() < Self::LENGTH { malformed("truncated-udp") } else { None };
        };
        // RFC 2675 4: zero stands for a length that does not fit the field.
        let length = match usize::from(header.length()) {
            0 => data.length(),
            length => length,
        };
        if length < Self::LENGTH {
            return malformed("bad length");
        }
        let datagram = data.clip(length);
        let checksum = upper.checksum(header.checksum(), datagram);
        let checked = header.checksum() != 0 && length == datagram.length();
        let udp = Self {
            source_port: header.source_port(),
            destination_port: header.destination_port(),
            checksum: if checked { checksum } else { Checksum::new(header.checksum(), None) },
            length: length - Self::LENGTH,
            addresses: upper.addresses,
        };
        Some((Layer::Udp(udp), udp.next(datagram.skip(Self::LENGTH))))
    }

    fn next(&self, payload: Data<'a>) -> Next<'a> {
        let application = application(self.source_port, self.destination_port);
        match application {
            Some(application) if payload.length() > 0 => Next::Application(application, payload),
            _ => Next::Payload(payload),
        }
    }
}

fn application(source: u16, destination: u16) -> Option<Application> {
    let either = |port| source == port || destination == port;
    Some(match () {
        () if either(53) => Application::Dns { multicast: false },
        () if either(5353) => Application::Dns { multicast: true },
        () if either(67) || either(68) => Application::Dhcp,
        () if either(123) => Application::Named("NTP"),
        () if either(161) || either(162) => Application::Named("SNMP"),
        () if either(500) || either(4500) => Application::Named("ISAKMP"),
        () if either(520) => Application::Named("RIP"),
        () if either(546) || either(547) => Application::Named("DHCPv6"),
        () if either(1812) || either(1813) => Application::Named("RADIUS"),
        () if either(1985) => Application::Named("HSRP"),
        // Only the destination is assigned: the source is a hash of the inner packet.
        () if destination == 4789 => Application::Vxlan,
        () if destination == 6081 => Application::Geneve,
        () if destination == 6635 => Application::Mpls,
        () => return None,
    })
}

fn malformed(reason: &'static str) -> Decoded<'static> {
    Some((Layer::Malformed { protocol: "udp", reason }, Next::Nothing))
}
