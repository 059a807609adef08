//! Many connections at once, each opened by us.
//!
//! One turn of whoever drives it: [`Client::receive`] for a batch that came, [`Client::advance`] for timers,
//! [`Client::transmit`] for what is to be sent, by [`NextHops`]. All acknowledgements that a batch asks for leave after it together, one for
//! each connection.
//!
//! - `config`: what it is made with
//! - `application`: with whom it talks
//! - `connection`: what is kept of a connection
//! - `input`: what a segment does (RFC 9293 3.10.7)
//! - `stateless`: segments of no connection: answers to SYNs, and what is none of ours
//! - `acknowledge`: what the peer's acknowledgement does
//! - `output`: what is sent
//! - `timers`: time-outs and the end of what is dead
//!
//! What it leaves out: it does not listen, so that a SYN without ACK is refused as in state CLOSED. One who opens towards us
//! while we open towards him (RFC 9293 3.5, simultaneous open) answers our SYN as any server does; all that is to be done about
//! his own is not to refuse it, and whether there is a SYN of ours the application knows ([`Application::awaits`]).
//! It has no more under way than the initial window of RFC 6928, which is less
//! than congestion control would allow, and sends again by time-out only: requests are short.

mod acknowledge;
mod application;
mod config;
mod connection;
mod input;
mod limiter;
mod output;
mod stateless;
mod timers;

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use linerate_base::{Error, ErrorKind, Result, Timestamp};

use self::config::Locals;
use self::connection::{Flags, Slab};
use self::limiter::Limiter;
use self::output::Reply;
use crate::disorder::Disorder;
use crate::segment::{Control, Header, Options, Timestamps};
use crate::table::Table;
use crate::wheel::Wheel;
use crate::{Flow, Key, Seq};

pub use self::application::{Application, End, Next, Refusal};
pub use self::config::{Config, Local};

/// The client.
#[derive(Debug)]
pub struct Client {
    config: Config,
    locals: Locals,
    key: Key,
    table: Table,
    slab: Slab,
    wheel: Wheel,
    disorder: Disorder,
    /// Connections with something to send.
    ready: VecDeque<u32>,
    /// Answers to segments of no connection.
    replies: VecDeque<Reply>,
    limiter: Limiter,
    /// Milliseconds, which wrap: the clock of timers and of timestamps.
    tick: u32,
    counters: Counters,
}

/// Says to which hardware address packets to this destination are given first. Where it does not know any, they are not sent, as
/// if they were lost on their way.
pub type NextHops<'a> = dyn Fn(IpAddr) -> Option<[u8; 6]> + 'a;

/// What happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments that came for one of the local addresses and ports.
    pub segments: u64,
    /// Those with a wrong checksum, or that make no sense.
    pub damaged: u64,
    /// Connections that were opened.
    pub opened: u64,
    /// Frames that were filled, SYNs not counted.
    pub sent: u64,
    /// Of those, segments sent again.
    pub again: u64,
    /// Segments whose data had come before, wholly or in part.
    pub duplicates: u64,
    /// Segments that came before what stands in front of them.
    pub early: u64,
    /// Of those, segments that found no room, at least for a part.
    pub discarded: u64,
    /// Segments that were not answered because too many were.
    pub unanswered: u64,
}

/// The clock of timers: milliseconds, which wrap after 49 days.
fn tick(now: Timestamp) -> u32 {
    now.nanos().div_euclid(1_000_000) as u32
}

impl Client {
    /// A client without connections. Its memory, some 94 bytes for each, is set aside, and taken up as they are opened.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the configuration makes no sense; [`ErrorKind::Exhausted`] when there is no memory for as
    /// many connections.
    pub fn new(config: Config, now: Timestamp) -> Result<Self> {
        if let Some(reason) = config.nonsense() {
            return Err(Error::new(ErrorKind::Invalid, "open TCP connections", reason));
        }
        let tick = tick(now);
        let slab = Slab::new(config.connections).map_err(|error| {
            let what = format!("set memory aside for {} connections", config.connections);
            Error::new(ErrorKind::Exhausted, what, error.to_string())
                .advise("ask for fewer at once")
        })?;
        Ok(Self {
            locals: Locals::new(&config.locals),
            key: Key::new(config.key),
            table: Table::new(config.connections),
            slab,
            wheel: Wheel::new(tick),
            disorder: Disorder::new(config.disorder),
            ready: VecDeque::new(),
            replies: VecDeque::new(),
            limiter: Limiter::new(config.answers, tick),
            tick,
            counters: Counters::default(),
            config,
        })
    }

    /// Writes a SYN to `slot`, from the port of the local address with this index, by this next hop, and returns the frame's
    /// length. Nothing is kept of it: the connection begins when a valid answer comes, however late. To try again, write it again.
    ///
    /// # Panics
    /// When there is no such local address, it is of another family, or `slot` is shorter than
    /// [`longest`](Self::longest).
    pub fn syn(
        &self,
        slot: &mut [u8],
        local: usize,
        port: u16,
        remote: SocketAddr,
        next_hop: [u8; 6],
        now: Timestamp,
    ) -> usize {
        let from = &self.config.locals[local];
        let flow = Flow { local: SocketAddr::new(from.address, port), remote };
        assert_eq!(from.address.is_ipv4(), remote.is_ipv4(), "from {} to {remote}", from.address);
        self.syn_header(self.key.mac(&flow).isn(), &flow, tick(now)).write(
            slot,
            &from.path(remote.ip(), next_hop),
            (port, remote.port()),
            |_| 0,
        )
    }

    /// A SYN with the options of a common OS, in its order: MSS, SACK permitted, timestamps, window scale.
    fn syn_header(&self, isn: Seq, flow: &Flow, tick: u32) -> Header {
        Header {
            seq: isn,
            control: Control::SYN,
            // RFC 7323 2.2: the window of a SYN is never scaled.
            window: self.config.window.min(u16::MAX.into()) as u16,
            options: Options {
                mss: Some(self.config.receive_mss(flow.remote.ip())),
                window_scale: Some(self.config.window_scale()),
                sack_permitted: true,
                timestamps: Some(Timestamps { value: tick, echo: 0 }),
                ..Options::default()
            },
            ..Header::default()
        }
    }

    /// Ends a connection at once, by RST. The application hears of it as of any other end; one that has ended already stays
    /// as it is.
    ///
    /// # Panics
    /// When there never was one of this number.
    pub fn abort<A: Application>(&mut self, connection: u32, app: &mut A) {
        if !self.slab.hot(connection).flags.has(Flags::ENDED) {
            self.follow(connection, Next::Abort, app);
        }
    }

    /// Connections that are kept: those that were opened and, for a while, what is left of those that ended.
    pub fn connections(&self) -> usize {
        self.slab.len()
    }

    /// True when nothing is kept of anything: no connection, no timer, no data, nothing to be sent.
    pub fn is_idle(&self) -> bool {
        self.connections() == 0
            && self.wheel.waiting() == 0
            && self.disorder.used() == 0
            && self.ready.is_empty()
            && self.replies.is_empty()
    }

    /// Bytes of the longest frame that it sends.
    pub fn longest(&self) -> usize {
        crate::frame::ETHERNET + usize::from(self.config.mtu)
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}
