//! Probes that are made beforehand, but for what differs from target to target.

use std::net::IpAddr;
use std::ops::Range;

use etherparse::IpNumber;
use linerate_tcp::frame::{ETHERNET, IPV4, IPV6, Path};
use linerate_transmit::sink::Alike;

/// A frame in which all that is to vary is zero. Its checksums are sums, so those of a probe are the form's with what varies
/// added (RFC 1071 2, RFC 1624 3).
#[derive(Clone, Debug)]
pub(crate) struct Form {
    frame: Vec<u8>,
    /// Where the payload of IP begins.
    payload: usize,
    /// Where the payload's checksum is.
    checksum: usize,
    protocol: IpNumber,
    /// The sums of the header of IPv4 and of the payload, not complemented.
    header_sum: u64,
    sum: u64,
}

impl Form {
    /// A frame from the path's source to whomever: its destination and next hop are not looked at. `payload` is what follows the IP
    /// header, with its checksum at `checksum`.
    pub(crate) fn new(path: &Path, protocol: IpNumber, payload: &[u8], checksum: usize) -> Self {
        let unspecified: IpAddr = match path.source {
            IpAddr::V4(_) => [0; 4].into(),
            IpAddr::V6(_) => [0; 16].into(),
        };
        let path = Path { destination: unspecified, ..*path };
        let mut frame = vec![0; path.overhead() + payload.len()];
        path.write(&mut frame, protocol, checksum, |slot| {
            slot.copy_from_slice(payload);
            payload.len()
        });
        let (payload, checksum) = (path.overhead(), path.overhead() + checksum);
        let sum_at = |at: usize| u64::from(!u16::from_be_bytes([frame[at], frame[at + 1]]));
        let (header_sum, sum) = (sum_at(ETHERNET + 10), sum_at(checksum));
        Self { frame, payload, checksum, protocol, header_sum, sum }
    }

    /// Bytes of the frame.
    pub(crate) fn length(&self) -> usize {
        self.frame.len()
    }

    /// What all frames have in common whose payloads vary at these places.
    pub(crate) fn alike(&self, varying: impl Iterator<Item = Range<usize>>) -> Alike {
        let bytes = |at: usize, length: usize| at..at + length;
        let head = match self.payload - ETHERNET {
            IPV4 => vec![bytes(ETHERNET + 10, 2), bytes(ETHERNET + IPV4 - 4, 4)],
            _ => vec![bytes(ETHERNET + IPV6 - 16, 16)],
        };
        let inner = varying.map(|range| bytes(self.payload + range.start, range.len()));
        let all = head.into_iter().chain([bytes(0, 6), bytes(self.checksum, 2)]).chain(inner);
        Alike::new(self.frame.clone(), all.collect())
    }

    /// Writes the frame to this destination, by whom has the hardware address `hop`, to `slot`, with what `vary` puts into its payload, and returns its length.
    pub(crate) fn fill(
        &self,
        slot: &mut [u8],
        hop: [u8; 6],
        destination: IpAddr,
        vary: impl FnOnce(&mut Pen<'_>),
    ) -> usize {
        let slot = &mut slot[..self.frame.len()];
        slot.copy_from_slice(&self.frame);
        slot[..6].copy_from_slice(&hop);
        let (ip, payload) = slot.split_at_mut(self.payload);
        let mut head = Pen { bytes: &mut ip[ETHERNET..], sum: 0 };
        match destination {
            IpAddr::V4(address) => head.put(IPV4 - 4, address.octets()),
            IpAddr::V6(address) => head.put(IPV6 - 16, address.octets()),
        }
        let address = head.sum;
        if destination.is_ipv4() {
            ip[ETHERNET + 10..][..2].copy_from_slice(&complement(self.header_sum + address));
        }
        // RFC 792: the checksum of ICMP covers no address.
        let is_covered = self.protocol != IpNumber::ICMP;
        let mut pen = Pen { bytes: payload, sum: if is_covered { address } else { 0 } };
        vary(&mut pen);
        let sum = match complement(self.sum + pen.sum) {
            // RFC 768: zero would mean that there is none.
            [0, 0] if self.protocol == IpNumber::UDP => [0xff; 2],
            sum => sum,
        };
        slot[self.checksum..][..2].copy_from_slice(&sum);
        self.frame.len()
    }
}

/// Writes what varies, and adds it up.
pub(crate) struct Pen<'a> {
    bytes: &'a mut [u8],
    sum: u64,
}

impl Pen<'_> {
    /// Puts bytes, an even number of them, in the place of zeros at an even offset.
    #[inline]
    pub(crate) fn put<const N: usize>(&mut self, at: usize, bytes: [u8; N]) {
        const { assert!(N.is_multiple_of(2)) };
        self.bytes[at..at + N].copy_from_slice(&bytes);
        for pair in bytes.chunks_exact(2) {
            self.sum += u64::from(u16::from_be_bytes([pair[0], pair[1]]));
        }
    }
}

/// The ones' complement of the sum, as checksums are.
fn complement(mut sum: u64) -> [u8; 2] {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}
