//! A receive ring shared with the kernel: `TPACKET_V3`, in blocks of many packets.
//!
//! The kernel fills a block with packets, closes it when it is full or its time is up, and hands it
//! over by a word in its header; the process reads it in place and hands it back the same way.
//! [`RxRing::acquire`] and [`RxRing::release`] are those two steps. What lies in a block is found by
//! safe code with the offsets in [`layout`].
//!
//! Source: `linux/if_packet.h` and Documentation/networking/packet_mmap.rst, Linux 6.18.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::mmap::SharedMemory;
use crate::packet_socket::PacketSocket;

/// Offsets of fields in a block. All integers are in the machine's byte order.
pub mod layout {
    use std::mem::offset_of;

    /// In `struct tpacket_block_desc`: who owns the block, u32.
    pub const BLOCK_STATUS: usize = offset_of!(libc::tpacket_block_desc, hdr);
    /// Number of packets in the block, u32.
    pub const BLOCK_PACKETS: usize = BLOCK_STATUS + offset_of!(libc::tpacket_hdr_v1, num_pkts);
    /// Where the first packet's header starts, from the block's start, u32.
    pub const BLOCK_FIRST: usize =
        BLOCK_STATUS + offset_of!(libc::tpacket_hdr_v1, offset_to_first_pkt);
    /// Length of the block's own header.
    pub const BLOCK_HEADER: usize = size_of::<libc::tpacket_block_desc>();

    /// In `struct tpacket3_hdr`: from this header's start to the next one's, u32; 0 in the last.
    pub const NEXT: usize = offset_of!(libc::tpacket3_hdr, tp_next_offset);
    /// Seconds since the epoch, u32.
    pub const SECONDS: usize = offset_of!(libc::tpacket3_hdr, tp_sec);
    /// Nanoseconds of the second, u32.
    pub const NANOSECONDS: usize = offset_of!(libc::tpacket3_hdr, tp_nsec);
    /// Bytes captured, u32.
    pub const CAPTURED: usize = offset_of!(libc::tpacket3_hdr, tp_snaplen);
    /// Bytes that the packet had, u32.
    pub const LENGTH: usize = offset_of!(libc::tpacket3_hdr, tp_len);
    /// `TP_STATUS_` bits, u32.
    pub const STATUS: usize = offset_of!(libc::tpacket3_hdr, tp_status);
    /// From this header's start to the packet's first byte, u16.
    pub const DATA: usize = offset_of!(libc::tpacket3_hdr, tp_mac);
    /// The stripped VLAN tag's control information, u32, valid by `TP_STATUS_VLAN_VALID`.
    pub const VLAN_TCI: usize =
        offset_of!(libc::tpacket3_hdr, hv1) + offset_of!(libc::tpacket_hdr_variant1, tp_vlan_tci);
    /// The stripped VLAN tag's protocol, u16, valid by `TP_STATUS_VLAN_TPID_VALID`.
    pub const VLAN_PROTOCOL: usize =
        offset_of!(libc::tpacket3_hdr, hv1) + offset_of!(libc::tpacket_hdr_variant1, tp_vlan_tpid);
    /// The packet's `struct sockaddr_ll`.
    pub const ADDRESS: usize =
        size_of::<libc::tpacket3_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);
    /// Length of a packet's header with its address.
    pub const PACKET_HEADER: usize = ADDRESS + size_of::<libc::sockaddr_ll>();

    /// In `STATUS`: the VLAN control information is valid.
    pub const VLAN_VALID: u32 = libc::TP_STATUS_VLAN_VALID;
    /// In `STATUS`: the VLAN protocol is valid.
    pub const VLAN_PROTOCOL_VALID: u32 = libc::TP_STATUS_VLAN_TPID_VALID;
    /// In `STATUS`: the time is the network card's.
    pub const BY_CARD: u32 = libc::TP_STATUS_TS_RAW_HARDWARE;
}

/// Size and timing of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes of one block, a multiple of the page size.
    pub block_bytes: u32,
    /// Number of blocks.
    pub blocks: u32,
    /// After this time a block is handed over though it is not full; whole milliseconds, at least 1.
    pub retire: Duration,
}

impl Geometry {
    /// Bytes of the whole ring.
    pub fn bytes(&self) -> usize {
        self.block_bytes as usize * self.blocks as usize
    }

    /// The smallest frame that a block must hold for the kernel to accept the request. Frames in a
    /// block have no fixed size in `TPACKET_V3`, so this sets nothing else.
    const FRAME: u32 = 2048;

    fn request(&self) -> libc::tpacket_req3 {
        libc::tpacket_req3 {
            tp_block_size: self.block_bytes,
            tp_block_nr: self.blocks,
            tp_frame_size: Self::FRAME,
            tp_frame_nr: (self.block_bytes / Self::FRAME).saturating_mul(self.blocks),
            tp_retire_blk_tov: self.retire.as_millis().clamp(1, 60_000) as u32,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        }
    }
}

/// The process's end of a receive ring.
#[derive(Debug)]
pub struct RxRing {
    memory: SharedMemory,
    block_bytes: usize,
    blocks: usize,
    current: usize,
    acquired: bool,
}

