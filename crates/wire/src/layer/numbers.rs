//! Names of protocol numbers, as tcpdump's users know them.

macro_rules! names {
    ($(#[$doc:meta])* $visibility:vis fn $function:ident($type:ty) { $($number:pat => $name:literal,)* }) => {
        $(#[$doc])*
        $visibility fn $function(number: $type) -> Option<&'static str> {
            Some(match number {
                $($number => $name,)*
                _ => return None,
            })
        }
    };
}

pub(crate) const IPV4: u16 = 0x0800;
pub(crate) const ARP: u16 = 0x0806;
pub(crate) const REVERSE_ARP: u16 = 0x8035;
pub(crate) const TRANSPARENT_ETHERNET: u16 = 0x6558;
pub(crate) const IPV6: u16 = 0x86dd;
pub(crate) const MPLS: u16 = 0x8847;
pub(crate) const MPLS_MULTICAST: u16 = 0x8848;
pub(crate) const PPPOE_DISCOVERY: u16 = 0x8863;
pub(crate) const PPPOE_SESSION: u16 = 0x8864;
pub(crate) const PPP: u16 = 0x880b;

/// The largest value of an Ethernet type field that is a length (IEEE 802.3 3.2.6).
pub(crate) const MAX_802_3_LENGTH: u16 = 1500;

/// Whether this Ethernet type announces an IEEE 802.1Q tag, customer or service.
pub(crate) fn is_vlan(ethertype: u16) -> bool {
    matches!(ethertype, 0x8100 | 0x88a8 | 0x9100 | 0x9200)
}

names! {
    /// An Ethernet type.
    pub(crate) fn ethertype(u16) {
        IPV4 => "IPv4",
        ARP => "ARP",
        REVERSE_ARP => "Reverse ARP",
        0x6001 => "MOP DL",
        0x6002 => "MOP RC",
        0x6003 => "DN",
        0x6004 => "LAT",
        0x6007 => "SCA",
        TRANSPARENT_ETHERNET => "TEB",
        0x809b => "Appletalk",
        0x80f3 => "Appletalk ARP",
        0x8100 => "802.1Q",
        0x8137 => "IPX",
        IPV6 => "IPv6",
        0x8808 => "MPCP",
        0x8809 => "Slow Protocols",
        PPP => "PPP",
        MPLS => "MPLS unicast",
        MPLS_MULTICAST => "MPLS multicast",
        PPPOE_DISCOVERY => "PPPoE D",
        PPPOE_SESSION => "PPPoE S",
        0x886f => "MS NLB heartbeat",
        0x8870 => "Jumbo",
        0x888e => "EAPOL",
        0x8899 => "RRCP",
        0x88a2 => "AoE",
        0x88a8 => "802.1Q-QinQ",
        0x88ca => "TIPC",
        0x88cc => "LLDP",
        0x88e5 => "802.1AE MACsec",
        0x88f7 => "PTP",
        0x8902 => "CFM",
        0x893a => "IEEE1905.1",
        0x894f => "NSH",
        0x8947 => "GeoNet",
        0x9000 => "Loopback",
        0x9100 => "802.1Q-9100",
        0x9200 => "802.1Q-9200",
    }
}

pub(crate) const ICMP: u8 = 1;
pub(crate) const IGMP: u8 = 2;
pub(crate) const IPIP: u8 = 4;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
pub(crate) const IPV6_IN_IP: u8 = 41;
pub(crate) const GRE: u8 = 47;
pub(crate) const ESP: u8 = 50;
pub(crate) const AH: u8 = 51;
pub(crate) const ICMPV6: u8 = 58;

pub(crate) const HOP_BY_HOP: u8 = 0;
pub(crate) const ROUTING: u8 = 43;
pub(crate) const FRAGMENT: u8 = 44;
pub(crate) const NO_NEXT_HEADER: u8 = 59;
pub(crate) const DESTINATION_OPTIONS: u8 = 60;

names! {
    /// An IP protocol, or the next header of IPv6.
    pub(crate) fn ip_protocol(u8) {
        HOP_BY_HOP => "Options",
        ICMP => "ICMP",
        IGMP => "IGMP",
        IPIP => "IPIP",
        TCP => "TCP",
        8 => "EGP",
        9 => "IGRP",
        UDP => "UDP",
        33 => "DCCP",
        IPV6_IN_IP => "IPv6",
        ROUTING => "Routing",
        FRAGMENT => "Fragment",
        46 => "RSVP",
        GRE => "GRE",
        ESP => "ESP",
        AH => "AH",
        55 => "Mobile IP",
        ICMPV6 => "ICMPv6",
        88 => "EIGRP",
        89 => "OSPF",
        103 => "PIM",
        108 => "Compressed IP",
        112 => "VRRP",
        113 => "PGM",
        132 => "SCTP",
        135 => "Mobility",
    }
}

names! {
    /// A protocol over PPP (IANA's PPP numbers).
    pub(crate) fn ppp(u16) {
        0x0021 => "IP",
        0x0057 => "IP6",
        0x003d => "ML",
        0x00fd => "Compressed",
        0x0281 => "MPLS",
        0x8021 => "IPCP",
        0x8057 => "IP6CP",
        0x80fd => "CCP",
        0x8281 => "MPLSCP",
        0xc021 => "LCP",
        0xc023 => "PAP",
        0xc025 => "LQR",
        0xc223 => "CHAP",
        0xc227 => "EAP",
    }
}

names! {
    /// An LLC service access point.
    pub(crate) fn sap(u8) {
        0x00 => "Null",
        0x02 => "802.1B I",
        0x03 => "802.1B G",
        0x06 => "IP",
        0x0e => "ProWay NM",
        0x42 => "STP",
        0x8e => "ProWay ASM",
        0xaa => "SNAP",
        0xe0 => "IPX",
        0xf0 => "NetBeui",
        0xfe => "OSI",
        0xff => "Global",
    }
}

names! {
    /// A protocol of Cisco over SNAP.
    pub(crate) fn cisco(u16) {
        0x0102 => "DRiP",
        0x0104 => "PAgP",
        0x010b => "PVST",
        0x010c => "VLAN Bridge",
        0x0111 => "UDLD",
        0x2000 => "CDP",
        0x2003 => "VTP",
        0x2004 => "DTP",
    }
}

names! {
    /// Hardware of an ARP packet.
    pub(crate) fn arp_hardware(u16) {
        1 => "Ethernet",
        6 => "TokenRing",
        7 => "ArcNet",
        15 => "FrameRelay",
        19 => "ATM",
        23 => "Strip",
        24 => "IEEE 1394",
        32 => "InfiniBand",
    }
}

names! {
    /// An operation of ARP (RFC 826, 903, 2390).
    pub(crate) fn arp_operation(u16) {
        1 => "Request",
        2 => "Reply",
        3 => "Reverse Request",
        4 => "Reverse Reply",
        8 => "Inverse Request",
        9 => "Inverse Reply",
        10 => "NACK Reply",
    }
}

names! {
    /// A DHCP message type (RFC 2132 9.6, RFC 3203, RFC 4388).
    pub(crate) fn dhcp_message(u8) {
        1 => "Discover",
        2 => "Offer",
        3 => "Request",
        4 => "Decline",
        5 => "ACK",
        6 => "NACK",
        7 => "Release",
        8 => "Inform",
        9 => "ForceRenew",
        10 => "LeaseQuery",
        11 => "LeaseUnassigned",
        12 => "LeaseUnknown",
        13 => "LeaseActive",
    }
}
