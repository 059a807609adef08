//! The Dynamic Host Configuration Protocol (RFC 2131, options RFC 2132), and BOOTP (RFC 951).

use std::net::Ipv4Addr;

use serde::{Serialize, Serializer};

use super::{Decoded, Layer, Next, Octets, numbers};
use crate::data::Data;

/// A DHCP message.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Dhcp<'a> {
    /// 1 from a client, 2 from a server.
    pub operation: u8,
    /// The type of message; null in plain BOOTP, or when it was cut off.
    pub message: Option<&'static str>,
    /// The number that joins questions and answers.
    pub transaction: u32,
    /// Seconds since the client began.
    pub seconds: u16,
    /// How many relays it passed.
    pub hops: u8,
    /// The flags; the highest bit asks for an answer by broadcast.
    pub flags: u16,
    /// The client's address, when it has one.
    pub client: Ipv4Addr,
    /// The address on offer.
    pub yours: Ipv4Addr,
    /// The next server's address.
    pub server: Ipv4Addr,
    /// The relay's address.
    pub relay: Ipv4Addr,
    /// The client's hardware address.
    pub hardware: Octets<'a>,
    /// The options that this crate reads.
    pub options: DhcpOptions<'a>,
    /// Bytes on the wire.
    pub length: usize,
}

/// An option of DHCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DhcpOption<'a> {
    /// Its number (RFC 2132).
    pub number: u8,
    /// Its data.
    pub data: &'a [u8],
}

impl Serialize for DhcpOption<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.number, Octets(self.data)).serialize(serializer)
    }
}

/// The options of a DHCP message, decoded as they are iterated over. Serialises as a list of
/// pairs of number and data.
#[derive(Clone, Copy, Debug)]
pub struct DhcpOptions<'a>(&'a [u8]);

impl<'a> DhcpOptions<'a> {
    const PAD: u8 = 0;
    const END: u8 = 255;

    /// The options in order, up to the end of the list or to one that is cut off.
    pub fn iter(&self) -> impl Iterator<Item = DhcpOption<'a>> + use<'a> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let padding = rest.iter().take_while(|&&b| b == Self::PAD).count();
            let (&[number, length], tail) = rest[padding..].split_first_chunk()?;
            let data = tail.get(..length.into()).filter(|_| number != Self::END)?;
            rest = &tail[data.len()..];
            Some(DhcpOption { number, data })
        })
    }

    fn get(&self, number: u8) -> Option<&'a [u8]> {
        self.iter().find(|option| option.number == number).map(|option| option.data)
    }
}

impl Serialize for DhcpOptions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'a> Dhcp<'a> {
    /// RFC 2131 2: the fixed fields; RFC 2131 3: the cookie that options follow.
    const FIXED: usize = 236;
    const COOKIE: [u8; 4] = [99, 130, 83, 99];
    const MESSAGE_TYPE: u8 = 53;

    pub(super) fn decode(data: Data<'a>) -> Decoded<'a> {
        let fixed = data.bytes().get(..Self::FIXED)?;
        let address = |at| data.array(at).map(Ipv4Addr::from_octets);
        let hardware_length = usize::from(fixed[2]).min(16);
        let options = match data.array(Self::FIXED) {
            Some(Self::COOKIE) => DhcpOptions(data.skip(Self::FIXED + 4).bytes()),
            _ => DhcpOptions(&[]),
        };
        let message = options.get(Self::MESSAGE_TYPE).and_then(|data| data.first());
        let dhcp = Self {
            operation: fixed[0],
            message: message.and_then(|&number| numbers::dhcp_message(number)),
            transaction: data.u32(4)?,
            seconds: data.u16(8)?,
            hops: fixed[3],
            flags: data.u16(10)?,
            client: address(12)?,
            yours: address(16)?,
            server: address(20)?,
            relay: address(24)?,
            hardware: Octets(&fixed[28..28 + hardware_length]),
            options,
            length: data.length(),
        };
        Some((Layer::Dhcp(dhcp), Next::Nothing))
    }
}
