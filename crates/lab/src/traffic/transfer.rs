//! Bytes over TCP.

use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use linerate_base::{Error, Result};

use crate::Host;

/// A TCP connection that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The end that connected and sent.
    pub client: SocketAddr,
    /// The end that received.
    pub server: SocketAddr,
    /// Bytes that arrived.
    pub bytes: u64,
}

/// Sends `bytes` bytes from one host to `port` of another over IPv4; port 0 lets the kernel
/// choose.
///
/// How many segments that takes is up to the kernels.
///
/// # Errors
/// When the port is in use, or the connection breaks.
pub fn transfer(from: &Host, to: &Host, port: u16, bytes: u64) -> Result<Transfer> {
    let address = SocketAddr::from((to.ipv4(), port));
    run(from, to, address, bytes).map_err(|e| {
        Error::system(format!("transfer {bytes} bytes from {} to {address}", from.ipv4()), e)
    })
}

fn run(from: &Host, to: &Host, address: SocketAddr, bytes: u64) -> io::Result<Transfer> {
    let listener = to.run(|| TcpListener::bind(address))?;
    let server = listener.local_addr()?;
    let sender = from.run(|| TcpStream::connect(server))?;
    let client = sender.local_addr()?;
    let (mut receiver, _) = listener.accept()?;
    let received = thread::scope(|scope| {
        let sending = scope.spawn(|| send(sender, bytes));
        let received = copy(&mut receiver, &mut io::sink());
        sending.join().expect("sending does not panic").and(received)
    })?;
    Ok(Transfer { client, server, bytes: received })
}

/// Ends the connection by dropping it.
fn send(mut stream: TcpStream, bytes: u64) -> io::Result<()> {
    copy(io::repeat(0x2e).take(bytes), &mut stream)?;
    stream.flush()
}

/// In pieces large enough that the system calls do not show.
fn copy(from: impl Read, to: &mut impl Write) -> io::Result<u64> {
    io::copy(&mut BufReader::with_capacity(128 << 10, from), to)
}
