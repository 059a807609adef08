//! Where comparisons with libpcap 1.10 need care, by link type.

use linerate_base::LinkType;

/// Link types of which nothing is known.
pub(crate) const OPAQUE: [LinkType; 2] = [LinkType::MTP3, LinkType::USB_LINUX];

/// Headers begin with an address family, of which a savefile may have other numbers than the kernel.
pub(crate) fn is_loopback(link_type: LinkType) -> bool {
    matches!(link_type, LinkType::NULL | LinkType::LOOP | LinkType::ENC)
}

/// The packet says how long its headers are. What tunnels behind them leave where libpcap keeps those
/// lengths, it overwrites.
pub(crate) fn has_lengths(link_type: LinkType) -> bool {
    matches!(link_type.0, 105 | 117 | 119 | 127 | 163 | 192)
}

/// The link-layer header is not the packet's beginning: libpcap looks for metadata as much further on.
pub(crate) fn has_start(link_type: LinkType) -> bool {
    matches!(link_type.0, 119 | 127 | 163 | 192 | 240 | 241)
}

/// libpcap 1.10 knows nothing of it, 1.11 does.
pub(crate) fn is_newer(link_type: LinkType) -> bool {
    matches!(link_type, LinkType::DSA_TAG_BRCM | LinkType::DSA_TAG_DSA | LinkType::DSA_TAG_EDSA)
}