impl RxRing {
    /// Has the kernel allocate a ring for `socket`, and maps it. To be done before the socket is
    /// bound: packets that wait in the socket's queue would never come out.
    ///
    /// # Errors
    /// `ENOMEM` when the kernel has no such memory; `EINVAL` when it takes no ring of that geometry.
    pub fn new(socket: &PacketSocket, geometry: &Geometry) -> io::Result<Self> {
        socket.set_ring_version(libc::tpacket_versions::TPACKET_V3 as libc::c_int)?;
        socket.request_rx_ring(&geometry.request())?;
        let memory = SharedMemory::map(std::os::fd::AsFd::as_fd(socket), geometry.bytes())?;
        Ok(Self::over(memory, geometry))
    }

    fn over(memory: SharedMemory, geometry: &Geometry) -> Self {
        assert!(memory.len() >= geometry.bytes(), "the mapping is shorter than the ring");
        let (block_bytes, blocks) = (geometry.block_bytes as usize, geometry.blocks as usize);
        Self { memory, block_bytes, blocks, current: 0, acquired: false }
    }

    /// True when the kernel has handed the current block over.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// The current block, if the kernel has handed it over. It stays ours until
    /// [`release`](Self::release).
    #[inline]
    pub fn acquire(&mut self) -> Option<&mut [u8]> {
        self.acquired = self.is_ready();
        // SAFETY: the block lies inside the mapping. The acquire load above saw the kernel hand it
        // over, so the kernel neither reads nor writes it until `release`, which needs `&mut self`
        // and so comes after the slice's last use.
        self.acquired
            .then(|| unsafe { std::slice::from_raw_parts_mut(self.block(), self.block_bytes) })
    }

    /// The acquired block; empty when none is.
    pub fn acquired(&self) -> &[u8] {
        let length = if self.acquired { self.block_bytes } else { 0 };
        // SAFETY: as in `acquire`: an acquired block lies inside the mapping and is ours until
        // `release`, and no exclusive slice of it is alive while `self` is shared.
        unsafe { std::slice::from_raw_parts(self.block(), length) }
    }

    /// Gives the acquired block back to the kernel and moves on to the next; does nothing when
    /// none is acquired.
    #[inline]
    pub fn release(&mut self) {
        if std::mem::take(&mut self.acquired) {
            self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.current = (self.current + 1) % self.blocks;
        }
    }

    fn block(&self) -> *mut u8 {
        // SAFETY: `current` is less than `blocks`, so the block lies inside the mapping (checked in
        // `over`).
        unsafe { self.memory.as_ptr().add(self.current * self.block_bytes) }
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: the word lies inside the block, 4-byte aligned as blocks start on pages; kernel
        // and process access it atomically while both may. It is part of the slices that this
        // module lends, too, but an exclusive one cannot be alive while `self` is borrowed here,
        // and with a shared one alive only loads are made: `release` needs `&mut self`.
        unsafe { AtomicU32::from_ptr(self.block().add(layout::BLOCK_STATUS).cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: Geometry =
        Geometry { block_bytes: 4096, blocks: 2, retire: Duration::from_millis(10) };

    fn ring() -> RxRing {
        RxRing::over(SharedMemory::anonymous(GEOMETRY.bytes()).unwrap(), &GEOMETRY)
    }

    /// Plays the kernel: closes block `index` with `mark` as its last byte.
    fn hand_over(ring: &mut RxRing, index: usize, mark: u8) {
        let saved = std::mem::replace(&mut ring.current, index);
        // SAFETY: the last byte of the block, inside the mapping.
        unsafe { ring.block().add(GEOMETRY.block_bytes as usize - 1).write(mark) };
        ring.status().store(libc::TP_STATUS_USER, Ordering::Release);
        ring.current = saved;
    }

    #[test]
    fn blocks_come_in_order_and_go_back_once() {
        let mut ring = ring();
        assert!(ring.acquire().is_none());
        hand_over(&mut ring, 1, 8);
        assert!(ring.acquire().is_none(), "the second block must wait for the first");
        hand_over(&mut ring, 0, 7);
        for mark in [7, 8] {
            assert_eq!(*ring.acquire().unwrap().last().unwrap(), mark);
            ring.release();
            ring.release();
        }
        assert_eq!(ring.current, 0);
        assert!(ring.acquire().is_none());
    }

    #[test]
    fn an_acquired_block_is_lent_again_until_released() {
        let mut ring = ring();
        hand_over(&mut ring, 0, 7);
        ring.acquire().unwrap()[4095] = 9;
        assert_eq!(ring.acquired()[4095], 9);
        assert_eq!(ring.acquire().unwrap()[4095], 9);
        ring.release();
        assert!(ring.acquired().is_empty());
    }

    #[test]
    fn the_layout_is_the_kernels() {
        assert_eq!((layout::BLOCK_STATUS, layout::BLOCK_FIRST, layout::BLOCK_HEADER), (8, 16, 48));
        assert_eq!((layout::DATA, layout::VLAN_TCI, layout::VLAN_PROTOCOL), (24, 32, 36));
        assert_eq!((layout::ADDRESS, layout::PACKET_HEADER), (48, 68));
    }
}
