//! Frames sent through a packet socket: one with a system call (send(2)), or many (sendmmsg(2)).

use std::io::{self, IoSlice};
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, RawFd};

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
    match send_now(socket.as_fd().as_raw_fd(), frame) {
        0.. => Ok(1),
        error => refused(error),
    }
}

#[cold]
fn refused(error: isize) -> io::Result<usize> {
    no_room(io::Error::from_raw_os_error(-error as i32))
}

/// sendto(2) of a frame, to no address: what the kernel answers, a negative number of errno(3) for errors. A function of C's
/// library around it would cost 5 ns more: after a system call the processor guesses wrong where a function returns to.
#[cfg(target_arch = "x86_64")]
#[inline]
fn send_now(fd: RawFd, frame: &[u8]) -> isize {
    let answer;
    // SAFETY: the frame is readable for its length during the call, which writes to no memory of the process; of registers
    // it changes these three (syscall(2)).
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_sendto as isize => answer,
            in("rdi") fd as isize,
            in("rsi") frame.as_ptr(),
            in("rdx") frame.len(),
            in("r10") libc::MSG_DONTWAIT as isize,
            in("r8") 0isize,
            in("r9") 0isize,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack, readonly),
        );
    }
    answer
}

#[cfg(not(target_arch = "x86_64"))]
fn send_now(fd: RawFd, frame: &[u8]) -> isize {
    let (bytes, nobody) = (frame.as_ptr(), std::ptr::null::<libc::sockaddr>());
    // SAFETY: as above.
    let sent = unsafe {
        libc::syscall(libc::SYS_sendto, fd, bytes, frame.len(), libc::MSG_DONTWAIT, nobody, 0)
    };
    match sent {
        0.. => sent as isize,
        _ => -(io::Error::last_os_error().raw_os_error().unwrap_or_default() as isize),
    }
}

/// 0 for errors that say so.
pub(crate) fn no_room(error: io::Error) -> io::Result<usize> {
    match error.raw_os_error() {
        Some(libc::ENOBUFS | libc::EAGAIN) => Ok(0),
        _ => Err(error),
    }
}
