//! Many packets by one system call (recvmmsg(2)), into slots of one buffer.

use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::AsRawFd;
use std::ptr;

use super::PacketSocket;

/// The most packets that one call receives.
pub const SLOTS: usize = 64;

/// How a buffer is cut into slots: packet `i` goes to `i * stride + headroom`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// Bytes from one slot to the next.
    pub stride: usize,
    /// Bytes left free before each packet.
    pub headroom: usize,
}

/// What is known of a received packet beside its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Bytes received.
    pub captured: u32,
    /// Where it came from.
    pub address: LinkAddress,
    /// Lengths and VLAN tag, where enabled.
    pub aux: Option<AuxData>,
    /// Seconds and nanoseconds since the epoch, where enabled: by the network card, where it told.
    pub time: Option<(i64, u32)>,
    /// The time is the network card's.
    pub by_card: bool,
}

/// The members of `struct sockaddr_ll`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkAddress {
    /// EtherType, or another protocol number of `linux/if_ether.h`.
    pub protocol: u16,
    /// Interface that it was seen on.
    pub interface: u32,
    /// Hardware type, `ARPHRD_`.
    pub hardware_type: u16,
    /// `PACKET_HOST`, `PACKET_OUTGOING` and so on.
    pub packet_type: u8,
    /// Bytes of `address` in use, or more when the address is longer than 8.
    pub address_length: u8,
    /// The sender's hardware address.
    pub address: [u8; 8],
}

impl LinkAddress {
    /// The address in the bytes of a `struct sockaddr_ll`.
    #[inline]
    pub fn from_bytes(bytes: &[u8; size_of::<libc::sockaddr_ll>()]) -> Self {
        const PROTOCOL: usize = offset_of!(libc::sockaddr_ll, sll_protocol);
        const INTERFACE: usize = offset_of!(libc::sockaddr_ll, sll_ifindex);
        const HARDWARE: usize = offset_of!(libc::sockaddr_ll, sll_hatype);
        Self {
            protocol: u16::from_be_bytes(field(bytes, PROTOCOL)),
            interface: u32::from_ne_bytes(field(bytes, INTERFACE)),
            hardware_type: u16::from_ne_bytes(field(bytes, HARDWARE)),
            packet_type: bytes[offset_of!(libc::sockaddr_ll, sll_pkttype)],
            address_length: bytes[offset_of!(libc::sockaddr_ll, sll_halen)],
            address: field(bytes, offset_of!(libc::sockaddr_ll, sll_addr)),
        }
    }
}

/// The members of `struct tpacket_auxdata` that a receiver needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuxData {
    /// Bytes that the packet had before the filter cut it.
    pub length: u32,
    /// Control information and protocol of the VLAN tag that was stripped from it, if any.
    pub vlan: Option<(u16, Option<u16>)>,
}

impl AuxData {
    fn from_bytes(bytes: &[u8; size_of::<libc::tpacket_auxdata>()]) -> Self {
        let u16_at = |at| u16::from_ne_bytes(field(bytes, at));
        let u32_at = |at| u32::from_ne_bytes(field(bytes, at));
        let status = u32_at(offset_of!(libc::tpacket_auxdata, tp_status));
        let protocol = (status & libc::TP_STATUS_VLAN_TPID_VALID != 0)
            .then(|| u16_at(offset_of!(libc::tpacket_auxdata, tp_vlan_tpid)));
        let vlan = (status & libc::TP_STATUS_VLAN_VALID != 0)
            .then(|| (u16_at(offset_of!(libc::tpacket_auxdata, tp_vlan_tci)), protocol));
        Self { length: u32_at(offset_of!(libc::tpacket_auxdata, tp_len)), vlan }
    }
}

/// `N` bytes at `at`, a constant that is known to be inside.
#[inline]
fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("the range is N bytes long")
}

/// Room for one message's control data: three headers of 16 bytes, 20 bytes of auxiliary data, 16 and 48 of times,
/// each padded to 8.
const CONTROL: usize = 192;

#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL]);

/// What recvmmsg(2) fills in beside the packets.
pub struct Receiver {
    lengths: Box<[(u32, usize)]>,
    addresses: Box<[[u8; size_of::<libc::sockaddr_ll>()]]>,
    controls: Box<[Control]>,
}

