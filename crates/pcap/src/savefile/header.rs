//! What programs may ask of a savefile's header, and the header that is written.

use std::ffi::c_int;

use linerate::base::LinkType;

use crate::abi::ERROR;
use crate::entry::entry;
use crate::handle::{self, Handle, Precision};

/// Bytes of a pcap file's header.
pub(crate) const SIZE: usize = 24;

/// Microseconds in a record (draft-ietf-opsawg-pcap, 4), and Kuznetsov's format of the same.
const MICRO: [u32; 2] = [0xa1b2_c3d4, 0xa1b2_cd34];
/// Nanoseconds.
const NANO: u32 = 0xa1b2_3c4d;
/// The byte order of a pcapng section (draft-ietf-opsawg-pcapng, 4.1), 8 bytes from its beginning.
const SECTION_ORDER: u32 = 0x1a2b_3c4d;

/// Bits of the link-type field that are no link type: the length of the frame check sequence.
const EXTENSION: u32 = 0xfc00_0000;

/// The beginning of a savefile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) is_swapped: bool,
    pub(crate) major: u16,
    pub(crate) minor: u16,
    pub(crate) link_extension: u32,
}

impl Header {
    /// Of a file that shows none, such as a compressed one.
    const HIDDEN: Self = Self { is_swapped: false, major: 2, minor: 4, link_extension: 0 };

    /// Whether these are the first bytes of a pcap file that is not compressed.
    pub(crate) fn is_plain(bytes: &[u8]) -> bool {
        words(bytes).is_some_and(|[magic, ..]| is_order(magic))
    }

    /// What the first bytes of a savefile say.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let Some(words) = words(bytes) else { return Self::HIDDEN };
        let [magic, version, section, ..] = words;
        if is_order(magic) {
            let is_swapped = !is_native(magic);
            let version = if is_swapped { version.swap_bytes() } else { version };
            let link = if is_swapped { words[5].swap_bytes() } else { words[5] };
            let (major, minor) = halves(version, is_swapped);
            return Self { is_swapped, major, minor, link_extension: link & EXTENSION };
        }
        let is_swapped = section == SECTION_ORDER.swap_bytes();
        if section != SECTION_ORDER && !is_swapped {
            return Self::HIDDEN;
        }
        let version = if is_swapped { words[3].swap_bytes() } else { words[3] };
        let (major, minor) = halves(version, is_swapped);
        Self { is_swapped, major, minor, link_extension: 0 }
    }
}

/// The two halves of a word, as they stand one after the other.
fn halves(word: u32, is_swapped: bool) -> (u16, u16) {
    let (high, low) = ((word >> 16) as u16, word as u16);
    let first_is_low = cfg!(target_endian = "little") != is_swapped;
    if first_is_low { (low, high) } else { (high, low) }
}

fn words(bytes: &[u8]) -> Option<[u32; 6]> {
    let (words, _) = bytes.get(..SIZE)?.as_chunks::<4>();
    let mut read = [0; 6];
    for (word, bytes) in read.iter_mut().zip(words) {
        *word = u32::from_ne_bytes(*bytes);
    }
    Some(read)
}

fn is_native(magic: u32) -> bool {
    MICRO.contains(&magic) || magic == NANO
}

fn is_order(magic: u32) -> bool {
    is_native(magic) || is_native(magic.swap_bytes())
}

/// The header of a pcap file; the extension is in the link type's field, too.
pub(crate) fn written(
    link_type: LinkType,
    extension: u32,
    snapshot: c_int,
    precision: Precision,
) -> [u8; SIZE] {
    let magic = match precision {
        Precision::Micro => MICRO[0],
        Precision::Nano => NANO,
    };
    let mut header = [0; SIZE];
    header[0..4].copy_from_slice(&magic.to_ne_bytes());
    header[4..6].copy_from_slice(&2_u16.to_ne_bytes());
    header[6..8].copy_from_slice(&4_u16.to_ne_bytes());
    header[16..20].copy_from_slice(&snapshot.to_ne_bytes());
    header[20..24].copy_from_slice(&(u32::from(link_type.0) | extension).to_ne_bytes());
    header
}

