//! Packets sent by the sinks of `linerate::transmit`.
//!
//! - [`inject`]: one by one, each with a system call of its own: it has left when the function returns
//! - [`queue`]: many, as fast as can be or as they were recorded

pub mod inject;
pub mod queue;

use linerate::base::{Error, ErrorKind, LinkType, Result, Sink, SinkStats};
use linerate::capture::{self, ANY};
use linerate::transmit::sink::{self, Config, FrameSender, Offloads};

use crate::entry::uncancelled;
use crate::handle::{Inner, Kind};
use crate::live::source::Live;

/// The sinks that a capture has sent by. They stay open until it is closed.
#[derive(Default)]
pub(crate) struct Sending {
    single: Option<FrameSender>,
    paced: Option<Box<dyn Sink + Send>>,
    fast: Option<Box<dyn Sink + Send>>,
    sent: u64,
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

    /// Sends a frame. When this returns it has left, as far as the system tells.
    fn inject(&mut self, capture: &capture::Config, frame: &[u8]) -> Result<()> {
        let is_sent = self.single.as_ref().is_some_and(|sender| sender.try_send(frame));
        if !is_sent {
            uncancelled(|| self.inject_with_patience(capture, frame))?;
        }
        self.sent += 1;
        Ok(())
    }

    fn inject_with_patience(&mut self, capture: &capture::Config, frame: &[u8]) -> Result<()> {
        let sender = match self.single.take() {
            Some(sender) => sender,
            None => FrameSender::open(&capture.interface, capture.unseen_mark)?,
        };
        self.single.insert(sender).send(frame)
    }

    /// The sink for a way out of what a capture is on, for frames of so many bytes at most. The capture does not see what
    /// is sent, but by a program in the kernel, which no capture sees.
    fn by(
        &mut self,
        way: Way,
        capture: &capture::Config,
        longest: usize,
    ) -> Result<&mut (dyn Sink + Send)> {
        let place = match way {
            Way::Paced => &mut self.paced,
            Way::Fast => &mut self.fast,
        };
        if place.is_none() {
            *place = Some(open(way, capture, longest)?);
        }
        Ok(&mut **place.as_mut().expect("it was put there above"))
    }
}

/// Bytes of memory for packets that wait.
const WAITING: usize = 8 << 20;

fn open(way: Way, capture: &capture::Config, longest: usize) -> Result<Box<dyn Sink + Send>> {
    let config = Config {
        interface: capture.interface.clone(),
        backend: None,
        queue: 0,
        offloads: Offloads::default(),
        alike: None,
        slots: (WAITING / longest).clamp(64, 512),
        longest,
        mark: capture.unseen_mark,
    };
    let open = if way == Way::Fast { sink::open_fast } else { sink::open };
    Ok(open(&config)?.sink)
}

/// What became of packets between two readings.
fn since(now: SinkStats, before: SinkStats) -> (u64, u64) {
    (now.sent - before.sent, now.refused - before.refused)
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