impl Receiver {
    /// Room for [`SLOTS`] messages.
    #[expect(clippy::new_without_default, reason = "it allocates")]
    pub fn new() -> Self {
        Self {
            lengths: vec![(0, 0); SLOTS].into(),
            addresses: vec![[0; _]; SLOTS].into(),
            controls: vec![Control([0; CONTROL]); SLOTS].into(),
        }
    }

    /// Receives what is waiting, `most` packets and [`SLOTS`] at the most, without waiting itself, and returns the
    /// number of packets; 0 when there are none. Each is cut to the room in its slot.
    ///
    /// # Errors
    /// The error that waits on the socket, such as `ENETDOWN`.
    ///
    /// # Panics
    /// When `buffer` does not hold [`SLOTS`] slots or a slot has no room after its headroom.
    pub fn receive(
        &mut self,
        socket: &PacketSocket,
        buffer: &mut [u8],
        slots: Slots,
        most: usize,
    ) -> io::Result<usize> {
        assert!(buffer.len() >= SLOTS * slots.stride && slots.headroom < slots.stride);
        let mut vectors = vectors(buffer, slots);
        let mut headers: [libc::mmsghdr; SLOTS] =
            std::array::from_fn(|i| self.header(i, &mut vectors[i]));
        // SAFETY: no more than SLOTS are asked for; each of the SLOTS headers points to an address, a vector, the slot behind it and
        // control data of the stated sizes, each used by one header alone; all live through the
        // call and nobody else touches them meanwhile. A null timeout is allowed.
        let received = unsafe {
            let (fd, table, now) = (socket.0.as_raw_fd(), headers.as_mut_ptr(), libc::MSG_DONTWAIT);
            libc::recvmmsg(fd, table, most.min(SLOTS) as libc::c_uint, now as _, ptr::null_mut())
        };
        let Ok(count) = usize::try_from(received) else { return none_or_error() };
        for (length, header) in self.lengths.iter_mut().zip(&headers[..count]) {
            *length = (header.msg_len, header.msg_hdr.msg_controllen);
        }
        Ok(count)
    }

    fn header(&mut self, index: usize, vector: &mut libc::iovec) -> libc::mmsghdr {
        // SAFETY: a zeroed msghdr is one without address, data and control data.
        let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
        let (address, control) = (&mut self.addresses[index], &mut self.controls[index]);
        header.msg_hdr.msg_name = address.as_mut_ptr().cast();
        header.msg_hdr.msg_namelen = address.len() as libc::socklen_t;
        header.msg_hdr.msg_iov = vector;
        header.msg_hdr.msg_iovlen = 1;
        header.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
        header.msg_hdr.msg_controllen = CONTROL as _;
        header
    }

    /// What is known of packet `index` of the last call.
    ///
    /// # Panics
    /// When `index` is not less than [`SLOTS`].
    pub fn message(&self, index: usize) -> Message {
        let (captured, control) = self.lengths[index];
        let address = LinkAddress::from_bytes(&self.addresses[index]);
        let beside = Beside::of(&self.controls[index].0[..control.min(CONTROL)]);
        Message {
            captured,
            address,
            aux: beside.aux,
            time: beside.stamped.or(beside.arrived),
            by_card: beside.stamped.is_some(),
        }
    }
}

/// What stands in a message's control data.
#[derive(Debug, Default)]
struct Beside {
    aux: Option<AuxData>,
    /// When the kernel had the packet.
    arrived: Option<(i64, u32)>,
    /// When the network card had it.
    stamped: Option<(i64, u32)>,
}

impl Beside {
    fn of(control: &[u8]) -> Self {
        let mut beside = Self::default();
        for (level, kind, data) in ControlData(control) {
            match (level, kind) {
                (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                    beside.aux = data.first_chunk().map(AuxData::from_bytes);
                }
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => beside.arrived = time(data),
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => beside.stamped = hardware_time(data),
                _ => {}
            }
        }
        beside
    }
}

/// The room of each slot.
fn vectors(buffer: &mut [u8], slots: Slots) -> [libc::iovec; SLOTS] {
    let mut vectors = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; SLOTS];
    for (vector, slot) in vectors.iter_mut().zip(buffer.chunks_exact_mut(slots.stride)) {
        let room = &mut slot[slots.headroom..];
        *vector = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    }
    vectors
}

