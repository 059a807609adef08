//! The packet sockets of a network namespace, whoever has them.
//!
//! Source: `linux/packet_diag.h` and `linux/sock_diag.h` (Linux 6.18).

use linerate_base::Result;
use netlink_packet_core::{
    DecodeError, NLM_F_DUMP, NetlinkDeserializable, NetlinkHeader, NetlinkSerializable,
    NlasIterator,
};

use super::exchange::{Message, exchange};

/// A packet socket as the kernel tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketSocket {
    /// The number by which a process's descriptors name it: `socket:[INODE]`.
    pub inode: u32,
    /// The index of the interface that it listens on; 0 for all.
    pub interface: u32,
    /// The protocol that it takes, 3 for all (`linux/if_ether.h`); 0 for none: it only sends.
    pub protocol: u16,
    /// Its receive ring, where it has one.
    pub ring: Option<PacketRing>,
    /// Bytes of packets that wait in it, and the most that may; without a ring.
    pub waiting: u32,
    /// See [`waiting`](Self::waiting).
    pub room: u32,
    /// Packets for which there was no room, since it was made; those that did not fit a ring are not among them.
    pub dropped: u32,
    /// Instructions of its classic filter.
    pub filter_length: u32,
}

/// A receive ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketRing {
    /// Bytes of a block.
    pub block_size: u32,
    /// How many blocks there are.
    pub blocks: u32,
}

impl PacketSocket {
    /// Bytes of packets that can wait in it.
    pub fn capacity(&self) -> u64 {
        self.ring
            .map_or(self.room.into(), |ring| u64::from(ring.block_size) * u64::from(ring.blocks))
    }
}

/// All packet sockets of the calling thread's network namespace.
///
/// # Errors
/// When the kernel was built without `CONFIG_PACKET_DIAG`.
pub fn packet_sockets() -> Result<Vec<PacketSocket>> {
    let answers = exchange("list the packet sockets", Diagnosis::Request, NLM_F_DUMP)?;
    let found = answers.iter().filter_map(|answer| match answer {
        Diagnosis::Answer(bytes) => read(bytes),
        Diagnosis::Request => None,
    });
    Ok(found.collect())
}

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// `PACKET_SHOW_INFO`, `_RING_CFG`, `_MEMINFO`, `_FILTER`.
const SHOW: u32 = 1 << 0 | 1 << 2 | 1 << 4 | 1 << 5;
/// Attributes, `PACKET_DIAG_`...
const INFO: u16 = 0;
const RX_RING: u16 = 2;
const MEMORY: u16 = 6;
const FILTER: u16 = 7;
/// Places in `SK_MEMINFO_`...
const MEMORY_USED: usize = 0;
const MEMORY_ROOM: usize = 1;
const MEMORY_DROPS: usize = 8;

/// Bytes of `struct packet_diag_req` and `struct packet_diag_msg`, and of an attribute's header.
const REQUEST: usize = 20;
const ANSWER: usize = 16;
const ATTRIBUTE: usize = 4;
/// Bytes of an instruction (`struct sock_filter`).
const INSTRUCTION: usize = 8;

#[derive(Clone, Debug)]
enum Diagnosis {
    Request,
    Answer(Vec<u8>),
}

impl Message for Diagnosis {
    const PROTOCOL: libc::c_int = libc::NETLINK_SOCK_DIAG;
}

impl NetlinkSerializable for Diagnosis {
    fn message_type(&self) -> u16 {
        BY_FAMILY
    }

    fn buffer_len(&self) -> usize {
        REQUEST
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer[..REQUEST].fill(0);
        buffer[0] = libc::AF_PACKET as u8;
        buffer[8..12].copy_from_slice(&SHOW.to_ne_bytes());
    }
}

impl NetlinkDeserializable for Diagnosis {
    type Error = DecodeError;

    fn deserialize(_: &NetlinkHeader, payload: &[u8]) -> std::result::Result<Self, DecodeError> {
        Ok(Self::Answer(payload.to_vec()))
    }
}

fn read(answer: &[u8]) -> Option<PacketSocket> {
    let protocol = u16::from_ne_bytes(*answer.get(2..)?.first_chunk()?);
    let mut socket = PacketSocket { inode: word(answer, 4)?, protocol, ..PacketSocket::default() };
    for attribute in NlasIterator::new(answer.get(ANSWER..)?).flatten() {
        let end = usize::from(attribute.length());
        let kind = attribute.kind();
        let Some(value) = attribute.into_inner().get(ATTRIBUTE..end) else { continue };
        take(&mut socket, kind, value);
    }
    Some(socket)
}

fn take(socket: &mut PacketSocket, kind: u16, value: &[u8]) {
    let number = |n: usize| word(value, 4 * n).unwrap_or(0);
    match kind {
        INFO => socket.interface = number(0),
        RX_RING => socket.ring = Some(PacketRing { block_size: number(0), blocks: number(1) }),
        MEMORY => {
            socket.waiting = number(MEMORY_USED);
            socket.room = number(MEMORY_ROOM);
            socket.dropped = number(MEMORY_DROPS);
        }
        FILTER => socket.filter_length = (value.len() / INSTRUCTION) as u32,
        _ => {}
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_ne_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn an_answer_is_read() {
        let attribute = |kind: u16, words: &[u32]| {
            let value: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let length = (ATTRIBUTE + value.len()) as u16;
            [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &value].concat()
        };
        let head = [&[17, 3][..], &3u16.to_ne_bytes(), &77u32.to_ne_bytes(), &[0; 8]].concat();
        let answer = [
            head,
            attribute(INFO, &[2, 2, 0, 0, 0, 0]),
            attribute(RX_RING, &[65_536, 4, 0, 0, 0, 0, 0]),
            attribute(MEMORY, &[1, 212_992, 0, 0, 0, 0, 0, 0, 9]),
            attribute(FILTER, &[0; 6]),
        ];
        let socket = read(&answer.concat()).unwrap();
        assert_eq!((socket.inode, socket.interface, socket.protocol), (77, 2, 3));
        assert_eq!((socket.capacity(), socket.dropped, socket.filter_length), (262_144, 9, 3));
    }

    #[test]
    fn the_kernel_lists_a_namespaces_sockets() {
        packet_sockets().unwrap();
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic(bytes in vec(any::<u8>(), 0..80)) {
            prop_assert_eq!(read(&bytes).is_some(), bytes.len() >= ANSWER);
        }
    }
}
