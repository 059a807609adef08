//! The Transmission Control Protocol (RFC 9293).

use etherparse::TcpHeaderSlice;
use serde::{Serialize, Serializer};

use super::tcp_option::TcpOptions;
use super::{Addresses, Application, Checksum, Decoded, Layer, Next, Upper};
use crate::data::Data;

/// A TCP header.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Tcp<'a> {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// The sequence number, as it was on the wire.
    pub sequence: u32,
    /// The acknowledgement number, as it was on the wire.
    pub acknowledgment: u32,
    /// The names of [`TcpFlag`], in lower case.
    pub flags: TcpFlags,
    /// The window field, unscaled.
    pub window: u16,
    /// The checksum, its pseudo-header included.
    pub checksum: Checksum<'a>,
    /// The urgent pointer.
    pub urgent: u16,
    /// The options.
    pub options: TcpOptions<'a>,
    /// Bytes of this header, its options included.
    pub header_length: usize,
    /// Bytes of payload on the wire.
    pub length: usize,
    /// Source and destination of the IP packet.
    #[serde(skip)]
    pub addresses: Addresses,
}

/// A flag of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum TcpFlag {
    /// No more data from the sender.
    Fin = 0x01,
    /// Synchronise sequence numbers.
    Syn = 0x02,
    /// Reset the connection.
    Rst = 0x04,
    /// Push.
    Psh = 0x08,
    /// The acknowledgement number is valid.
    Ack = 0x10,
    /// The urgent pointer is valid.
    Urg = 0x20,
    /// Congestion was experienced (RFC 3168).
    Ece = 0x40,
    /// The congestion window was reduced (RFC 3168).
    Cwr = 0x80,
    /// Accurate ECN (RFC 9768).
    Ae = 0x100,
}

impl TcpFlag {
    /// Every flag, the lowest bit first, with its name.
    const NAMED: [(Self, &'static str); 9] = [
        (Self::Fin, "fin"),
        (Self::Syn, "syn"),
        (Self::Rst, "rst"),
        (Self::Psh, "psh"),
        (Self::Ack, "ack"),
        (Self::Urg, "urg"),
        (Self::Ece, "ece"),
        (Self::Cwr, "cwr"),
        (Self::Ae, "ae"),
    ];
}

/// The flags of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpFlags(u16);

impl TcpFlags {
    /// Whether `flag` is set.
    pub fn has(self, flag: TcpFlag) -> bool {
        self.0 & flag as u16 != 0
    }

    /// Whether any of `flags` is set.
    pub fn any(self, flags: &[TcpFlag]) -> bool {
        flags.iter().any(|&flag| self.has(flag))
    }
}

impl Serialize for TcpFlags {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let set = TcpFlag::NAMED.iter().filter(|(flag, _)| self.has(*flag));
        serializer.collect_seq(set.map(|(_, name)| name))
    }
}

/// Bytes of a header without options.
const FIXED: usize = 20;

impl<'a> Tcp<'a> {
    pub(super) fn decode(upper: Upper, data: Data<'a>) -> Decoded<'a> {
        // The crate's view wants the options whole: given a header that claims none, it reads
        // the fixed fields of one whose options were cut off.
        let mut fixed: [u8; FIXED] = data.array(0)?;
        let header_length = usize::from(fixed[12] >> 4) * 4;
        if header_length < FIXED {
            return malformed("bad header length");
        }
        if header_length > data.length() {
            return malformed("header longer than packet");
        }
        fixed[12] = 5 << 4 | fixed[12] & 0xf;
        let header = TcpHeaderSlice::from_slice(&fixed).ok()?;
        let payload = data.skip(header_length);
        let tcp = Self {
            source_port: header.source_port(),
            destination_port: header.destination_port(),
            sequence: header.sequence_number(),
            acknowledgment: header.acknowledgment_number(),
            flags: TcpFlags(u16::from_be_bytes([fixed[12], fixed[13]]) & 0x1ff),
            window: header.window_size(),
            checksum: upper.checksum(header.checksum(), data),
            urgent: header.urgent_pointer(),
            options: TcpOptions::new(data.skip(FIXED).clip(header_length - FIXED)),
            header_length,
            length: payload.length(),
            addresses: upper.addresses,
        };
        Some((Layer::Tcp(tcp), tcp.next(payload)))
    }

    fn next(&self, payload: Data<'a>) -> Next<'a> {
        if payload.length() == 0 {
            return Next::Nothing;
        }
        let application =
            application(self.source_port).or_else(|| application(self.destination_port));
        match application {
            Some(Application::DnsOverTcp) if payload.length() <= 2 => Next::Payload(payload),
            Some(application) => Next::Application(application, payload),
            None => Next::Payload(payload),
        }
    }
}

fn application(port: u16) -> Option<Application> {
    Some(match port {
        53 => Application::DnsOverTcp,
        21 => Application::Text("FTP"),
        22 => Application::Text("SSH"),
        25 | 587 => Application::Text("SMTP"),
        80 | 3128 | 8080 => Application::Text("HTTP"),
        43 => Application::Text("WHOIS"),
        179 => Application::Named("BGP"),
        554 | 8554 => Application::Text("RTSP"),
        _ => return None,
    })
}

fn malformed(reason: &'static str) -> Decoded<'static> {
    Some((Layer::Malformed { protocol: "tcp", reason }, Next::Nothing))
}
