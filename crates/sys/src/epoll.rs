//! Many TCP sockets of the kernel's at once, as applications have them: connect(2) that does not wait, and epoll(7).

use std::io;
use std::net::{SocketAddrV4, TcpStream};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Sockets to be told of (epoll_create1(2)).
#[derive(Debug)]
pub struct Epoll {
    fd: OwnedFd,
    events: Vec<libc::epoll_event>,
}

/// What a socket is ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The number that it was given.
    pub key: u64,
    /// A read would not wait: there are data, or an end.
    pub readable: bool,
    /// A write would not wait: it is connected.
    pub writable: bool,
    /// An error is pending.
    pub failed: bool,
}

/// The most that one wait tells.
const MOST: usize = 512;

impl Epoll {
    /// No sockets yet.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn new() -> io::Result<Self> {
        // SAFETY: epoll_create1(2) takes an integer and touches no memory of ours.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { fd, events: vec![libc::epoll_event { events: 0, u64: 0 }; MOST] })
    }

    /// Tells of this socket from now on, each time that it becomes ready for something, until it is closed.
    ///
    /// # Errors
    /// When the kernel has no memory left for it.
    pub fn watch(&self, socket: impl AsFd, key: u64) -> io::Result<()> {
        let events = (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET) as u32;
        let mut event = libc::epoll_event { events, u64: key };
        let socket = socket.as_fd().as_raw_fd();
        // SAFETY: both descriptors are open while they are borrowed, and the kernel copies the event.
        let answer = unsafe {
            libc::epoll_ctl(self.fd.as_raw_fd(), libc::EPOLL_CTL_ADD, socket, &raw mut event)
        };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits at most `timeout`, in whole milliseconds, and tells which sockets are ready; a signal ends the wait early.
    ///
    /// # Errors
    /// None that can be expected.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<impl Iterator<Item = Ready> + '_> {
        let limit = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
        let (fd, room) = (self.fd.as_raw_fd(), self.events.len() as i32);
        // SAFETY: there is room for as many events as are said, which live through the call.
        let count = unsafe { libc::epoll_wait(fd, self.events.as_mut_ptr(), room, limit) };
        let count = usize::try_from(count).or_else(|_| match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            error => Err(error),
        })?;
        Ok(self.events[..count].iter().map(|event| {
            let has = |flags: i32| event.events & flags as u32 != 0;
            Ready {
                key: event.u64,
                readable: has(libc::EPOLLIN | libc::EPOLLRDHUP),
                writable: has(libc::EPOLLOUT),
                failed: has(libc::EPOLLERR | libc::EPOLLHUP),
            }
        }))
    }
}

/// Begins a connection and does not wait for it: the socket is writable once it is open, and never waits.
///
/// # Errors
/// When there is no descriptor or port left, or no route.
pub fn connect(remote: SocketAddrV4) -> io::Result<TcpStream> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: socket(2) takes three integers and touches no memory of ours.
    let fd = unsafe { libc::socket(libc::AF_INET, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
    let stream = unsafe { TcpStream::from_raw_fd(fd) };
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: remote.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(remote.ip().octets()) },
        sin_zero: [0; 8],
    };
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address is a whole `sockaddr_in`, and lives through the call.
    let answer = unsafe { libc::connect(fd, (&raw const address).cast(), length) };
    let error = io::Error::last_os_error();
    match answer < 0 && error.raw_os_error() != Some(libc::EINPROGRESS) {
        true => Err(error),
        false => Ok(stream),
    }
}

/// Has the kernel send RST when the socket is closed, and forget it at once (`SO_LINGER` with no time, socket(7)).
///
/// # Errors
/// None that can be expected of a socket.
pub fn reset_on_close(stream: &TcpStream) -> io::Result<()> {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let (fd, length) = (stream.as_raw_fd(), size_of_val(&linger) as libc::socklen_t);
    let value = (&raw const linger).cast();
    // SAFETY: the value is a whole `linger`, and lives through the call.
    let answer = unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_LINGER, value, length) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};

    fn listener() -> (TcpListener, SocketAddrV4) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        match listener.local_addr().unwrap() {
            SocketAddr::V4(address) => (listener, address),
            SocketAddr::V6(address) => panic!("{address}"),
        }
    }

    /// The next thing that is told of a socket.
    fn next(epoll: &mut Epoll) -> Ready {
        epoll.wait(Duration::from_secs(60)).unwrap().next().expect("something happens")
    }

    #[test]
    fn a_connection_is_told_when_it_opens_and_when_data_come() {
        let (listener, address) = listener();
        let mut epoll = Epoll::new().unwrap();
        let mut stream = connect(address).unwrap();
        epoll.watch(&stream, 7).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let mut ready = next(&mut epoll);
        while !ready.writable {
            ready = next(&mut epoll);
        }
        assert_eq!((ready.key, ready.failed), (7, false));
        server.write_all(b"x").unwrap();
        while !ready.readable {
            ready = next(&mut epoll);
        }
        assert_eq!(stream.read(&mut [0; 9]).unwrap(), 1);
    }

    #[test]
    fn a_socket_that_is_closed_so_sends_rst() {
        let (listener, address) = listener();
        let stream = connect(address).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        reset_on_close(&stream).unwrap();
        drop(stream);
        let error = server.read(&mut [0; 9]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }

    #[test]
    fn who_refuses_is_told_as_failed() {
        let (listener, address) = listener();
        drop(listener);
        let mut epoll = Epoll::new().unwrap();
        let stream = connect(address).unwrap();
        epoll.watch(&stream, 1).unwrap();
        assert!(next(&mut epoll).failed);
    }
}
