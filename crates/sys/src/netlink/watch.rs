//! What happens to an interface, told by the kernel as it happens.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use linerate_base::{Error, Result};
use netlink_packet_core::{NetlinkBuffer, NlasIterator};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::LinkMessage;

use super::exchange::encode;
use super::socket::Socket;

/// Types of messages, `linux/rtnetlink.h`.
const RTM_NEWLINK: u16 = 16;
const RTM_DELLINK: u16 = 17;
/// `NLMSG_ERROR`: the answer to a question about an interface that is not there.
const NLMSG_ERROR: u16 = 2;
const RTNLGRP_LINK: libc::c_uint = 1;
/// Attributes of a link, `linux/if_link.h`.
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
/// Bytes of `struct ifinfomsg`.
const HEADER: usize = 16;
/// As in `exchange.rs`: the kernel sends no more at once.
const DATAGRAM_SIZE: usize = 64 * 1024;

/// What happened to an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// It was set up.
    Up,
    /// It was set down.
    Down,
    /// It has another MTU, in bytes.
    Mtu(u32),
    /// It has another name.
    Renamed(String),
    /// It was deleted, or moved to another namespace. Nothing follows.
    Gone,
}

/// Hears what happens to one interface of the network namespace that the opener was in, wherever
/// it is read. Poll it for reading.
#[derive(Debug)]
pub struct LinkWatch {
    socket: Socket,
    index: u32,
    last: Last,
    buffer: Vec<u8>,
}

/// What was told last.
#[derive(Debug, PartialEq, Eq)]
enum Last {
    Nothing,
    Is(State),
    Gone,
}

/// How an interface is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    up: bool,
    mtu: u32,
    name: String,
}

/// What one message says of an interface.
#[derive(Debug, PartialEq, Eq)]
enum News {
    Is(State),
    Gone,
}

impl LinkWatch {
    /// Watches the interface with this index in the calling thread's namespace, from now on.
    ///
    /// # Errors
    /// When descriptors ran out. An interface that is not there is [`LinkChange::Gone`].
    pub fn of(index: u32) -> Result<Self> {
        let socket = Socket::open(libc::NETLINK_ROUTE)?;
        let buffer = vec![0; DATAGRAM_SIZE];
        let mut watch = Self { socket, index, last: Last::Nothing, buffer };
        watch.begin().map_err(|e| watch.failed(e))?;
        Ok(watch)
    }

    /// What happened since the last call, in its order; never waits. Changes that came faster than
    /// they were read may be told as one.
    ///
    /// # Errors
    /// When the kernel's memory ran out.
    pub fn read(&mut self) -> Result<Vec<LinkChange>> {
        self.read_waiting().map_err(|e| self.failed(e))
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::system(format!("watch the interface with index {}", self.index), error)
    }

    fn begin(&mut self) -> io::Result<()> {
        self.socket.subscribe(RTNLGRP_LINK)?;
        self.ask()
    }

    /// The answer comes like any other news.
    fn ask(&self) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = self.index;
        self.socket.send(&encode(RouteNetlinkMessage::GetLink(message), 0))
    }

    fn read_waiting(&mut self) -> io::Result<Vec<LinkChange>> {
        let mut changes = Vec::new();
        let mut lost = false;
        loop {
            match self.socket.try_receive(&mut self.buffer) {
                Ok(Some(length)) => {
                    for news in all_news(&self.buffer[..length], self.index) {
                        self.last.follow(news, &mut changes);
                    }
                }
                // What matters after a loss is how the interface is now. Only when the socket is
                // empty is there room for the answer.
                Ok(None) if lost => {
                    lost = false;
                    self.ask()?;
                }
                Ok(None) => return Ok(changes),
                Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) => lost = true,
                Err(e) => return Err(e),
            }
        }
    }
}

impl Last {
    fn follow(&mut self, news: News, changes: &mut Vec<LinkChange>) {
        match (&*self, news) {
            // Another interface may have got the number.
            (Self::Gone, _) => {}
            (_, News::Gone) => {
                changes.push(LinkChange::Gone);
                *self = Self::Gone;
            }
            (Self::Nothing, News::Is(now)) => *self = Self::Is(now),
            (Self::Is(before), News::Is(now)) => {
                before.compare(&now, changes);
                *self = Self::Is(now);
            }
        }
    }
}

impl State {
    fn compare(&self, now: &Self, changes: &mut Vec<LinkChange>) {
        if self.name != now.name {
            changes.push(LinkChange::Renamed(now.name.clone()));
        }
        if self.mtu != now.mtu {
            changes.push(LinkChange::Mtu(now.mtu));
        }
        if self.up != now.up {
            changes.push(if now.up { LinkChange::Up } else { LinkChange::Down });
        }
    }
}

