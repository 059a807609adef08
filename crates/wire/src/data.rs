//! A layer's bytes, and the length they had on the wire.

/// Captured bytes from some header to the end of what encloses it, and how long they were on
/// the wire. `bytes` is shorter than `length` when the capture cut the packet off.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Data<'a> {
    bytes: &'a [u8],
    length: usize,
}

impl<'a> Data<'a> {
    /// `bytes` of a packet that had `length` bytes on the wire. A savefile whose record claims
    /// fewer bytes on the wire than it holds is believed about those it holds.
    pub(crate) fn new(bytes: &'a [u8], length: usize) -> Self {
        Self { bytes, length: length.max(bytes.len()) }
    }

    /// The bytes captured.
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Bytes on the wire.
    pub(crate) fn length(self) -> usize {
        self.length
    }

    /// Where the bytes begin in the `packet` that they are a part of.
    pub(crate) fn offset_in(self, packet: &[u8]) -> usize {
        self.bytes.as_ptr().addr().saturating_sub(packet.as_ptr().addr()).min(packet.len())
    }

    /// All the bytes, or `None` when some were not captured.
    pub(crate) fn whole(self) -> Option<&'a [u8]> {
        (self.bytes.len() == self.length).then_some(self.bytes)
    }

    /// What follows the first `count` bytes; nothing when there are fewer.
    pub(crate) fn skip(self, count: usize) -> Self {
        Self {
            bytes: &self.bytes[count.min(self.bytes.len())..],
            length: self.length.saturating_sub(count),
        }
    }

    /// At most the first `length` bytes: a header said that its payload ends there.
    pub(crate) fn clip(self, length: usize) -> Self {
        Self { bytes: &self.bytes[..length.min(self.bytes.len())], length: length.min(self.length) }
    }

    /// The first `length` bytes, by a header's word even where the enclosing layer has fewer.
    pub(crate) fn claim(self, length: usize) -> Self {
        Self { length, ..self.clip(length) }
    }

    /// The `N` bytes at `at`, or `None` when not all of them were captured.
    pub(crate) fn array<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.bytes.get(at..)?.first_chunk().copied()
    }

    /// The byte at `at`.
    pub(crate) fn u8(self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// The two bytes at `at` in network order.
    pub(crate) fn u16(self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_be_bytes)
    }

    /// The four bytes at `at` in network order.
    pub(crate) fn u32(self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_be_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_packet_knows_its_length_on_the_wire() {
        let data = Data::new(&[1, 2, 3, 4], 10);
        assert_eq!((data.skip(3).bytes(), data.skip(3).length()), (&[4][..], 7));
        assert_eq!((data.skip(5).bytes(), data.skip(5).length()), (&[][..], 5));
        assert_eq!((data.clip(2).whole(), data.clip(5).whole()), (Some(&[1, 2][..]), None));
        assert_eq!((data.u16(2), data.u16(3), data.u32(usize::MAX)), (Some(0x0304), None, None));
    }
}
