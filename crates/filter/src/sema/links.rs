//! The link types, and where their headers lie.
//!
//! A link type that is not in the table has no structure that we know: of its packets `link[...]`,
//! lengths and metadata can be asked for.

use linerate_base::LinkType;

/// Link layers by how they say what they carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Ethernet,
    /// Ethernet behind a header of Hilscher's.
    NetAnalyzer,
    Cooked,
    Cooked2,
    Raw,
    /// Raw IP whose first byte is the direction.
    Slip,
    Ipv4,
    Ipv6,
    /// The address family in the byte order of the machine that captured.
    Null,
    /// The address family in network byte order.
    Loop,
    Ppp,
    /// PPP in HDLC framing over a serial line, or behind PPPoE's header.
    PppFramed,
    /// PPP whose first byte is the direction.
    PppDirected,
    PppBsdOs,
    CiscoHdlc,
    FrameRelay,
    TokenRing,
    Fddi,
    FibreChannel,
    /// LLC alone: over ATM by RFC 1483, and Linux's Classical IP over ATM.
    Llc,
    Clip,
    SunAtm,
    Wlan(Radio),
    Arcnet,
    LocalTalk,
    /// An EtherType alone.
    EtherType,
    PfLog,
    IpNet,
    Juniper,
    BacnetMsTp,
    /// SS7's signal units; the protocol field is their length.
    Mtp2,
    /// Nothing is known of it.
    Opaque,
}

/// What stands before an 802.11 frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Radio {
    Nothing,
    Prism,
    Radiotap,
    Avs,
    Ppi,
}

impl Link {
    /// Its header is Ethernet's.
    pub(crate) fn is_ethernet(self) -> bool {
        matches!(self, Self::Ethernet | Self::NetAnalyzer)
    }
}

/// Where the headers of a link type lie, in bytes: the link layer's from the packet's first byte, the
/// network layer's from the payload. [`UNSET`] and what is added to it lie behind any packet's end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) link_type: LinkType,
    pub(crate) link: Link,
    pub(crate) start: u32,
    pub(crate) protocol: u32,
    pub(crate) payload: u32,
    pub(crate) network: u32,
    /// Behind an 802.2 header without SNAP.
    pub(crate) network_llc: u32,
}

const UNSET: u32 = u32::MAX;

const fn entry(number: u16, link: Link, protocol: u32, payload: u32) -> Entry {
    let link_type = LinkType(number);
    Entry { link_type, link, start: 0, protocol, payload, network: 0, network_llc: 0 }
}

/// Frames of IEEE 802: the payload begins with an 802.2 header, mostly with SNAP.
const fn llc(number: u16, link: Link, payload: u32) -> Entry {
    Entry { network: 8, network_llc: 3, ..entry(number, link, payload, payload) }
}

/// The Ethernet header begins at `start`, and `tag` bytes are before its type.
const fn ethernet(number: u16, link: Link, start: u32, tag: u32) -> Entry {
    let protocol = start + 12 + tag;
    Entry { start, network_llc: 3, ..entry(number, link, protocol, protocol + 2) }
}

const fn juniper(number: u16, payload: u32, network_llc: u32) -> Entry {
    Entry { network_llc, ..entry(number, Link::Juniper, 0, payload) }
}

/// A Juniper header behind which nobody says what lies where.
const fn juniper_unset(number: u16) -> Entry {
    Entry { network: UNSET, network_llc: UNSET, ..entry(number, Link::Juniper, UNSET, UNSET) }
}

