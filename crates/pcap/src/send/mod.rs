//! Packets sent by the sinks of `linerate::transmit`.
//!
//! - [`inject`]: one by one, each with a system call of its own: it has left when the function returns
//! - [`queue`]: many, as fast as can be or as they were recorded

pub mod inject;
pub mod queue;

use linerate::base::{Error, ErrorKind, LinkType, Result, Sink};
use linerate::capture::{self, ANY};
use linerate::transmit::sink::{self, Config, FrameSender, Offloads};

use crate::handle::{Inner, Kind};
use crate::live::source::Live;

/// The sinks that a capture has sent by. They stay open until it is closed.
#[derive(Default)]
pub(crate) struct Sending {
    single: Option<FrameSender>,
    paced: Option<Opened>,
    fast: Option<Opened>,
    sent: u64,
    refused: u64,
}

/// A sink for frames of so many bytes at most.
struct Opened {
    sink: Box<dyn Sink + Send>,
    room: usize,
}

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Many, by system calls.
    Paced,
    /// Very many, faster than system calls can.
    Fast,
}

impl Sending {
    /// Packets that were sent.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends a frame if that goes at once, as it does for all but the first; false where [`inject`](Self::inject) has to.
    #[inline]
    pub(crate) fn inject_at_once(&mut self, frame: &[u8]) -> bool {
        let is_sent = self.single.as_mut().is_some_and(|sender| sender.try_send(frame));
        self.sent += u64::from(is_sent);
        is_sent
    }

    /// Sends a frame, with patience. When this returns it has left, as far as the system tells.
    fn inject(&mut self, capture: &capture::Config, frame: &[u8]) -> Result<()> {
        let sender = match self.single.take() {
            Some(sender) => sender,
            None => FrameSender::open(&capture.interface, capture.unseen_mark)?,
        };
        self.single.insert(sender).send(frame)?;
        self.sent += 1;
        Ok(())
    }

    /// Has `send` send frames of up to `room` bytes, or more where the sink has it, out of what a capture is on. A sink whose
    /// room turns out too small makes way for one with room for `longest`. The capture does not see what is sent, but by a
    /// program in the kernel, which no capture sees.
    fn through(
        &mut self,
        way: Way,
        capture: &capture::Config,
        (room, longest): (usize, usize),
        send: impl FnOnce(&mut dyn Sink, usize) -> Result<()>,
    ) -> Result<()> {
        let place = match way {
            Way::Paced => &mut self.paced,
            Way::Fast => &mut self.fast,
        };
        if place.as_ref().is_none_or(|opened| opened.room < room) {
            // Two programs would want the same core.
            let room = if place.take().is_some() { longest } else { room };
            *place = Some(open(way, capture, room)?);
        }
        let Opened { sink, room } = place.as_mut().expect("it was put there above");
        let before = sink.stats();
        let passed = send(&mut **sink, *room);
        let after = sink.stats();
        self.sent += after.sent - before.sent;
        self.refused += after.refused - before.refused;
        passed
    }
}

/// Bytes of memory for packets that wait.
const WAITING: usize = 8 << 20;

fn open(way: Way, capture: &capture::Config, room: usize) -> Result<Opened> {
    let config = Config {
        interface: capture.interface.clone(),
        backend: None,
        queue: 0,
        offloads: Offloads::default(),
        alike: None,
        slots: (WAITING / room).clamp(64, 512),
        longest: room,
        mark: capture.unseen_mark,
    };
    let open = match way {
        Way::Fast => sink::open_fast,
        Way::Paced => sink::open,
    };
    Ok(Opened { sink: open(&config)?.sink, room })
}

impl Inner {
    /// The capture to send by.
    fn sender(&mut self) -> std::result::Result<&mut Live, &'static str> {
        match &mut self.kind {
            Kind::Live(live) if live.config.interface == ANY => {
                Err("Sending packets isn't supported on the \"any\" device")
            }
            Kind::Live(_)
                if [LinkType::LINUX_SLL, LinkType::LINUX_SLL2].contains(&self.link_type) =>
            {
                Err("Sending packets isn't supported in cooked mode")
            }
            Kind::Live(live) => Ok(live),
            Kind::File(_) => Err("Sending packets isn't supported on savefiles"),
            Kind::Dead => Err("Packets can't be sent on a pcap_open_dead pcap_t"),
            Kind::Created(_) | Kind::Dumping(_) => {
                Err("packets are sent by a capture that runs, and whose packets the program gets")
            }
        }
    }
}

/// The device took no more for too long.
fn no_room(interface: &str) -> Error {
    Error::new(ErrorKind::Busy, format!("send on {interface}"), "the device has no room")
        .advise("send again later, or more slowly")
}
