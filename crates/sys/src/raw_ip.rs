//! Raw IP sockets: packets that begin with their IPv4 header, by way of the host's routes and neighbours (raw(7)).

use std::io::{self, IoSlice};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::packet_send::{BATCH, no_room};

/// A raw socket that only sends.
#[derive(Debug)]
pub struct RawIp(OwnedFd);

/// Bytes of an IPv4 header without options, and where the destination lies in it (RFC 791, 3.1).
const HEADER: usize = 20;
const DESTINATION: std::ops::Range<usize> = 16..20;

impl RawIp {
    /// A socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_RAW.
    pub fn open() -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: socket(2) takes three integers and touches no memory of ours.
        let fd = unsafe { libc::socket(libc::AF_INET, kind, libc::IPPROTO_RAW) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Sends a packet to the destination in its header (sendto(2)); false when there is no room at the moment.
    ///
    /// # Errors
    /// When no route leads there, or the packet is longer than the MTU allows.
    ///
    /// # Panics
    /// When the packet is shorter than an IPv4 header.
    pub fn send(&self, packet: &[u8]) -> io::Result<bool> {
        let address = destination(packet);
        let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        // SAFETY: the packet is readable for its length, and the address is a whole sockaddr_in of `length` bytes;
        // both live through the call.
        let sent = unsafe {
            libc::sendto(
                self.0.as_raw_fd(),
                packet.as_ptr().cast(),
                packet.len(),
                libc::MSG_DONTWAIT,
                (&raw const address).cast(),
                length,
            )
        };
        if sent < 0 { no_room(io::Error::last_os_error()).map(|_| false) } else { Ok(true) }
    }

    /// Sends the first of `packets` and as many more, in order, as one call takes (sendmmsg(2)); returns how many: 0
    /// when there is no room at the moment.
    ///
    /// # Errors
    /// As for [`send`](Self::send), of the first packet.
    ///
    /// # Panics
    /// As for [`send`](Self::send); when there are no packets.
    pub fn send_many(&self, packets: &[IoSlice<'_>]) -> io::Result<usize> {
        assert!(!packets.is_empty(), "nothing to send");
        let count = packets.len().min(BATCH);
        // SAFETY: an mmsghdr is numbers and pointers, for which all zeroes is valid.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        // SAFETY: a sockaddr_in is plain numbers.
        let mut addresses: [libc::sockaddr_in; BATCH] = unsafe { zeroed() };
        for ((message, address), packet) in messages.iter_mut().zip(&mut addresses).zip(packets) {
            *address = destination(packet);
            message.msg_hdr.msg_name = (&raw mut *address).cast();
            message.msg_hdr.msg_namelen = size_of::<libc::sockaddr_in>() as libc::socklen_t;
            // An IoSlice is an iovec (`std::io::IoSlice`), and sending does not write to it.
            message.msg_hdr.msg_iov = (&raw const *packet).cast_mut().cast();
            message.msg_hdr.msg_iovlen = 1;
        }
        let (fd, count) = (self.0.as_raw_fd(), count as u32);
        // SAFETY: the first `count` messages each point at one address and one iovec, which live through the call.
        let sent = unsafe { libc::sendmmsg(fd, messages.as_mut_ptr(), count, libc::MSG_DONTWAIT) };
        usize::try_from(sent).or_else(|_| no_room(io::Error::last_os_error()))
    }
}

fn destination(packet: &[u8]) -> libc::sockaddr_in {
    assert!(packet.len() >= HEADER, "a packet of {} bytes has no IPv4 header", packet.len());
    let octets: [u8; 4] = packet[DESTINATION].try_into().expect("four bytes");
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: 0,
        // Network byte order, as in the header.
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(octets) },
        sin_zero: [0; 8],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_go_where_their_headers_say() {
        let mut packet = [0; HEADER];
        packet[DESTINATION].copy_from_slice(&[127, 0, 0, 9]);
        assert_eq!(destination(&packet).sin_addr.s_addr.to_ne_bytes(), [127, 0, 0, 9]);
    }

    #[test]
    #[should_panic(expected = "no IPv4 header")]
    fn what_has_no_header_has_no_destination() {
        destination(&[0; HEADER - 1]);
    }
}