fn none_or_error() -> io::Result<usize> {
    let error = io::Error::last_os_error();
    let harmless = [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted];
    if harmless.contains(&error.kind()) { Ok(0) } else { Err(error) }
}

fn time(data: &[u8]) -> Option<(i64, u32)> {
    let data: &[u8; size_of::<libc::timespec>()] = data.first_chunk()?;
    let seconds = libc::time_t::from_ne_bytes(field(data, offset_of!(libc::timespec, tv_sec)));
    let nanos = libc::c_long::from_ne_bytes(field(data, offset_of!(libc::timespec, tv_nsec)));
    Some((seconds, nanos as u32))
}

/// The last time of `struct scm_timestamping` (`linux/errqueue.h`), which is 0 where there is none.
fn hardware_time(data: &[u8]) -> Option<(i64, u32)> {
    time(data.get(2 * size_of::<libc::timespec>()..)?).filter(|time| *time != (0, 0))
}

/// The control messages in a buffer: level, type, data (cmsg(3)).
struct ControlData<'a>(&'a [u8]);

impl<'a> Iterator for ControlData<'a> {
    type Item = (i32, i32, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        const HEADER: usize = size_of::<libc::cmsghdr>();
        let header: &[u8; HEADER] = self.0.first_chunk()?;
        let length = usize::from_ne_bytes(field(header, offset_of!(libc::cmsghdr, cmsg_len)));
        let level = i32::from_ne_bytes(field(header, offset_of!(libc::cmsghdr, cmsg_level)));
        let kind = i32::from_ne_bytes(field(header, offset_of!(libc::cmsghdr, cmsg_type)));
        let data = self.0.get(HEADER..length)?;
        let next = length.next_multiple_of(align_of::<libc::cmsghdr>());
        self.0 = self.0.get(next..).unwrap_or_default();
        Some((level, kind, data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let mut bytes = (16 + data.len()).to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    #[test]
    fn control_messages_are_walked_in_order() {
        let bytes = [control(1, 2, b"abcde"), control(3, 4, b"")].concat();
        let all: Vec<_> = ControlData(&bytes).collect();
        assert_eq!(all, [(1, 2, &b"abcde"[..]), (3, 4, b"")]);
    }

    #[test]
    fn broken_control_messages_end_the_walk() {
        let good = control(1, 2, b"abcde");
        for cut in 0..good.len() {
            assert!(ControlData(&good[..cut]).count() <= 1);
        }
        for length in [0usize, 15, usize::MAX, 25] {
            let mut bad = good.clone();
            bad[..8].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(ControlData(&bad).count(), 0, "length {length}");
        }
    }

    #[test]
    fn the_cards_time_counts_where_it_told_one() {
        let times = |parts: &[i64]| parts.iter().flat_map(|part| part.to_ne_bytes()).collect();
        let (kernels, cards): (Vec<u8>, Vec<u8>) = (times(&[7, 8]), times(&[0, 0, 0, 0, 5, 6]));
        let arrived = control(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &kernels);
        let stamped = control(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &cards);
        let silent = control(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &[0; 48]);
        let both = Beside::of(&[arrived.clone(), stamped].concat());
        assert_eq!((both.arrived, both.stamped), (Some((7, 8)), Some((5, 6))));
        let one = Beside::of(&[arrived, silent].concat());
        assert_eq!((one.arrived, one.stamped), (Some((7, 8)), None));
        assert_eq!(
            Beside::of(&control(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &[1; 40])).stamped,
            None
        );
    }

    #[test]
    fn the_vlan_tag_counts_only_where_the_kernel_says_so() {
        let aux = |status: u32| {
            let mut bytes = [0; 20];
            bytes[..4].copy_from_slice(&status.to_ne_bytes());
            bytes[4..8].copy_from_slice(&60u32.to_ne_bytes());
            bytes[16..18].copy_from_slice(&7u16.to_ne_bytes());
            bytes[18..20].copy_from_slice(&0x88a8u16.to_ne_bytes());
            AuxData::from_bytes(&bytes)
        };
        assert_eq!(aux(0), AuxData { length: 60, vlan: None });
        assert_eq!(aux(1 << 4).vlan, Some((7, None)));
        assert_eq!(aux(1 << 4 | 1 << 6).vlan, Some((7, Some(0x88a8))));
    }
}
