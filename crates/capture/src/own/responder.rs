use std::io::IoSlice;

use linerate_base::{Descriptor, Error, ErrorKind, Result};
use linerate_sys::interface;
use linerate_sys::packet_send;
use linerate_sys::packet_socket::{Level, PacketSocket};

use super::Owned;
use super::answer::{Mac, answer};
use crate::live::watch::Link;
use crate::privilege::explain;

/// Answers neighbours that ask for owned addresses.
#[derive(Debug)]
pub(crate) struct Responder {
    owned: Owned,
    mac: Mac,
    /// Bound to no protocol, so that it receives nothing.
    socket: PacketSocket,
}

impl Responder {
    /// On `link`, in the calling thread's namespace.
    ///
    /// # Errors
    /// Without CAP_NET_RAW; when the interface is gone, or is not one with such addresses.
    pub(crate) fn new(owned: Owned, link: &Link) -> Result<Self> {
        let asked = || format!("answer for owned addresses on {}", link.name);
        let no_mac = |_| Error::new(ErrorKind::Unsupported, asked(), "it has no Ethernet address");
        let device = interface::by_index(link.index)?;
        let mac = device.hardware_address.try_into().map_err(no_mac)?;
        let socket = PacketSocket::open(Level::Link).map_err(|e| explain(asked(), e))?;
        socket.bind(link.index, 0).map_err(|e| Error::system(asked(), e))?;
        Ok(Self { owned, mac, socket })
    }

    /// Answers those of `questions`, frames in `region`, that are for an address which is owned now.
    pub(crate) fn answer(&self, region: &[u8], questions: &[Descriptor]) {
        for question in questions {
            let start = question.offset as usize;
            let frame = &region[start..start + question.captured as usize];
            let owns = |address| self.owned.contains(address).is_ok_and(|owned| owned);
            if let Some(answer) = answer(frame, self.mac, owns) {
                // Where there is no room, or the interface is down, the neighbour asks again.
                let _ = packet_send::send(&self.socket, &[IoSlice::new(&answer)]);
            }
        }
    }
}