/// In the order of numbers. The registry's pages at tcpdump.org tell each header's format.
const KNOWN: &[Entry] = &[
    entry(0, Link::Null, 0, 4),
    ethernet(1, Link::Ethernet, 0, 0),
    llc(6, Link::TokenRing, 14),
    entry(7, Link::Arcnet, 2, 6),
    entry(8, Link::Slip, 0, 16),
    entry(9, Link::Ppp, 2, 4),
    llc(10, Link::Fddi, 13),
    entry(50, Link::PppFramed, 2, 4),
    entry(51, Link::PppFramed, 6, 8),
    entry(99, Link::EtherType, 6, 44),
    llc(100, Link::Llc, 0),
    entry(101, Link::Raw, 0, 0),
    entry(102, Link::Raw, 0, 24),
    entry(103, Link::PppBsdOs, 5, 24),
    entry(104, Link::CiscoHdlc, 2, 4),
    llc(105, Link::Wlan(Radio::Nothing), 0),
    llc(106, Link::Clip, 0),
    entry(107, Link::FrameRelay, 0, 0),
    entry(108, Link::Loop, 0, 4),
    entry(109, Link::Null, 0, 12),
    entry(112, Link::CiscoHdlc, 2, 4),
    entry(113, Link::Cooked, 14, 16),
    entry(114, Link::LocalTalk, 0, 0),
    entry(117, Link::PfLog, 0, 0),
    llc(119, Link::Wlan(Radio::Prism), 0),
    llc(122, Link::FibreChannel, 16),
    llc(123, Link::SunAtm, 4),
    llc(127, Link::Wlan(Radio::Radiotap), 0),
    entry(129, Link::Arcnet, 4, 8),
    juniper(130, 4, UNSET),
    juniper(131, 4, UNSET),
    juniper_unset(132),
    juniper(133, 12, UNSET),
    juniper(134, 4, UNSET),
    juniper(135, 8, 10),
    juniper_unset(136),
    juniper(137, 4, 10),
    entry(138, Link::EtherType, 16, 18),
    entry(139, Link::Mtp2, 6, 0),
    entry(140, Link::Mtp2, 2, 0),
    llc(163, Link::Wlan(Radio::Avs), 0),
    juniper(164, 12, UNSET),
    Entry { network: UNSET, network_llc: UNSET, ..entry(165, Link::BacnetMsTp, UNSET, UNSET) },
    entry(166, Link::PppDirected, 2, 4),
    juniper(167, 32, 3),
    juniper(168, 6, UNSET),
    juniper(178, 32, 3),
    juniper(179, 4, UNSET),
    juniper(180, 4, UNSET),
    juniper(181, 4, UNSET),
    juniper_unset(183),
    llc(192, Link::Wlan(Radio::Ppi), 0),
    juniper_unset(194),
    entry(197, Link::Mtp2, 22, 0),
    juniper_unset(200),
    Entry { network_llc: UNSET, ..entry(226, Link::IpNet, 1, 24) },
    entry(228, Link::Ipv4, 0, 0),
    entry(229, Link::Ipv6, 0, 0),
    juniper_unset(232),
    juniper_unset(233),
    juniper_unset(234),
    juniper_unset(238),
    ethernet(240, Link::NetAnalyzer, 4, 0),
    ethernet(241, Link::NetAnalyzer, 12, 0),
    entry(276, Link::Cooked2, 0, 20),
    ethernet(281, Link::Ethernet, 0, 4),
    ethernet(284, Link::Ethernet, 0, 4),
    ethernet(285, Link::Ethernet, 0, 8),
];

/// Numbers from here on are the same in savefiles and for libpcap's filters, which take all of them.
const FIRST_OPAQUE: u16 = 104;

/// The link types whose headers filters know. Of others with a number of at least 104, which are
/// accepted as well, filters can ask for `link[...]`, lengths and metadata.
pub fn link_types() -> impl ExactSizeIterator<Item = LinkType> {
    KNOWN.iter().map(|entry| entry.link_type)
}

/// Where the headers of a link type lie; nothing for one that filters do not take.
pub(crate) fn find(link_type: LinkType) -> Option<Entry> {
    let known = KNOWN.binary_search_by_key(&link_type, |entry| entry.link_type);
    let opaque = || (link_type.0 >= FIRST_OPAQUE).then(|| entry(link_type.0, Link::Opaque, 0, 0));
    known.ok().map(|index| KNOWN[index]).or_else(opaque)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_type_is_found() {
        assert!(KNOWN.is_sorted_by_key(|entry| entry.link_type));
        for link_type in link_types() {
            assert_eq!(find(link_type).expect("known").link_type, link_type);
            assert!(link_type.name().is_some(), "{link_type}");
        }
    }

    #[test]
    fn unknown_ones_are_opaque_or_refused() {
        assert_eq!(find(LinkType(189)).expect("USB").link, Link::Opaque);
        assert!(find(LinkType(2)).is_none());
    }
}
