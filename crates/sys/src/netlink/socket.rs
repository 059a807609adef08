//! A netlink socket, which speaks with the kernel only.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use linerate_base::{Error, Result};

/// A socket of the network namespace that the thread is in that opens it, for good.
#[derive(Debug)]
pub(crate) struct Socket(OwnedFd);

impl Socket {
    /// A socket for one of the kernel's netlink protocols.
    pub(crate) fn open(protocol: libc::c_int) -> Result<Self> {
        open(protocol).map_err(|e| Error::system("open a netlink socket", e))
    }

    /// Has the kernel tell what happens to a group of objects.
    pub(super) fn subscribe(&self, group: libc::c_uint) -> io::Result<()> {
        self.set(libc::NETLINK_ADD_MEMBERSHIP, group.cast_signed())
    }

    fn set(&self, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        // SAFETY: the value is an int that outlives the call, and its size is given.
        let result = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::SOL_NETLINK,
                option,
                (&raw const value).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// A socket that was not bound or connected sends to the kernel.
    pub(super) fn send(&self, request: &[u8]) -> io::Result<()> {
        let (start, length) = (request.as_ptr().cast(), request.len());
        // SAFETY: the buffer is valid for its length during the call.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), start, length, 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits for a datagram and returns its length.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.receive_with(buffer, 0)
    }

    /// A datagram's length, or `None` when none is there.
    pub(super) fn try_receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.receive_with(buffer, libc::MSG_DONTWAIT) {
            Ok(length) => Ok(Some(length)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn receive_with(&self, buffer: &mut [u8], flags: libc::c_int) -> io::Result<usize> {
        loop {
            let (start, size) = (buffer.as_mut_ptr().cast(), buffer.len());
            // SAFETY: the buffer is valid and writable for its length during the call.
            let length = unsafe { libc::recv(self.0.as_raw_fd(), start, size, flags) };
            match usize::try_from(length) {
                Ok(length) => return Ok(length),
                Err(_) => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn open(protocol: libc::c_int) -> io::Result<Socket> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: socket(2) takes no pointer.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, protocol) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just opened and has no other owner.
    let socket = Socket(unsafe { OwnedFd::from_raw_fd(fd) });
    // With both, an error carries the request's bare header and then the kernel's words.
    socket.set(libc::NETLINK_EXT_ACK, 1)?;
    socket.set(libc::NETLINK_CAP_ACK, 1)?;
    Ok(socket)
}
