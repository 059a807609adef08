//! IPsec: the authentication header (RFC 4302) and the encapsulating payload (RFC 4303).

use etherparse::IpAuthHeaderSlice;
use serde::Serialize;

use super::{Decoded, Layer, Next, Upper};
use crate::data::Data;

/// An authentication header.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ah {
    /// The security parameters index.
    pub spi: u32,
    /// The sequence number.
    pub sequence: u32,
    /// The protocol of the next header.
    pub next_header: u8,
    /// Bytes of this header.
    pub length: usize,
}

impl Ah {
    pub(super) fn decode(upper: Upper, data: Data<'_>) -> Decoded<'_> {
        let header = IpAuthHeaderSlice::from_slice(data.bytes()).ok()?;
        let ah = Self {
            spi: header.spi(),
            sequence: header.sequence_number(),
            next_header: header.next_header().0,
            length: header.slice().len(),
        };
        let next = Upper { protocol: ah.next_header, ..upper };
        Some((Layer::Ah(ah), Next::Upper(next, data.skip(ah.length))))
    }
}

/// An encapsulating security payload; what it encloses is encrypted.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Esp {
    /// The security parameters index.
    pub spi: u32,
    /// The sequence number.
    pub sequence: u32,
    /// Bytes on the wire, this header included.
    pub length: usize,
}

impl Esp {
    pub(super) fn decode(data: Data<'_>) -> Decoded<'_> {
        let esp = Self { spi: data.u32(0)?, sequence: data.u32(4)?, length: data.length() };
        Some((Layer::Esp(esp), Next::Nothing))
    }
}
