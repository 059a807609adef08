//! The `socket` back end: a plain packet socket, many packets by one system call.

use std::fmt;

use linerate_base::{Descriptor, Result, Timestamp};
use linerate_sys::packet_socket::{Message, Receiver, SLOTS, Slots};

use super::Intake;
use super::framer::{Found, Framer, HEADROOM};
use super::port::Port;

/// Takes packets from a socket's queue, each into a slot of one buffer.
pub(crate) struct SocketIntake {
    receiver: Receiver,
    buffer: Vec<u8>,
    slots: Slots,
    framer: Framer,
    descriptors: Vec<Descriptor>,
    unstamped: u64,
}

/// Slots begin on a cache line each, and not all in the same cache set.
const LINE: usize = 64;

impl SocketIntake {
    /// With slots for packets of `snaplen` bytes. The buffer takes memory only where packets were.
    pub(crate) fn new(snaplen: u32, framer: Framer) -> Self {
        let stride = (HEADROOM + snaplen as usize).next_multiple_of(LINE) + LINE;
        Self {
            receiver: Receiver::new(),
            buffer: vec![0; SLOTS * stride],
            slots: Slots { stride, headroom: HEADROOM },
            framer,
            descriptors: Vec::with_capacity(SLOTS),
            unstamped: 0,
        }
    }
}

impl Intake for SocketIntake {
    fn fetch(&mut self, port: &mut Port) -> Result<usize> {
        self.descriptors.clear();
        let count = match self.receiver.receive(port.socket(), &mut self.buffer, self.slots, SLOTS)
        {
            Ok(count) => count,
            Err(error) => return port.fail(error).map(|()| 0),
        };
        let name_of = |index| port.socket().device_name(index).unwrap_or_default();
        for slot in 0..count {
            let found = found(&self.receiver.message(slot), slot * self.slots.stride + HEADROOM);
            self.descriptors.extend(self.framer.finish(&mut self.buffer, &found, &name_of));
            self.unstamped += u64::from(!found.by_card);
        }
        Ok(count)
    }

    fn region(&self) -> &[u8] {
        &self.buffer
    }

    fn descriptors(&self) -> &[Descriptor] {
        &self.descriptors
    }

    fn framer(&self) -> &Framer {
        &self.framer
    }

    fn unstamped(&self) -> u64 {
        self.unstamped
    }
}

fn found(message: &Message, start: usize) -> Found {
    let (seconds, nanos) = message.time.unwrap_or_default();
    Found {
        time: Timestamp::from_parts(seconds, nanos),
        by_card: message.by_card,
        start,
        headroom: HEADROOM,
        captured: message.captured,
        length: message.aux.map_or(message.captured, |aux| aux.length),
        address: message.address,
        vlan: message.aux.and_then(|aux| aux.vlan),
    }
}

impl fmt::Debug for SocketIntake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SocketIntake").field("slots", &self.slots).finish_non_exhaustive()
    }
}
