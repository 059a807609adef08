//! Frames sent through a packet socket: one with a system call (send(2)), or many (sendmmsg(2)).

use std::io::{self, IoSlice};
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

use crate::packet_socket::PacketSocket;

/// The most frames that one call takes.
pub const BATCH: usize = 64;

/// Sends the first of `frames` and as many more, in order, as one call takes; returns how many:
/// 0 when the device, or a peer right behind it, has no room at the moment. Never waits.
///
/// The socket sends whole frames ([`Level::Link`](crate::packet_socket::Level)) on the interface
/// that it is bound to.
///
/// # Errors
/// When the first frame cannot be sent: `EMSGSIZE` when it is larger than the MTU allows, `ENETDOWN`
/// when the interface is down.
///
/// # Panics
/// When there are no frames.
pub fn send(socket: &PacketSocket, frames: &[IoSlice<'_>]) -> io::Result<usize> {
    assert!(!frames.is_empty(), "nothing to send");
    if let [frame] = frames {
        return send_one(socket, frame);
    }
    let count = frames.len().min(BATCH);
    // SAFETY: an mmsghdr is numbers and pointers, for which all zeroes is valid.
    let mut messages: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
    for (message, frame) in messages.iter_mut().zip(frames) {
        // An IoSlice is an iovec (`std::io::IoSlice`), and sending does not write to it.
        message.msg_hdr.msg_iov = (&raw const *frame).cast_mut().cast();
        message.msg_hdr.msg_iovlen = 1;
    }
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the first `count` messages each point at one iovec, borrowed through the call.
    let sent =
        unsafe { libc::sendmmsg(fd, messages.as_mut_ptr(), count as u32, libc::MSG_DONTWAIT) };
    usize::try_from(sent).or_else(|_| no_room(io::Error::last_os_error()))
}

/// The same for one frame, which costs less. At this system call no thread is cancelled (pthreads(7)).
///
/// # Errors
/// As [`send`].
#[inline]
pub fn send_one(socket: &PacketSocket, frame: &[u8]) -> io::Result<usize> {
    let (fd, flags) = (socket.as_fd().as_raw_fd(), libc::MSG_DONTWAIT);
    let (bytes, nobody) = (frame.as_ptr(), ptr::null::<libc::sockaddr>());
    // SAFETY: sendto(2) of a frame that is readable for its length during the call, to no address of length 0.
    let sent = unsafe { libc::syscall(libc::SYS_sendto, fd, bytes, frame.len(), flags, nobody, 0) };
    if sent < 0 { no_room(io::Error::last_os_error()) } else { Ok(1) }
}

/// 0 for errors that say so.
pub(crate) fn no_room(error: io::Error) -> io::Result<usize> {
    match error.raw_os_error() {
        Some(libc::ENOBUFS | libc::EAGAIN) => Ok(0),
        _ => Err(error),
    }
}
