//! Protocol numbers, and the names that `proto` takes for them.

/// IEEE 802 EtherTypes (IANA's registry; DEC's by their specifications).
pub(crate) mod ethertype {
    pub(crate) const XNS: u32 = 0x0600;
    pub(crate) const IP: u32 = 0x0800;
    pub(crate) const ARP: u32 = 0x0806;
    pub(crate) const MOPDL: u32 = 0x6001;
    pub(crate) const MOPRC: u32 = 0x6002;
    pub(crate) const DECNET: u32 = 0x6003;
    pub(crate) const LAT: u32 = 0x6004;
    pub(crate) const SCA: u32 = 0x6007;
    pub(crate) const RARP: u32 = 0x8035;
    pub(crate) const ATALK: u32 = 0x809b;
    pub(crate) const AARP: u32 = 0x80f3;
    pub(crate) const VLAN: u32 = 0x8100;
    pub(crate) const IPX: u32 = 0x8137;
    pub(crate) const IP6: u32 = 0x86dd;
    pub(crate) const MPLS: u32 = 0x8847;
    pub(crate) const PPPOE_DISCOVERY: u32 = 0x8863;
    pub(crate) const PPPOE_SESSION: u32 = 0x8864;
    pub(crate) const SERVICE_VLAN: u32 = 0x88a8;
    pub(crate) const LOOPBACK: u32 = 0x9000;
    pub(crate) const OLD_QINQ: u32 = 0x9100;
    /// Transparent Ethernet bridging, inside Geneve.
    pub(crate) const BRIDGING: u32 = 0x6558;
}

/// 802.2 service access points, told from EtherTypes by being [`LARGEST_LENGTH`] or less.
pub(crate) mod sap {
    pub(crate) const IP: u32 = 0x06;
    pub(crate) const BRIDGE: u32 = 0x42;
    pub(crate) const SNAP: u8 = 0xaa;
    pub(crate) const IPX: u32 = 0xe0;
    pub(crate) const NETBEUI: u32 = 0xf0;
    pub(crate) const OSI: u32 = 0xfe;
}

/// The most that Ethernet's type field can hold and be a length (IEEE 802.3).
pub(crate) const LARGEST_LENGTH: u32 = 1500;

/// IANA protocol numbers.
pub(crate) mod ip {
    pub(crate) const ICMP: u32 = 1;
    pub(crate) const IGMP: u32 = 2;
    pub(crate) const TCP: u32 = 6;
    pub(crate) const IGRP: u32 = 9;
    pub(crate) const UDP: u32 = 17;
    pub(crate) const FRAGMENT: u32 = 44;
    pub(crate) const ESP: u32 = 50;
    pub(crate) const AH: u32 = 51;
    pub(crate) const ICMP6: u32 = 58;
    pub(crate) const PIM: u32 = 103;
    /// Shared by VRRP and CARP.
    pub(crate) const VRRP: u32 = 112;
    pub(crate) const SCTP: u32 = 132;
}

/// OSI network-layer protocol identifiers (ISO/IEC TR 9577).
pub(crate) mod osi {
    pub(crate) const CLNP: u32 = 0x81;
    pub(crate) const ESIS: u32 = 0x82;
    pub(crate) const ISIS: u32 = 0x83;
}

/// IS-IS packet types (ISO/IEC 10589).
pub(crate) mod isis {
    pub(crate) const L1_HELLO: u32 = 15;
    pub(crate) const L2_HELLO: u32 = 16;
    pub(crate) const POINT_TO_POINT_HELLO: u32 = 17;
    pub(crate) const L1_LINK_STATE: u32 = 18;
    pub(crate) const L2_LINK_STATE: u32 = 20;
    pub(crate) const L1_COMPLETE: u32 = 24;
    pub(crate) const L2_COMPLETE: u32 = 25;
    pub(crate) const L1_PARTIAL: u32 = 26;
    pub(crate) const L2_PARTIAL: u32 = 27;
}

/// PPP protocol numbers (IANA's registry).
pub(crate) mod ppp {
    pub(crate) const MPLS: u32 = 0x0281;
    /// IP as it is, and with its header compressed, or not yet (RFC 1332 4).
    pub(crate) const IP_FORMS: [u32; 3] = [0x0021, 0x002d, 0x002f];

    /// What PPP calls the protocol that Ethernet or 802.2 calls `number`.
    pub(crate) fn from_ethertype(number: u32) -> u32 {
        use super::{ethertype, sap};
        match number {
            ethertype::IP => 0x0021,
            sap::OSI => 0x0023,
            ethertype::XNS => 0x0025,
            ethertype::DECNET => 0x0027,
            ethertype::ATALK => 0x0029,
            sap::IPX => 0x002b,
            sap::BRIDGE => 0x0031,
            ethertype::IP6 => 0x0057,
            other => other,
        }
    }
}

/// The number of the `ether proto` called `name`, as libpcap 1.10.3 names them.
pub(crate) fn ether_protocol(name: &str) -> Option<u32> {
    use ethertype as e;
    const NAMES: &[(&str, u32)] = &[
        ("aarp", e::AARP),
        ("arp", e::ARP),
        ("atalk", e::ATALK),
        ("decnet", e::DECNET),
        ("ip", e::IP),
        ("ip6", e::IP6),
        ("lat", e::LAT),
        ("loopback", e::LOOPBACK),
        ("mopdl", e::MOPDL),
        ("moprc", e::MOPRC),
        ("rarp", e::RARP),
        ("sca", e::SCA),
        ("iso", sap::OSI),
        ("stp", sap::BRIDGE),
        ("ipx", sap::IPX),
        ("netbeui", sap::NETBEUI),
    ];
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
}

/// The number of the `iso proto` called `name`.
pub(crate) fn osi_protocol(name: &str) -> Option<u32> {
    match name {
        "clnp" => Some(osi::CLNP),
        "esis" => Some(osi::ESIS),
        "isis" => Some(osi::ISIS),
        _ => None,
    }
}
