//! Generic netlink: many small protocols, each with a name and a number that the kernel gives it.
//!
//! Source: `linux/genetlink.h` (Linux 6.18).

use linerate_base::Result;
use netlink_packet_core::{
    DecodeError, NetlinkDeserializable, NetlinkHeader, NetlinkSerializable, NlasIterator,
};

use super::exchange::{Message, exchange};

/// The family that knows the others, `GENL_ID_CTRL`.
const CONTROLLER: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;

/// A command of a family, or the answer to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GenericMessage {
    pub(super) family: u16,
    pub(super) command: u8,
    pub(super) version: u8,
    /// As they are sent.
    pub(super) attributes: Vec<u8>,
}

/// Bytes of `struct genlmsghdr`.
const HEADER: usize = 4;

impl GenericMessage {
    /// The value of the first attribute of this kind.
    pub(super) fn attribute(&self, kind: u16) -> Option<&[u8]> {
        let mut attributes = NlasIterator::new(self.attributes.as_slice()).flatten();
        let found = attributes.find(|attribute| attribute.kind() == kind)?;
        let end = usize::from(found.length());
        found.into_inner().get(HEADER..end)
    }
}

/// An attribute as it is sent.
pub(super) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = (HEADER + value.len()) as u16;
    let mut bytes = [&length.to_ne_bytes(), &kind.to_ne_bytes(), value].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

impl Message for GenericMessage {
    const PROTOCOL: libc::c_int = libc::NETLINK_GENERIC;
}

impl NetlinkSerializable for GenericMessage {
    fn message_type(&self) -> u16 {
        self.family
    }

    fn buffer_len(&self) -> usize {
        HEADER + self.attributes.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer[..HEADER].copy_from_slice(&[self.command, self.version, 0, 0]);
        buffer[HEADER..].copy_from_slice(&self.attributes);
    }
}

impl NetlinkDeserializable for GenericMessage {
    type Error = DecodeError;

    fn deserialize(
        header: &NetlinkHeader,
        payload: &[u8],
    ) -> std::result::Result<Self, DecodeError> {
        let [command, version, _, _, attributes @ ..] = payload else {
            return Err("a generic message without its header".into());
        };
        let (family, attributes) = (header.message_type, attributes.to_vec());
        Ok(Self { family, command: *command, version: *version, attributes })
    }
}

/// The number of the family called `name`; `None` when the kernel has no such family.
pub(super) fn family(name: &str) -> Result<Option<u16>> {
    let request = GenericMessage {
        family: CONTROLLER,
        command: CTRL_CMD_GETFAMILY,
        version: 1,
        attributes: attribute(CTRL_ATTR_FAMILY_NAME, format!("{name}\0").as_bytes()),
    };
    let asked = format!("look for the netlink family {name}");
    match exchange(&asked, request, 0) {
        Ok(answers) => {
            let id = answers.first().and_then(|answer| answer.attribute(CTRL_ATTR_FAMILY_ID));
            Ok(id.and_then(|id| id.try_into().ok()).map(u16::from_ne_bytes))
        }
        Err(e) if e.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn families_are_found_by_name() {
        assert_eq!(family("nlctrl").unwrap(), Some(CONTROLLER));
        assert_eq!(family("no-such-family").unwrap(), None);
    }

    #[test]
    fn attributes_are_found_among_others() {
        let attributes = [attribute(3, b"abcde"), attribute(7, b""), attribute(9, b"xy")].concat();
        let message = GenericMessage { family: 1, command: 1, version: 1, attributes };
        assert_eq!(message.attribute(3), Some(&b"abcde"[..]));
        assert_eq!(message.attribute(7), Some(&b""[..]));
        assert_eq!(message.attribute(9), Some(&b"xy"[..]));
        assert_eq!(message.attribute(4), None);
    }

    proptest! {
        #[test]
        fn no_message_makes_it_panic(payload in vec(any::<u8>(), 0..60), kind in 0u16..4) {
            let header = NetlinkHeader::default();
            if let Ok(message) = GenericMessage::deserialize(&header, &payload) {
                let _ = message.attribute(kind);
            }
        }
    }
}
