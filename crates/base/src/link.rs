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
    SYMANTEC_FIREWALL = 99, "SYMANTEC_FIREWALL", "Symantec Enterprise Firewall";
    ATM_RFC1483 = 100, "ATM_RFC1483", "RFC 1483 LLC-encapsulated ATM";
    RAW = 101, "RAW", "Raw IP";
    SLIP_BSDOS = 102, "SLIP_BSDOS", "BSD/OS SLIP";
    PPP_BSDOS = 103, "PPP_BSDOS", "BSD/OS PPP";
    C_HDLC = 104, "C_HDLC", "Cisco HDLC";
    IEEE802_11 = 105, "IEEE802_11", "802.11";
    ATM_CLIP = 106, "ATM_CLIP", "Linux Classical IP over ATM";
    FRELAY = 107, "FRELAY", "Frame Relay";
    LOOP = 108, "LOOP", "OpenBSD loopback";
    ENC = 109, "ENC", "OpenBSD encapsulated IP";
    HDLC = 112, "HDLC", "HDLC of NetBSD";
    LINUX_SLL = 113, "LINUX_SLL", "Linux cooked v1";
    LTALK = 114, "LTALK", "Localtalk";
    PFLOG = 117, "PFLOG", "OpenBSD pflog file";
    IEEE802_11_PRISM = 119, "PRISM_HEADER", "802.11 plus Prism header";
    IP_OVER_FC = 122, "IP_OVER_FC", "RFC 2625 IP over Fibre Channel";
    SUNATM = 123, "SUNATM", "Sun raw ATM";
    IEEE802_11_RADIOTAP = 127, "IEEE802_11_RADIO", "802.11 plus radiotap header";
    ARCNET_LINUX = 129, "ARCNET_LINUX", "ARCNET, Linux header";
    JUNIPER_MLPPP = 130, "JUNIPER_MLPPP", "Juniper multi-link PPP";
    JUNIPER_MLFR = 131, "JUNIPER_MLFR", "Juniper multi-link Frame Relay";
    JUNIPER_ES = 132, "JUNIPER_ES", "Juniper encryption services";
    JUNIPER_GGSN = 133, "JUNIPER_GGSN", "Juniper GGSN";
    JUNIPER_MFR = 134, "JUNIPER_MFR", "Juniper FRF.16 Frame Relay";
    JUNIPER_ATM2 = 135, "JUNIPER_ATM2", "Juniper ATM2";
    JUNIPER_SERVICES = 136, "JUNIPER_SERVICES", "Juniper services";
    JUNIPER_ATM1 = 137, "JUNIPER_ATM1", "Juniper ATM1";
    APPLE_IP_OVER_IEEE1394 = 138, "APPLE_IP_OVER_IEEE1394", "Apple IP over IEEE 1394";
    MTP2_WITH_PHDR = 139, "MTP2_WITH_PHDR", "SS7 MTP2 with pseudo-header";
    MTP2 = 140, "MTP2", "SS7 MTP2";
    MTP3 = 141, "MTP3", "SS7 MTP3";
    SCCP = 142, "SCCP", "SS7 SCCP";
    DOCSIS = 143, "DOCSIS", "DOCSIS";
    LINUX_IRDA = 144, "LINUX_IRDA", "Linux IrDA";
    IEEE802_11_AVS = 163, "IEEE802_11_RADIO_AVS", "802.11 plus AVS radio information header";
    JUNIPER_MONITOR = 164, "JUNIPER_MONITOR", "Juniper passive monitor";
    BACNET_MS_TP = 165, "BACNET_MS_TP", "BACnet MS/TP";
    PPP_PPPD = 166, "PPP_PPPD", "PPP for pppd, with direction";
    JUNIPER_PPPOE = 167, "JUNIPER_PPPOE", "Juniper PPPoE";
    JUNIPER_PPPOE_ATM = 168, "JUNIPER_PPPOE_ATM", "Juniper PPPoE over ATM";
    GPRS_LLC = 169, "GPRS_LLC", "GPRS LLC";
    LINUX_LAPD = 177, "LINUX_LAPD", "Linux vISDN LAPD";
    JUNIPER_ETHER = 178, "JUNIPER_ETHER", "Juniper Ethernet";
    JUNIPER_PPP = 179, "JUNIPER_PPP", "Juniper PPP";
    JUNIPER_FRELAY = 180, "JUNIPER_FRELAY", "Juniper Frame Relay";
    JUNIPER_CHDLC = 181, "JUNIPER_CHDLC", "Juniper C-HDLC";
    MFR = 182, "MFR", "FRF.16 Frame Relay";
    JUNIPER_VP = 183, "JUNIPER_VP", "Juniper voice";
    USB_FREEBSD = 186, "USB_FREEBSD", "USB with FreeBSD header";
    BLUETOOTH_HCI_H4 = 187, "BLUETOOTH_HCI_H4", "Bluetooth HCI UART transport layer";
    USB_LINUX = 189, "USB_LINUX", "USB with Linux header";
    CAN20B = 190, "CAN20B", "CAN 2.0B";
    IEEE802_15_4_LINUX = 191, "IEEE802_15_4_LINUX", "IEEE 802.15.4 with Linux padding";
    PPI = 192, "PPI", "Per-Packet Information";
    JUNIPER_ISM = 194, "JUNIPER_ISM", "Juniper integrated services";
    IEEE802_15_4 = 195, "IEEE802_15_4", "IEEE 802.15.4 with FCS";
    ERF = 197, "ERF", "Endace ERF";
    JUNIPER_ST = 200, "JUNIPER_ST", "Juniper secure tunnel";
    BLUETOOTH_HCI_H4_WITH_PHDR = 201, "BLUETOOTH_HCI_H4_WITH_PHDR", "Bluetooth HCI with pseudo-header";
    AX25_KISS = 202, "AX25_KISS", "AX.25 with KISS header";
    IPMB_LINUX = 209, "IPMB_LINUX", "IPMB with Linux pseudo-header";
    IEEE802_15_4_NONASK_PHY = 215, "IEEE802_15_4_NONASK_PHY", "IEEE 802.15.4 with non-ASK PHY";
    USB_LINUX_MMAPPED = 220, "USB_LINUX_MMAPPED", "USB with padded Linux header";
    FC_2 = 224, "FC_2", "Fibre Channel FC-2";
    IPNET = 226, "IPNET", "Solaris ipnet";
    CAN_SOCKETCAN = 227, "CAN_SOCKETCAN", "CAN with SocketCAN header";
    IPV4 = 228, "IPV4", "Raw IPv4";
    IPV6 = 229, "IPV6", "Raw IPv6";
    IEEE802_15_4_NOFCS = 230, "IEEE802_15_4_NOFCS", "IEEE 802.15.4 without FCS";
    DBUS = 231, "DBUS", "D-Bus";
    JUNIPER_VS = 232, "JUNIPER_VS", "Juniper virtual server";
    JUNIPER_SRX_E2E = 233, "JUNIPER_SRX_E2E", "Juniper SRX";
    JUNIPER_FIBRECHANNEL = 234, "JUNIPER_FIBRECHANNEL", "Juniper Fibre Channel";
    JUNIPER_ATM_CEMIC = 238, "JUNIPER_ATM_CEMIC", "Juniper ATM CEMIC";
    NFLOG = 239, "NFLOG", "Linux netfilter log messages";
    NETANALYZER = 240, "NETANALYZER", "Ethernet with Hilscher netANALYZER pseudo-header";
    NETANALYZER_TRANSPARENT = 241, "NETANALYZER_TRANSPARENT", "Hilscher netANALYZER with preamble";
    IPOIB = 242, "IPOIB", "IP over InfiniBand";
    PFSYNC = 246, "PFSYNC", "Packet filter state syncing";
    INFINIBAND = 247, "INFINIBAND", "InfiniBand";
    SCTP = 248, "SCTP", "SCTP";
    USBPCAP = 249, "USBPCAP", "USB with USBPcap header";
    BLUETOOTH_LE_LL = 251, "BLUETOOTH_LE_LL", "Bluetooth Low Energy";
    NETLINK = 253, "NETLINK", "Linux netlink";
    BLUETOOTH_LINUX_MONITOR = 254, "BLUETOOTH_LINUX_MONITOR", "Bluetooth Linux Monitor";
    BLUETOOTH_LE_LL_WITH_PHDR = 256, "BLUETOOTH_LE_LL_WITH_PHDR", "Bluetooth Low Energy with pseudo-header";
    PKTAP = 258, "PKTAP", "Apple PKTAP";
    USB_DARWIN = 266, "USB_DARWIN", "USB with Darwin header";
    VSOCK = 271, "VSOCK", "Linux vsock";
    LINUX_SLL2 = 276, "LINUX_SLL2", "Linux cooked v2";
    DSA_TAG_BRCM = 281, "DSA_TAG_BRCM", "Broadcom tag";
    DSA_TAG_BRCM_PREPEND = 282, "DSA_TAG_BRCM_PREPEND", "Broadcom tag, prepended";
    IEEE802_15_4_TAP = 283, "IEEE802_15_4_TAP", "IEEE 802.15.4 with TAP pseudo-header";
    DSA_TAG_DSA = 284, "DSA_TAG_DSA", "Marvell DSA";
    DSA_TAG_EDSA = 285, "DSA_TAG_EDSA", "Marvell EDSA";
    USB_2_0 = 288, "USB_2_0", "USB 2.0 as on the cable";
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
