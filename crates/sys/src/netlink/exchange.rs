//! One request and its whole answer.

use linerate_base::{Error, ErrorKind, Result};
use netlink_packet_core::{
    DecodeError, ErrorMessage, NLM_F_ACK, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkDeserializable,
    NetlinkHeader, NetlinkMessage, NetlinkPayload, NetlinkSerializable, NlasIterator,
};
use netlink_packet_route::RouteNetlinkMessage;

use super::socket::Socket;

/// The kernel never answers in larger pieces than 32 KiB unless asked to
/// (`netlink_dump` in `net/netlink/af_netlink.c`, Linux 6.12).
const ANSWER_SIZE: usize = 64 * 1024;

/// How often a listing that changed while it was read is begun anew.
const ATTEMPTS: usize = 16;

/// `NLMSGERR_ATTR_MSG` of `linux/netlink.h`: the kernel's words on an error.
const ERROR_TEXT: u16 = 1;

/// What is said on one of the kernel's netlink protocols.
pub(crate) trait Message: NetlinkSerializable + NetlinkDeserializable {
    /// The protocol's number (`linux/netlink.h`).
    const PROTOCOL: libc::c_int;
}

impl Message for RouteNetlinkMessage {
    const PROTOCOL: libc::c_int = libc::NETLINK_ROUTE;
}

/// Sends `message` with `flags` and returns the objects that came back: none for a change, all
/// of them for a dump.
///
/// `asked` names the attempt in errors.
pub(crate) fn exchange<M: Message>(asked: &str, message: M, flags: u16) -> Result<Vec<M>> {
    exchange_on(&Socket::open(M::PROTOCOL)?, asked, message, flags)
}

/// The same on a socket that is there already, and of which nothing else is read.
pub(crate) fn exchange_on<M: Message>(
    socket: &Socket,
    asked: &str,
    message: M,
    flags: u16,
) -> Result<Vec<M>> {
    let request = encode(message, flags);
    for _ in 0..ATTEMPTS {
        if let Some(objects) = attempt(socket, asked, &request)? {
            return Ok(objects);
        }
    }
    Err(Error::new(ErrorKind::Busy, asked, "the answer kept changing while it was read"))
}

pub(super) fn encode<M: Message>(message: M, flags: u16) -> Vec<u8> {
    let payload = NetlinkPayload::InnerMessage(message);
    let mut message = NetlinkMessage::new(NetlinkHeader::default(), payload);
    message.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// `None` when the kernel says that the listing was interrupted by a change.
fn attempt<M: Message>(socket: &Socket, asked: &str, request: &[u8]) -> Result<Option<Vec<M>>> {
    socket.send(request).map_err(|e| Error::system(asked, e))?;
    let mut answer = Answer::new();
    let mut buffer = vec![0; ANSWER_SIZE];
    while !answer.complete {
        let length = socket.receive(&mut buffer).map_err(|e| Error::system(asked, e))?;
        answer.add(asked, &buffer[..length])?;
    }
    Ok((!answer.interrupted).then_some(answer.objects))
}

struct Answer<M> {
    objects: Vec<M>,
    interrupted: bool,
    complete: bool,
}

impl<M: Message> Answer<M> {
    fn new() -> Self {
        Self { objects: Vec::new(), interrupted: false, complete: false }
    }

    /// Adds one datagram, which holds one message or several.
    fn add(&mut self, asked: &str, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let message = NetlinkMessage::deserialize(bytes).map_err(|e| malformed(asked, &e))?;
            let length = (message.header.length as usize).next_multiple_of(4);
            self.interrupted |= message.header.flags & NLM_F_DUMP_INTR != 0;
            self.take(asked, message.payload)?;
            bytes = bytes.get(length..).unwrap_or_default();
        }
        Ok(())
    }

    fn take(&mut self, asked: &str, payload: NetlinkPayload<M>) -> Result<()> {
        match payload {
            NetlinkPayload::InnerMessage(object) => self.objects.push(object),
            NetlinkPayload::Error(error) if error.code.is_some() => {
                return Err(refusal(asked, &error));
            }
            NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => self.complete = true,
            _ => {}
        }
        Ok(())
    }
}

fn malformed(asked: &str, error: &DecodeError) -> Error {
    Error::new(
        ErrorKind::Malformed,
        asked,
        format!("the kernel's answer is not understood: {error}"),
    )
}

fn refusal(asked: &str, message: &ErrorMessage) -> Error {
    let error = Error::system(asked, message.to_io());
    match explanation(&message.header) {
        Some(text) => error.advise(format!("the kernel says: {text}")),
        None => error,
    }
}

/// The text among the attributes that follow the 16 bytes of the refused request's header.
fn explanation(header: &[u8]) -> Option<String> {
    let attributes = NlasIterator::new(header.get(16..)?);
    let text = attributes.flatten().find(|attribute| attribute.kind() == ERROR_TEXT)?;
    let text = String::from_utf8_lossy(text.value()).trim_end_matches('\0').to_owned();
    Some(text).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_route::link::{LinkAttribute, LinkMessage};
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn a_refusal_keeps_the_number() {
        let mut link = LinkMessage::default();
        link.attributes.push(LinkAttribute::IfName("no-such-link".into()));
        let asked = "look for a link";
        let error = exchange(asked, RouteNetlinkMessage::GetLink(link), 0).unwrap_err();
        assert_eq!(error.asked(), asked);
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }

    #[test]
    fn the_kernels_words_are_found_behind_the_header() {
        let mut bytes = vec![0; 16];
        bytes.extend([9, 0, 1, 0]);
        bytes.extend(b"nope\0\0\0\0");
        assert_eq!(explanation(&bytes).as_deref(), Some("nope"));
        assert_eq!(explanation(&bytes[..16]), None);
        assert_eq!(explanation(&[]), None);
    }

    #[test]
    fn damaged_answers_are_errors() {
        for bytes in [&[0][..], &[0; 16], &[255; 20]] {
            let error = Answer::<RouteNetlinkMessage>::new().add("ask", bytes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Malformed);
        }
    }

    /// Messages with whole headers, of the kinds that the kernel sends and of others.
    fn messages() -> impl Strategy<Value = Vec<u8>> {
        let kind = prop_oneof![1u16..5, 16u16..40];
        let message = (kind, any::<u16>(), vec(any::<u8>(), 0..80));
        vec(message, 0..4).prop_map(|messages| messages.iter().flat_map(to_bytes).collect())
    }

    fn to_bytes((kind, flags, payload): &(u16, u16, Vec<u8>)) -> Vec<u8> {
        let mut bytes = (16 + payload.len() as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(payload);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic(bytes in prop_oneof![messages(), vec(any::<u8>(), 0..100)]) {
            let _ = Answer::<RouteNetlinkMessage>::new().add("ask", &bytes);
            let _ = explanation(&bytes);
        }
    }
}
