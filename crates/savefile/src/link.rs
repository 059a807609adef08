//! Link types as savefiles number them, and how much of a packet each allows.

use linerate_base::LinkType;

/// The most bytes of a packet that a record may hold, as in libpcap (`MAXIMUM_SNAPLEN`); it tells a
/// damaged length from a real one.
const MAX_CAPTURED: u32 = 262_144;

/// The link type with `number` in a savefile's header.
///
/// Files should hold numbers of the `LINKTYPE_` registry. Some old programs wrote their system's `DLT_`
/// number instead, which differs for a few types: RFC 1483 ATM is 11 there, raw IP is 12 (14 on
/// OpenBSD). The registry gives those numbers to nothing else, so that they are understood as well.
pub(crate) fn link_type(number: u16) -> LinkType {
    match number {
        11 => LinkType::ATM_RFC1483,
        12 | 14 => LinkType::RAW,
        other => LinkType(other),
    }
}

/// The most bytes of a packet that a record of `link_type` may hold: 256 KiB, or more for the few link
/// types whose packets can be longer, as libpcap has it.
pub(crate) fn max_captured(link_type: LinkType) -> u32 {
    match link_type.0 {
        231 => 128 << 20, // D-Bus
        279 => 8 << 20,   // Elektrobit High Speed Capture and Replay
        249 => 1 << 20,   // USBPcap
        _ => MAX_CAPTURED,
    }
}
