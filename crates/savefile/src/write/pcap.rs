//! Encoding pcap, version 2.4, in little-endian order.

use linerate_base::{Error, ErrorKind, Interface, LinkType, Packet, Result};

use super::writer::{Counters, Precision};
use crate::code::pcap::{FILE_HEADER, MICROSECONDS, NANOSECONDS, RECORD_HEADER};

/// Written for an interface without a limit: readers take 0 for an error.
const NO_SNAPLEN: u32 = 262_144;

/// An encoder of one pcap file.
#[derive(Debug)]
pub(super) struct Pcap {
    precision: Precision,
    /// Known once the header is written.
    link_type: Option<LinkType>,
}

impl Pcap {
    pub(super) fn new(precision: Precision) -> Self {
        Self { precision, link_type: None }
    }

    /// Appends the file header, unless it was written; the first interface gives it its link type.
    pub(super) fn declare(&mut self, out: &mut Vec<u8>, interfaces: &[Interface]) {
        let (None, Some(first)) = (self.link_type, interfaces.first()) else { return };
        let magic = match self.precision {
            Precision::Micros => MICROSECONDS,
            Precision::Nanos => NANOSECONDS,
        };
        let snaplen = if first.snaplen == 0 { NO_SNAPLEN } else { first.snaplen };
        out.extend(magic.to_le_bytes());
        out.extend(2u16.to_le_bytes());
        out.extend(4u16.to_le_bytes());
        out.extend([0; 8]);
        out.extend(snaplen.to_le_bytes());
        out.extend(u32::from(first.link_type.0).to_le_bytes());
        self.link_type = Some(first.link_type);
    }

    /// Appends a packet.
    pub(super) fn packet(
        &self,
        out: &mut Vec<u8>,
        packet: &Packet<'_>,
        captured: u32,
    ) -> Result<()> {
        if self.link_type != Some(packet.link_type) {
            return Err(self.link_type_error(packet.link_type));
        }
        let seconds = u32::try_from(packet.time.seconds()).map_err(|_| time_error(packet))?;
        let fraction = match self.precision {
            Precision::Micros => packet.time.subsec_nanos() / 1000,
            Precision::Nanos => packet.time.subsec_nanos(),
        };
        for word in [seconds, fraction, captured, packet.length] {
            out.extend(word.to_le_bytes());
        }
        out.extend(packet.data);
        Ok(())
    }

    /// Bytes of the record of a packet.
    pub(super) fn packet_size(packet: &Packet<'_>) -> u64 {
        (RECORD_HEADER + packet.data.len()) as u64
    }

    /// The whole records in `bytes`, which begin with a record, or with the header if `from_start`.
    pub(super) fn whole(bytes: &[u8], from_start: bool) -> Counters {
        let mut whole = Counters::default();
        if from_start {
            if bytes.len() < FILE_HEADER {
                return whole;
            }
            whole.bytes = FILE_HEADER as u64;
        }
        while let Some(header) = bytes[whole.bytes as usize..].first_chunk::<RECORD_HEADER>() {
            let [.., a, b, c, d, _, _, _, _] = *header;
            let end =
                whole.bytes + RECORD_HEADER as u64 + u64::from(u32::from_le_bytes([a, b, c, d]));
            if end > bytes.len() as u64 {
                break;
            }
            whole.bytes = end;
            whole.packets += 1;
        }
        whole
    }

    fn link_type_error(&self, wanted: LinkType) -> Error {
        let answer = match self.link_type {
            Some(had) => format!("a pcap file has one link type, and this one has {had}"),
            None => "a pcap file needs to know its link type before its first packet".to_owned(),
        };
        Error::new(ErrorKind::Unsupported, format!("write a packet of link type {wanted}"), answer)
            .advise("write pcapng, which keeps a link type for each interface")
    }
}

fn time_error(packet: &Packet<'_>) -> Error {
    let asked = format!("write a packet of {} s after the epoch", packet.time.seconds());
    Error::new(ErrorKind::Unsupported, asked, "pcap has times from 1970 to 2106 only")
}
