//! Numbers in either byte order.

/// The byte order of a savefile, or of one section of it: that of the machine that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    /// True for the order of the machine that this runs on.
    pub(crate) fn is_native(self) -> bool {
        (self == Self::Little) == cfg!(target_endian = "little")
    }

    /// The 16-bit number at `at`; the caller has checked that it lies inside.
    #[inline]
    pub(crate) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let raw = [bytes[at], bytes[at + 1]];
        match self {
            Self::Little => u16::from_le_bytes(raw),
            Self::Big => u16::from_be_bytes(raw),
        }
    }

    /// The 32-bit number at `at`; the caller has checked that it lies inside.
    #[inline]
    pub(crate) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let raw = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match self {
            Self::Little => u32::from_le_bytes(raw),
            Self::Big => u32::from_be_bytes(raw),
        }
    }

    /// The 64-bit number that `value` is, or `None` when it has another size.
    pub(crate) fn u64(self, value: &[u8]) -> Option<u64> {
        let raw = value.try_into().ok()?;
        Some(match self {
            Self::Little => u64::from_le_bytes(raw),
            Self::Big => u64::from_be_bytes(raw),
        })
    }
}

/// `length` rounded up to the 32-bit boundary that pcapng aligns everything to.
#[inline]
pub(crate) const fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}
