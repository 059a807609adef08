//! Which link types an interface can deliver, by its hardware type.

use linerate_base::LinkType;
use linerate_sys::packet_socket::Level;

/// The link types of the interface of all interfaces, the default first.
pub(crate) const ANY_LINK_TYPES: [LinkType; 2] = [LinkType::LINUX_SLL2, LinkType::LINUX_SLL];

/// The link type of an interface with this `ARPHRD_` number (`linux/if_arp.h`, Linux 6.18).
///
/// Hardware whose frames cannot be taken as they are is captured cooked, with libpcap's choice of
/// header: [`LinkType::LINUX_SLL`].
pub(crate) fn link_type(hardware_type: u16) -> LinkType {
    match hardware_type {
        // ARPHRD_ETHER, METRICOM, LOOPBACK
        1 | 23 | 772 => LinkType::ETHERNET,
        // AX25
        3 => LinkType::AX25,
        // IEEE802, IEEE802_TR
        6 | 800 => LinkType::IEEE802_5,
        // ARCNET
        7 => LinkType::ARCNET_LINUX,
        // CISCO
        513 => LinkType::C_HDLC,
        // FDDI
        774 => LinkType::FDDI,
        // FRAD
        770 => LinkType::FRELAY,
        // IEEE80211, with a Prism header, with a radiotap header
        801 => LinkType::IEEE802_11,
        802 => LinkType::IEEE802_11_PRISM,
        803 => LinkType::IEEE802_11_RADIOTAP,
        // DLCI, SLIP, CSLIP, SLIP6, CSLIP6, ADAPT, RAWHDLC, RAWIP, TUNNEL, SIT, 6LOWPAN, NONE
        15 | 256..=259 | 264 | 518 | 519 | 768 | 776 | 825 | 65534 => LinkType::RAW,
        _ => LinkType::LINUX_SLL,
    }
}

/// From where on the kernel must give packets for this link type.
pub(crate) fn level(link_type: LinkType) -> Level {
    if ANY_LINK_TYPES.contains(&link_type) { Level::Network } else { Level::Link }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_hardware_has_the_link_type_that_libpcap_gives_it() {
        let table = [
            (1, LinkType::ETHERNET),
            (772, LinkType::ETHERNET),
            (65534, LinkType::RAW),
            (512, LinkType::LINUX_SLL),
            (778, LinkType::LINUX_SLL),
        ];
        for (hardware, expected) in table {
            assert_eq!(link_type(hardware), expected, "ARPHRD {hardware}");
        }
    }

    #[test]
    fn only_cooked_link_types_leave_the_link_header_to_the_kernel() {
        assert_eq!(level(LinkType::ETHERNET), Level::Link);
        assert_eq!(level(LinkType::LINUX_SLL2), Level::Network);
    }
}
