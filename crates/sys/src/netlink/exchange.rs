//! One request and its whole answer.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use linerate_base::{Error, ErrorKind, Result};
use netlink_packet_core::{
    DecodeError, ErrorMessage, NLM_F_ACK, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkMessage,
    NetlinkPayload, NlasIterator,
};
use netlink_packet_route::RouteNetlinkMessage;

/// The kernel never answers in larger pieces than 32 KiB unless asked to
/// (`netlink_dump` in `net/netlink/af_netlink.c`, Linux 6.12).
const ANSWER_SIZE: usize = 64 * 1024;

/// How often a listing that changed while it was read is begun anew.
const ATTEMPTS: usize = 16;

/// `NLMSGERR_ATTR_MSG` of `linux/netlink.h`: the kernel's words on an error.
const ERROR_TEXT: u16 = 1;

/// Sends `message` with `flags` and returns the objects that came back: none for a change, all
/// of them for a dump.
///
/// `asked` names the attempt in errors.
pub(crate) fn exchange(
    asked: &str,
    message: RouteNetlinkMessage,
    flags: u16,
) -> Result<Vec<RouteNetlinkMessage>> {
    let request = encode(message, flags);
    for _ in 0..ATTEMPTS {
        if let Some(objects) = attempt(asked, &request)? {
            return Ok(objects);
        }
    }
    Err(Error::new(ErrorKind::Busy, asked, "the answer kept changing while it was read"))
}

fn encode(message: RouteNetlinkMessage, flags: u16) -> Vec<u8> {
    let mut message = NetlinkMessage::from(message);
    message.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// `None` when the kernel says that the listing was interrupted by a change.
fn attempt(asked: &str, request: &[u8]) -> Result<Option<Vec<RouteNetlinkMessage>>> {
    let socket = open().map_err(|e| Error::system("open a netlink socket", e))?;
    send(&socket, request).map_err(|e| Error::system(asked, e))?;
    let mut answer = Answer::default();
    let mut buffer = vec![0; ANSWER_SIZE];
    while !answer.complete {
        let length = receive(&socket, &mut buffer).map_err(|e| Error::system(asked, e))?;
        answer.add(asked, &buffer[..length])?;
    }
    Ok((!answer.interrupted).then_some(answer.objects))
}

#[derive(Default)]
struct Answer {
    objects: Vec<RouteNetlinkMessage>,
    interrupted: bool,
    complete: bool,
}

impl Answer {
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

    fn take(&mut self, asked: &str, payload: NetlinkPayload<RouteNetlinkMessage>) -> Result<()> {
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

fn open() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: socket(2) takes no pointer.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just opened and has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // With both, an error carries the request's bare header and then the kernel's words.
    enable(&socket, libc::NETLINK_EXT_ACK)?;
    enable(&socket, libc::NETLINK_CAP_ACK)?;
    Ok(socket)
}

fn enable(socket: &OwnedFd, option: libc::c_int) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the value is an int that outlives the call, and its size is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_NETLINK,
            option,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A socket that was not bound or connected sends to the kernel.
fn send(socket: &OwnedFd, request: &[u8]) -> io::Result<()> {
    // SAFETY: the buffer is valid for its length during the call.
    let sent = unsafe { libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the buffer is valid and writable for its length during the call.
        let length =
            unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        match usize::try_from(length) {
            Ok(length) => return Ok(length),
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
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
            let error = Answer::default().add("ask", bytes).unwrap_err();
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
            let _ = Answer::default().add("ask", &bytes);
            let _ = explanation(&bytes);
        }
    }
}
