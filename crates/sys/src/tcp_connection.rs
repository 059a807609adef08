//! TCP connections of the host's own stack that are opened, and ended by a reset: what TCP in user space is compared with.
//!
//! Sources: connect(2), tcp(7), socket(7).

use std::io;
use std::mem::size_of;
use std::net::SocketAddrV4;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// A connection that stands, or is about to. Dropped, it is reset, so that nothing of it is left on either side.
#[derive(Debug)]
pub struct Connection(OwnedFd);

impl Connection {
    /// Opens a connection and waits until it stands.
    ///
    /// # Errors
    /// When nobody listens there, no port is free, or no route leads there.
    pub fn open(to: SocketAddrV4) -> io::Result<Self> {
        let connection = Self::socket(0)?;
        connection.connect(to)?;
        Ok(connection)
    }

    /// Begins to open a connection; [`ended`] tells when the other end has closed it again.
    ///
    /// # Errors
    /// As [`open`](Self::open), as far as that is known at once.
    pub fn begin(to: SocketAddrV4) -> io::Result<Self> {
        let connection = Self::socket(libc::SOCK_NONBLOCK)?;
        match connection.connect(to) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(connection),
        }
    }

    fn socket(flags: libc::c_int) -> io::Result<Self> {
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | flags;
        // SAFETY: socket(2) takes three integers and touches no memory of ours.
        let fd = unsafe { libc::socket(libc::AF_INET, kind, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
        let connection = Self(unsafe { OwnedFd::from_raw_fd(fd) });
        connection.reset_at_end()?;
        Ok(connection)
    }

    /// `SO_LINGER` of no time: close(2) sends a reset (socket(7)).
    fn reset_at_end(&self) -> io::Result<()> {
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        let length = size_of::<libc::linger>() as libc::socklen_t;
        let (level, option) = (libc::SOL_SOCKET, libc::SO_LINGER);
        // SAFETY: the option's value is a whole struct linger of `length` bytes, and lives through the call.
        let done = unsafe {
            libc::setsockopt(self.0.as_raw_fd(), level, option, (&raw const linger).cast(), length)
        };
        check(done)
    }

    fn connect(&self, to: SocketAddrV4) -> io::Result<()> {
        let address = libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: to.port().to_be(),
            sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(to.ip().octets()) },
            sin_zero: [0; 8],
        };
        let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        // SAFETY: the address is a whole sockaddr_in of `length` bytes, and lives through the call.
        let done =
            unsafe { libc::connect(self.0.as_raw_fd(), (&raw const address).cast(), length) };
        check(done)
    }

    /// What became of one that was begun.
    ///
    /// # Errors
    /// Why it never stood.
    pub fn outcome(&self) -> io::Result<()> {
        let mut error: libc::c_int = 0;
        let mut length = size_of::<libc::c_int>() as libc::socklen_t;
        let (level, option) = (libc::SOL_SOCKET, libc::SO_ERROR);
        // SAFETY: the value is an integer of `length` bytes that is ours, as is the length.
        let done = unsafe {
            let value = (&raw mut error).cast();
            libc::getsockopt(self.0.as_raw_fd(), level, option, value, &mut length)
        };
        check(done)?;
        if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
    }
}

/// Waits at most `timeout` until the other end has closed some of `connections`, or some have failed: which of them.
///
/// # Errors
/// When the kernel has no memory left for the poll.
pub fn ended(connections: &[Connection], timeout: Duration) -> io::Result<Vec<bool>> {
    let entry = |connection: &Connection| libc::pollfd {
        fd: connection.0.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut table: Vec<_> = connections.iter().map(entry).collect();
    let limit = libc::c_int::try_from(timeout.as_millis()).unwrap_or(libc::c_int::MAX);
    // SAFETY: the table has as many entries as it says, and lives through the call.
    check(unsafe { libc::poll(table.as_mut_ptr(), table.len() as libc::nfds_t, limit) })?;
    Ok(table.iter().map(|entry| entry.revents != 0).collect())
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};

    fn listener() -> (TcpListener, SocketAddrV4) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let SocketAddr::V4(address) = listener.local_addr().unwrap() else { unreachable!() };
        (listener, address)
    }

    #[test]
    fn a_connection_stands_and_is_reset_at_its_end() {
        let (listener, address) = listener();
        let connection = Connection::open(address).unwrap();
        let (mut other, _) = listener.accept().unwrap();
        drop(connection);
        let error = other.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }

    #[test]
    fn connections_that_were_begun_end_or_fail() {
        let (listener, address) = listener();
        let wait = |connection: &[Connection]| {
            while !ended(connection, Duration::from_secs(1)).unwrap()[0] {}
            connection[0].outcome()
        };
        let connection = Connection::begin(address).unwrap();
        drop(listener.accept().unwrap());
        assert!(wait(&[connection]).is_ok());
        drop(listener);
        // Refused at once on this host, or a moment later.
        let refused = Connection::begin(address).and_then(|connection| wait(&[connection]));
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
