//! Traffic of an exact amount, so that counters can be balanced against it.
//!
//! Every function returns when the last packet has been given to the wire, and either tells
//! exactly what was sent or fails. Frames bypass the sending host's stack, and wait where the wire
//! has no room. Datagrams and transfers go through it, as an application's do. [`live`] sends millions
//! of frames a second, or an exact rate; [`gaps`] tells at what distances packets arrive; [`Answers`] is a server at every address.

mod answers;
mod frames;
pub mod gaps;
pub mod live;
mod transfer;

use std::io;
use std::net::{SocketAddr, UdpSocket};

use etherparse::PacketBuilder;
use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::packet_send::BATCH;

use crate::Host;
use frames::FrameSender;

pub use answers::Answers;
pub use frames::{send_frames, tagged};
pub use transfer::{Transfer, transfer};

/// What was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Packets.
    pub packets: u64,
    /// Their bytes on the wire, link-layer headers included.
    pub bytes: u64,
}

/// UDP from one host to another, between two ports.
#[derive(Clone, Copy, Debug)]
pub struct Flow<'a> {
    from: &'a Host,
    to: &'a Host,
    ports: (u16, u16),
    is_ipv6: bool,
}

impl<'a> Flow<'a> {
    /// A flow over IPv4.
    pub fn ipv4(from: &'a Host, to: &'a Host, source_port: u16, destination_port: u16) -> Self {
        Self { from, to, ports: (source_port, destination_port), is_ipv6: false }
    }

    /// A flow over IPv6.
    pub fn ipv6(from: &'a Host, to: &'a Host, source_port: u16, destination_port: u16) -> Self {
        Self { is_ipv6: true, ..Self::ipv4(from, to, source_port, destination_port) }
    }

    /// Where its packets come from.
    pub fn source(&self) -> SocketAddr {
        self.end(self.from, self.ports.0)
    }

    /// Where its packets go.
    pub fn destination(&self) -> SocketAddr {
        self.end(self.to, self.ports.1)
    }

    fn end(&self, host: &Host, port: u16) -> SocketAddr {
        if self.is_ipv6 { (host.ipv6(), port).into() } else { (host.ipv4(), port).into() }
    }

    /// One of its packets as an Ethernet frame, checksums included.
    ///
    /// # Panics
    /// When the payload is larger than a datagram can be.
    pub fn frame(&self, payload: &[u8]) -> Vec<u8> {
        let ethernet = PacketBuilder::ethernet2(self.from.mac(), self.to.mac());
        let ip = if self.is_ipv6 {
            ethernet.ipv6(self.from.ipv6().octets(), self.to.ipv6().octets(), TTL)
        } else {
            ethernet.ipv4(self.from.ipv4().octets(), self.to.ipv4().octets(), TTL)
        };
        let udp = ip.udp(self.ports.0, self.ports.1);
        let mut frame = Vec::with_capacity(udp.size(payload.len()));
        udp.write(&mut frame, payload).expect("the payload fits a datagram");
        frame
    }

    /// Sends `count` frames with `size` bytes of payload each, [numbered](payload).
    ///
    /// # Errors
    /// As for [`send_frames`].
    pub fn send_frames(&self, count: u64, size: usize) -> Result<Sent> {
        let mut sender = FrameSender::new(self.from)?;
        for first in (0..count).step_by(BATCH) {
            let numbers = first..count.min(first + BATCH as u64);
            let batch: Vec<_> = numbers.map(|n| self.frame(&payload(n, size))).collect();
            sender.send(&batch)?;
        }
        Ok(sender.sent())
    }

    /// Sends `count` datagrams with `size` bytes of payload each, [numbered](payload), through
    /// the sending host's stack.
    ///
    /// Bind a socket to the destination, or the other host answers with ICMP errors.
    ///
    /// # Errors
    /// When a datagram does not fit a frame; when the port is in use or the network is down; when
    /// the wire had no room and packets were lost.
    pub fn send_datagrams(&self, count: u64, size: usize) -> Result<Sent> {
        let asked = || format!("send datagrams to {}", self.destination());
        let before = self.from.state()?;
        let length = self.frame(&payload(0, size)).len();
        if length > ETHERNET_HEADER + before.mtu as usize {
            let reason = format!("a datagram of {size} bytes does not fit a frame");
            return Err(Error::new(ErrorKind::Invalid, asked(), reason));
        }
        let sent = self.from.run(|| send_through_stack(self, count, size));
        sent.map_err(|e| Error::system(asked(), e))?;
        if self.from.counters()?.sent_dropped != before.counters.sent_dropped {
            return Err(Error::new(ErrorKind::Exhausted, asked(), "the wire lost packets"));
        }
        Ok(Sent { packets: count, bytes: count * length as u64 })
    }
}

const ETHERNET_HEADER: usize = 14;

/// RFC 1700: the recommended time to live.
const TTL: u8 = 64;

/// The payload that numbered packets carry: the number, in network byte order and cut off at
/// `size`, then zeroes.
pub fn payload(number: u64, size: usize) -> Vec<u8> {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.resize(size, 0);
    bytes
}

fn send_through_stack(flow: &Flow<'_>, count: u64, size: usize) -> io::Result<()> {
    let socket = UdpSocket::bind(flow.source())?;
    for number in 0..count {
        socket.send_to(&payload(number, size), flow.destination())?;
    }
    Ok(())
}
