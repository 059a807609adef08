//! Ethernet frames, sent as they are.

use std::io::{self, IoSlice};
use std::thread;
use std::time::Duration;

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::interface;
use linerate_sys::packet_send;
use linerate_sys::packet_socket::{Level, PacketSocket};

use super::Sent;
use crate::Host;

/// How long to wait at a time for a wire without room, and how often before giving up.
const PAUSE: Duration = Duration::from_micros(100);
const PAUSES: usize = 100_000;

/// The same Ethernet frame with a VLAN tag for `id` in front of what followed the addresses, other
/// tags included (IEEE 802.1Q, 9.3).
///
/// # Panics
/// When the frame is shorter than two addresses.
pub fn tagged(frame: &[u8], id: u16) -> Vec<u8> {
    let (addresses, rest) = frame.split_at(12);
    let [high, low] = id.to_be_bytes();
    [addresses, &[0x81, 0x00, high, low], rest].concat()
}

/// Sends Ethernet frames from a host's interface, in order and as they are.
///
/// Each call takes some milliseconds more than its frames do, for the kernel to let the socket
/// go: rather send many at once.
///
/// # Errors
/// When the interface is down, gone or without carrier; when a frame is shorter than a header or
/// longer than the MTU allows.
pub fn send_frames(from: &Host, frames: &[Vec<u8>]) -> Result<Sent> {
    let mut sender = FrameSender::new(from)?;
    sender.send(frames)?;
    Ok(sender.sent())
}

pub(super) struct FrameSender {
    socket: PacketSocket,
    sent: Sent,
}

impl FrameSender {
    pub(super) fn new(from: &Host) -> Result<Self> {
        let socket = from.run(|| open(from.interface_index()))?;
        Ok(Self { socket, sent: Sent::default() })
    }

    pub(super) fn sent(&self) -> Sent {
        self.sent
    }

    pub(super) fn send(&mut self, frames: &[Vec<u8>]) -> Result<()> {
        let slices: Vec<_> = frames.iter().map(|frame| IoSlice::new(frame)).collect();
        let mut rest = slices.as_slice();
        while !rest.is_empty() {
            let (sent, unsent) = rest.split_at(self.send_some(rest)?);
            self.sent.packets += sent.len() as u64;
            self.sent.bytes += sent.iter().map(|frame| frame.len() as u64).sum::<u64>();
            rest = unsent;
        }
        Ok(())
    }

    fn send_some(&self, frames: &[IoSlice<'_>]) -> Result<usize> {
        let asked = "send frames";
        for _ in 0..PAUSES {
            match packet_send::send(&self.socket, frames).map_err(|e| Error::system(asked, e))? {
                0 => thread::sleep(PAUSE),
                count => return Ok(count),
            }
        }
        Err(Error::new(ErrorKind::Exhausted, asked, "the wire had no room for long"))
    }
}

/// Without carrier the kernel would take frames and forget them.
fn open(index: u32) -> Result<PacketSocket> {
    let asked = "open a packet socket to send";
    if !interface::by_index(index)?.is_running {
        return Err(Error::new(ErrorKind::Down, asked, "the wire has no carrier"));
    }
    bind(index).map_err(|e| Error::system(asked, e))
}

/// Bound to no protocol, so that it receives nothing.
fn bind(index: u32) -> io::Result<PacketSocket> {
    let socket = PacketSocket::open(Level::Link)?;
    socket.bind(index, 0)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_goes_between_addresses_and_type() {
        let frame: Vec<u8> = (0..20).collect();
        let twice = tagged(&tagged(&frame, 7), 0x123);
        assert_eq!(twice[..12], frame[..12]);
        assert_eq!(twice[12..20], [0x81, 0, 1, 0x23, 0x81, 0, 0, 7]);
        assert_eq!(twice[20..], frame[12..]);
    }
}
