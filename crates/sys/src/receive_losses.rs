//! Packets that an interface lost before anybody could see them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};

use netlink_packet_core::{NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};

/// Asks about one interface of the network namespace in which this was made, whatever namespace the
/// asking thread is in.
#[derive(Debug)]
pub struct ReceiveLosses {
    socket: File,
    request: Vec<u8>,
}

/// More than an answer about one interface needs; the virtual functions of a card, which are the only
/// long list in it, are left out unless asked for.
const ANSWER: usize = 32 * 1024;

impl ReceiveLosses {
    /// For the interface with the number `index` in the calling thread's namespace.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn of(index: u32) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: socket(2) takes three integers and touches no memory of ours.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
        let socket = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
        Ok(Self { socket, request: request(index) })
    }

    /// Packets lost since the interface was made, because its queues were full or the driver was
    /// late (`rx_missed_errors`, `rx_fifo_errors`); `None` when the interface is gone or the kernel
    /// does not tell.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn count(&mut self) -> io::Result<Option<u64>> {
        self.socket.write_all(&self.request)?;
        let mut answer = vec![0; ANSWER];
        let length = self.socket.read(&mut answer)?;
        Ok(losses(&answer[..length]))
    }
}

fn request(index: u32) -> Vec<u8> {
    let mut link = LinkMessage::default();
    link.header.index = index;
    let mut message = NetlinkMessage::from(RouteNetlinkMessage::GetLink(link));
    message.header.flags = NLM_F_REQUEST;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

fn losses(answer: &[u8]) -> Option<u64> {
    let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(answer).ok()?;
    let NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) = message.payload else {
        return None;
    };
    link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::Stats64(stats) => Some(stats.rx_missed_errors + stats.rx_fifo_errors),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_loses_nothing_and_an_interface_that_is_not_there_tells_nothing() {
        let mut loopback = ReceiveLosses::of(1).unwrap();
        assert_eq!((loopback.count().unwrap(), loopback.count().unwrap()), (Some(0), Some(0)));
        assert_eq!(ReceiveLosses::of(0x7fff_ffff).unwrap().count().unwrap(), None);
        assert_eq!(losses(&[0; 7]), None);
    }
}
