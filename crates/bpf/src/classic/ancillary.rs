//! What a packet's bytes do not say: loads from offsets that lie far past any packet.
//!
//! A load by constant offset from [`BASE`] on asks the kernel about the packet: which interface,
//! which direction, which VLAN tag the driver took off. User space answers what it knows; a
//! question without an answer ends the program with verdict 0, as libpcap has it.
//! Offsets: `linux/filter.h` (Linux 6.1), `SKF_AD_*`.

use linerate_base::Direction;

/// The lowest ancillary offset, `SKF_AD_OFF`.
pub const BASE: u32 = 0xffff_f000;

/// The EtherType, in host byte order.
pub const PROTOCOL: u32 = BASE;
/// To whom the packet went: one of the `PACKET_` numbers of `linux/if_packet.h`.
pub const PACKET_TYPE: u32 = BASE + 4;
/// The index of the interface.
pub const INTERFACE_INDEX: u32 = BASE + 8;
/// The mark that a socket or a rule has put on the packet (`SO_MARK`, socket(7)).
pub const MARK: u32 = BASE + 20;
/// Not a load: A ^= X.
pub const XOR_X: u32 = BASE + 40;
/// The tag control information of the VLAN tag that was taken off, else 0.
pub const VLAN_TCI: u32 = BASE + 44;
/// 1 if a VLAN tag was taken off, else 0.
pub const VLAN_PRESENT: u32 = BASE + 48;
/// The EtherType of the VLAN tag that was taken off, else 0.
pub const VLAN_PROTOCOL: u32 = BASE + 60;

/// [`PACKET_TYPE`] of a packet that went this way, where it is known; of packets that came in, all are to the host.
pub fn packet_type(direction: Direction) -> Option<u8> {
    match direction {
        Direction::Unknown => None,
        Direction::In => Some(0),
        Direction::Out => Some(OUTGOING),
    }
}

/// [`PACKET_TYPE`] of packets that the host itself sent, `PACKET_OUTGOING`.
pub const OUTGOING: u8 = 4;

const NAMES: [(u32, &str); 16] = [
    (PROTOCOL, "proto"),
    (PACKET_TYPE, "type"),
    (INTERFACE_INDEX, "ifidx"),
    (BASE + 12, "nla"),
    (BASE + 16, "nlan"),
    (MARK, "mark"),
    (BASE + 24, "queue"),
    (BASE + 28, "hatype"),
    (BASE + 32, "rxhash"),
    (BASE + 36, "cpu"),
    (XOR_X, "xor_x"),
    (VLAN_TCI, "vlan_tci"),
    (VLAN_PRESENT, "vlanp"),
    (BASE + 52, "poff"),
    (BASE + 56, "random"),
    (VLAN_PROTOCOL, "vlan_tpid"),
];

/// The name in tcpdump's listings of an offset that the kernel takes; it refuses any other from
/// [`BASE`] on.
pub(super) fn name(offset: u32) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| *known == offset).map(|(_, name)| *name)
}

/// What is known about a packet beside its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ancillary {
    /// The EtherType, in host byte order.
    pub protocol: Option<u16>,
    /// To whom the packet went: one of the `PACKET_` numbers of `linux/if_packet.h`.
    pub packet_type: Option<u8>,
    /// The index of the interface.
    pub interface_index: Option<u32>,
    /// The tag control information of the VLAN tag that was taken off; `None` when none was.
    pub vlan_tci: Option<u16>,
    /// The EtherType of that tag, in host byte order; 0 when none was taken off.
    pub vlan_protocol: u16,
}

impl Ancillary {
    /// What a load from `offset` gives, or `None` where the answer is not known.
    pub(super) fn load(&self, offset: u32) -> Option<u32> {
        match offset {
            PROTOCOL => self.protocol.map(u32::from),
            PACKET_TYPE => self.packet_type.map(u32::from),
            INTERFACE_INDEX => self.interface_index,
            VLAN_TCI => Some(self.vlan_tci.map_or(0, u32::from)),
            VLAN_PRESENT => Some(self.vlan_tci.is_some().into()),
            VLAN_PROTOCOL => Some(self.vlan_protocol.into()),
            _ => None,
        }
    }
}