impl AsFd for LinkWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What the messages of one datagram say of the interface with this index. Messages that are not
/// understood are of others, or say nothing.
fn all_news(mut datagram: &[u8], index: u32) -> Vec<News> {
    let mut all = Vec::new();
    while let Ok(message) = NetlinkBuffer::new_checked(datagram) {
        all.extend(news(message.message_type(), message.payload(), index));
        let length = (message.length() as usize).next_multiple_of(4);
        datagram = datagram.get(length..).unwrap_or_default();
    }
    all
}

fn news(kind: u16, payload: &[u8], index: u32) -> Option<News> {
    if kind == NLMSG_ERROR {
        let refused = i32::from_ne_bytes(*payload.first_chunk()?) != 0;
        return refused.then_some(News::Gone);
    }
    let header: &[u8; HEADER] = payload.first_chunk()?;
    // A bridge tells of its ports under its own address family.
    let is_ours = header[0] == libc::AF_UNSPEC as u8 && word(header, 4) == index;
    match kind {
        RTM_DELLINK if is_ours => Some(News::Gone),
        RTM_NEWLINK if is_ours => state(word(header, 8), &payload[HEADER..]).map(News::Is),
        _ => None,
    }
}

fn state(flags: u32, attributes: &[u8]) -> Option<State> {
    let (mut mtu, mut name) = (None, None);
    for attribute in NlasIterator::new(attributes).flatten() {
        match attribute.kind() {
            IFLA_IFNAME => {
                let text = String::from_utf8_lossy(attribute.value());
                name = Some(text.trim_end_matches('\0').to_owned());
            }
            IFLA_MTU => mtu = attribute.value().try_into().ok().map(u32::from_ne_bytes),
            _ => {}
        }
    }
    Some(State { up: flags & libc::IFF_UP as u32 != 0, mtu: mtu?, name: name? })
}

fn word(header: &[u8; HEADER], at: usize) -> u32 {
    u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::generic::attribute;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn message(kind: u16, payload: &[u8]) -> Vec<u8> {
        let length = 16 + payload.len() as u32;
        [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10], payload].concat()
    }

    fn link(family: u8, index: u32, flags: u32) -> Vec<u8> {
        let header =
            [&[family, 0, 0, 0][..], &index.to_ne_bytes(), &flags.to_ne_bytes(), &[0; 4]].concat();
        let attributes =
            [attribute(IFLA_IFNAME, b"x\0"), attribute(IFLA_MTU, &1500u32.to_ne_bytes())];
        [header, attributes.concat()].concat()
    }

    #[test]
    fn only_news_of_the_interface_itself_count() {
        let up = State { up: true, mtu: 1500, name: "x".into() };
        let datagram = [
            message(RTM_NEWLINK, &link(0, 3, 1)),
            message(RTM_NEWLINK, &link(0, 4, 0)),
            message(RTM_DELLINK, &link(7, 3, 0)),
            message(NLMSG_ERROR, &[0; 20]),
            message(RTM_DELLINK, &link(0, 3, 0)),
        ];
        assert_eq!(all_news(&datagram.concat(), 3), [News::Is(up), News::Gone]);
        assert_eq!(all_news(&message(NLMSG_ERROR, &[255; 20]), 3), [News::Gone]);
    }

    #[test]
    fn the_first_news_are_no_change_and_nothing_follows_the_end() {
        let state = |up, mtu| News::Is(State { up, mtu, name: "x".into() });
        let (mut last, mut changes) = (Last::Nothing, Vec::new());
        for news in [state(true, 1500), state(true, 1500), state(false, 9000), News::Gone] {
            last.follow(news, &mut changes);
        }
        last.follow(state(true, 1500), &mut changes);
        assert_eq!(changes, [LinkChange::Mtu(9000), LinkChange::Down, LinkChange::Gone]);
    }

    fn messages() -> impl Strategy<Value = Vec<u8>> {
        let kind = prop_oneof![Just(NLMSG_ERROR), Just(RTM_NEWLINK), Just(RTM_DELLINK)];
        let message = (kind, vec(any::<u8>(), 0..80)).prop_map(|(k, p)| message(k, &p));
        vec(message, 0..4).prop_map(|messages| messages.concat())
    }

    proptest! {
        #[test]
        fn no_datagram_makes_it_panic(bytes in prop_oneof![messages(), vec(any::<u8>(), 0..99)]) {
            let _ = all_news(&bytes, 0);
        }
    }
}
