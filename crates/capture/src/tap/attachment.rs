//! What ties the programs to the interface.

use std::sync::{Mutex, PoisonError};

use linerate_sys::bpf::Link;
use linerate_sys::packet_socket::PacketSocket;

/// The links of the programs, shared by the sources that read their rings.
#[derive(Debug)]
pub(crate) struct Attachment(Mutex<Option<Tied>>);

#[derive(Debug)]
struct Tied {
    links: Vec<Link>,
    /// Not bound: it keeps the interface promiscuous, and is closed last.
    socket: PacketSocket,
}

impl Attachment {
    pub(crate) fn new(links: Vec<Link>, socket: PacketSocket) -> Self {
        Self(Mutex::new(Some(Tied { links, socket })))
    }

    /// Ends the programs' work. When this returns, none runs on any core.
    ///
    /// A program that was running when its link went may not be done. Closing a packet socket returns
    /// only when every core has left the receive path that it was in (`synchronize_net` in
    /// `packet_release`, net/packet/af_packet.c, Linux 6.18).
    pub(crate) fn detach(&self) {
        let mut tied = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Tied { links, socket }) = tied.take() {
            drop(links);
            drop(socket);
        }
    }
}