/// Why packets cannot be appended to a file that begins with `found`, if they cannot, where it would be `written`.
pub(crate) fn mismatch(found: &[u8; SIZE], written: &[u8; SIZE]) -> Option<&'static str> {
    let word = |header: &[u8; SIZE], at: usize| {
        let [a, b, c, d, ..] = header[at..] else { return 0 };
        u32::from_ne_bytes([a, b, c, d])
    };
    let (magic, wanted) = (word(found, 0), word(written, 0));
    if magic != wanted {
        return Some(match magic {
            magic if is_order(magic) && !is_native(magic) => "different byte order",
            magic if magic == MICRO[0] || magic == NANO => "different time stamp precision",
            _ => "not a pcap file to which we can append",
        });
    }
    let differs = |at| word(found, at) != word(written, at);
    if differs(4) {
        Some("different version")
    } else if differs(20) {
        Some("different linktype")
    } else {
        differs(16).then_some("different snaplen")
    }
}

entry! {
    /// 1 where a savefile was written in the other byte order, else 0.
    fn pcap_is_swapped(handle: *mut Handle) -> c_int, ERROR => {
        handle::active_or(handle, |inner| inner.savefile().map_or(0, |s| s.header.is_swapped.into()))
    }

    /// The major version of a savefile's format.
    fn pcap_major_version(handle: *mut Handle) -> c_int, ERROR => {
        handle::active_or(handle, |inner| inner.savefile().map_or(0, |s| s.header.major.into()))
    }

    /// The minor version of a savefile's format.
    fn pcap_minor_version(handle: *mut Handle) -> c_int, ERROR => {
        handle::active_or(handle, |inner| inner.savefile().map_or(0, |s| s.header.minor.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_in_both_orders() {
        let header = written(LinkType::ETHERNET, EXTENSION, 1000, Precision::Nano);
        let read = Header { is_swapped: false, major: 2, minor: 4, link_extension: EXTENSION };
        assert_eq!(Header::read(&header), read);
        let mut swapped = header;
        swapped[0..4].reverse();
        swapped[4..6].reverse();
        swapped[6..8].reverse();
        swapped[16..20].reverse();
        swapped[20..24].reverse();
        assert_eq!(Header::read(&swapped), Header { is_swapped: true, ..read });
        assert_eq!(mismatch(&swapped, &header), Some("different byte order"));
    }

    #[test]
    fn what_differs_is_named() {
        let header = written(LinkType::ETHERNET, 0, 1000, Precision::Micro);
        let differs = |link_type, snapshot, precision| {
            mismatch(&written(link_type, 0, snapshot, precision), &header)
        };
        assert_eq!(differs(LinkType::ETHERNET, 1000, Precision::Micro), None);
        assert_eq!(differs(LinkType::RAW, 1000, Precision::Micro), Some("different linktype"));
        assert_eq!(differs(LinkType::ETHERNET, 9, Precision::Micro), Some("different snaplen"));
        assert_eq!(
            differs(LinkType::ETHERNET, 1000, Precision::Nano),
            Some("different time stamp precision")
        );
        assert_eq!(mismatch(&[0; SIZE], &header), Some("not a pcap file to which we can append"));
    }

    #[test]
    fn sections_of_pcapng_have_versions_too() {
        let mut bytes = [0; SIZE];
        bytes[..4].copy_from_slice(&0x0a0d_0d0a_u32.to_be_bytes());
        bytes[8..12].copy_from_slice(&SECTION_ORDER.to_be_bytes());
        bytes[12..14].copy_from_slice(&1_u16.to_be_bytes());
        let header = Header::read(&bytes);
        let is_swapped = cfg!(target_endian = "little");
        assert_eq!((header.major, header.minor, header.is_swapped), (1, 0, is_swapped));
        assert_eq!(Header::read(&[0x1f, 0x8b]), Header::HIDDEN);
    }
}
