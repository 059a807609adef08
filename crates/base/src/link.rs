//! What the first byte of a packet means.

use std::fmt;

/// A link type, by its number in savefiles (the `LINKTYPE_` registry of the tcpdump group).
///
/// Any number is representable; those that linerate names are constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u16);

macro_rules! link_types {
    ($($constant:ident = $number:literal, $name:literal, $description:literal;)*) => {
        impl LinkType {
            $(#[doc = $description] pub const $constant: Self = Self($number);)*

            const NAMED: &[(Self, &str, &str)] =
                &[$((Self($number), $name, $description)),*];
        }
    };
}

link_types! {
    NULL = 0, "NULL", "BSD loopback";
    ETHERNET = 1, "EN10MB", "Ethernet";
    AX25 = 3, "AX25", "AX.25 layer 2";
    IEEE802_5 = 6, "IEEE802", "Token Ring";
    ARCNET_BSD = 7, "ARCNET", "ARCNET, BSD header";
    SLIP = 8, "SLIP", "SLIP";
    PPP = 9, "PPP", "PPP";
    FDDI = 10, "FDDI", "FDDI";
    PPP_HDLC = 50, "PPP_SERIAL", "PPP over serial, HDLC framing";
    PPP_ETHER = 51, "PPP_ETHER", "PPPoE session packets";
    ATM_RFC1483 = 100, "ATM_RFC1483", "RFC 1483 LLC-encapsulated ATM";
    RAW = 101, "RAW", "Raw IP";
    C_HDLC = 104, "C_HDLC", "Cisco HDLC";
    IEEE802_11 = 105, "IEEE802_11", "802.11";
    FRELAY = 107, "FRELAY", "Frame Relay";
    LOOP = 108, "LOOP", "OpenBSD loopback";
    LINUX_SLL = 113, "LINUX_SLL", "Linux cooked v1";
    LTALK = 114, "LTALK", "Localtalk";
    PFLOG = 117, "PFLOG", "OpenBSD pflog file";
    IEEE802_11_PRISM = 119, "PRISM_HEADER", "802.11 plus Prism header";
    IP_OVER_FC = 122, "IP_OVER_FC", "RFC 2625 IP over Fibre Channel";
    SUNATM = 123, "SUNATM", "Sun raw ATM";
    IEEE802_11_RADIOTAP = 127, "IEEE802_11_RADIO", "802.11 plus radiotap header";
    ARCNET_LINUX = 129, "ARCNET_LINUX", "ARCNET, Linux header";
    IEEE802_11_AVS = 163, "IEEE802_11_RADIO_AVS", "802.11 plus AVS radio information header";
    BLUETOOTH_HCI_H4 = 187, "BLUETOOTH_HCI_H4", "Bluetooth HCI UART transport layer";
    PPI = 192, "PPI", "Per-Packet Information";
    IPV4 = 228, "IPV4", "Raw IPv4";
    IPV6 = 229, "IPV6", "Raw IPv6";
    NFLOG = 239, "NFLOG", "Linux netfilter log messages";
    NETANALYZER = 240, "NETANALYZER", "Ethernet with Hilscher netANALYZER pseudo-header";
    LINUX_SLL2 = 276, "LINUX_SLL2", "Linux cooked v2";
}

impl LinkType {
    /// Every link type that has a name here, in the order of numbers.
    pub fn named() -> impl Iterator<Item = Self> {
        Self::NAMED.iter().map(|(link_type, _, _)| *link_type)
    }

    /// The link type with this `DLT_` name (`EN10MB`), in any case, or this number.
    pub fn from_name(name: &str) -> Option<Self> {
        let bare = name.strip_prefix("DLT_").unwrap_or(name);
        let named = Self::NAMED.iter().find(|(_, n, _)| n.eq_ignore_ascii_case(bare));
        named.map(|(link_type, _, _)| *link_type).or_else(|| bare.parse().ok().map(Self))
    }

    /// The `DLT_` name without its prefix, or `None` for a number without a name here.
    pub fn name(self) -> Option<&'static str> {
        self.entry().map(|(_, name, _)| *name)
    }

    /// A description for people, or `None` for a number without a name here.
    pub fn description(self) -> Option<&'static str> {
        self.entry().map(|(_, _, description)| *description)
    }

    fn entry(self) -> Option<&'static (Self, &'static str, &'static str)> {
        let found = Self::NAMED.binary_search_by_key(&self, |(link_type, _, _)| *link_type);
        found.ok().map(|i| &Self::NAMED[i])
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_without_repeats() {
        assert!(LinkType::NAMED.windows(2).all(|w| w[0].0 < w[1].0));
    }

    #[test]
    fn names_and_numbers_both_find_a_link_type() {
        assert_eq!(LinkType::from_name("en10mb"), Some(LinkType::ETHERNET));
        assert_eq!(LinkType::from_name("DLT_LINUX_SLL2"), Some(LinkType::LINUX_SLL2));
        assert_eq!(LinkType::from_name("147"), Some(LinkType(147)));
        assert_eq!(LinkType::from_name("ether"), None);
    }

    #[test]
    fn a_number_without_a_name_displays_as_a_number() {
        assert_eq!(LinkType(999).to_string(), "999");
        assert_eq!(LinkType::ETHERNET.to_string(), "EN10MB");
    }
}
