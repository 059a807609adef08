//! Segments of no connection: answers to SYNs, by which connections begin, and what is none of ours.

use std::time::Duration;

use super::Client;
use super::application::{Application, Refusal};
use super::config::headers;
use super::connection::{Cold, Flags, Hot};
use super::input::Arrival;
use super::output::Reply;
use crate::Seq;
use crate::key::Mac;
use crate::quote::Quote;
use crate::segment::{Control, Header, Segment};

/// Bytes of data that may be sent to who does not say (RFC 9293 3.7.1).
const DEFAULT_MSS: [u16; 2] = [536, 1220];
/// No round trip takes longer than this; timestamps that say so are no echo of ours.
pub(super) const LONGEST_TRIP: u32 = 120_000;
/// Bytes that timestamps take of each segment.
pub(super) const TIMESTAMPS: u16 = 12;

impl Client {
    /// A segment for which there is no connection: as in state SYN-SENT (RFC 9293 3.10.7.3) where it answers a SYN that we
    /// sent or would send, else as in state CLOSED (3.10.7.1).
    pub(super) fn stateless<A: Application>(&mut self, arrival: &Arrival<'_>, app: &mut A) {
        let Arrival { segment, local, mac } = arrival;
        let answers_syn = segment.has(Control::ACK) && segment.header.ack == mac.isn() + 1;
        match (segment.has(Control::RST), segment.has(Control::SYN)) {
            (true, _) if answers_syn => app.refused(&segment.flow, Refusal::Reset),
            (true, _) => {}
            (false, true) if answers_syn && self.slab.len() < self.config.connections => {
                self.open(arrival, app);
            }
            (false, true) if answers_syn => {
                app.refused(&segment.flow, Refusal::Full);
                self.reject(segment, *local);
            }
            (false, true) if !segment.has(Control::ACK) && app.awaits(&segment.flow) => {}
            _ => self.reject(segment, *local),
        }
    }

    fn open<A: Application>(&mut self, arrival: &Arrival<'_>, app: &mut A) {
        let Arrival { segment, local, mac } = arrival;
        let connection = self.add(segment, *local, *mac);
        self.counters.opened += 1;
        let echo =
            segment.header.options.timestamps.map(|stamps| self.tick.wrapping_sub(stamps.echo));
        let trip = echo.filter(|trip| *trip < LONGEST_TRIP);
        if let Some(trip) = trip {
            self.measured(connection, trip);
        }
        self.schedule(connection);
        self.owe(connection, 0);
        let trip = trip.map(|trip| Duration::from_millis(trip.into()));
        let next = app.opened(connection, &segment.flow, trip);
        self.follow(connection, next, app);
    }

    fn add(&mut self, segment: &Segment<'_>, local: u16, mac: Mac) -> u32 {
        let (flow, header) = (&segment.flow, &segment.header);
        let options = &header.options;
        let mut hot = Hot::new(flow, local, header.ack, header.seq + 1);
        // RFC 7323 2.2: the window of a SYN is never scaled.
        hot.snd_wnd = header.window.into();
        if let Some(scale) = options.window_scale {
            hot.flags.set(Flags::SCALED);
            hot.shift = scale;
        }
        if options.sack_permitted {
            hot.flags.set(Flags::SACK);
        }
        let default = DEFAULT_MSS[usize::from(flow.remote.is_ipv6())];
        let most = self.config.mtu - headers(flow.remote.ip());
        let mut mss = options.mss.unwrap_or(default).min(most).max(LEAST_MSS);
        if let Some(stamps) = options.timestamps {
            hot.flags.set(Flags::TIMESTAMPS);
            hot.ts_recent = stamps.value;
            // RFC 6691 2: options come out of the room that MSS tells.
            mss -= TIMESTAMPS;
        }
        let deadline = self.after(self.config.lifetime);
        let connection = self.slab.add(hot, Cold::new(header.ack, deadline, mss));
        self.table.insert(mac.hidden(), connection);
        connection
    }

    /// Answers with RST: RFC 9293 3.10.7.1.
    pub(super) fn reject(&mut self, segment: &Segment<'_>, local: u16) {
        let header = match segment.has(Control::ACK) {
            true => Header { seq: segment.header.ack, control: Control::RST, ..Header::default() },
            false => Header {
                ack: segment.header.seq + segment.length(),
                control: Control::RST.and(Control::ACK),
                ..Header::default()
            },
        };
        self.reply(Reply { local, flow: segment.flow, header });
    }

    /// A segment of a connection that has ended. After RST it gets another one, with the number that its sender expects;
    /// in state TIME-WAIT an acknowledgement, if it is not one itself (RFC 9293 3.10.7.4).
    pub(super) fn late(&mut self, connection: u32, segment: &Segment<'_>) {
        let hot = self.slab.hot(connection);
        if segment.has(Control::RST) || hot.flags.has(Flags::ABORTING) {
            return;
        }
        if hot.flags.has(Flags::RESET) {
            let local = hot.local;
            return self.reject(segment, local);
        }
        if segment.length() > 0 && self.limiter.take(self.tick) {
            self.owe(connection, 0);
        }
    }

    fn reply(&mut self, reply: Reply) {
        match self.limiter.take(self.tick) {
            true => self.replies.push_back(reply),
            false => self.counters.unanswered += 1,
        }
    }

    /// An ICMP error about a SYN: one that we sent, if it quotes its number.
    pub(super) fn heed_about_syn<A: Application>(&mut self, quote: &Quote, mac: Mac, app: &mut A) {
        if quote.seq == mac.isn() {
            app.refused(&quote.flow, Refusal::Icmp(quote.trouble));
        }
    }

    /// The number of the byte at the beginning of what a connection sends.
    pub(super) fn first(&self, flow: &crate::Flow) -> Seq {
        self.key.mac(flow).isn() + 1
    }
}

/// Whatever a peer or a router says, segments are no shorter: else it could make us send thousands for one (RFC 1191 3
/// has the MTU of 68, RFC 5927 7.2 warns of it).
pub(super) const LEAST_MSS: u16 = 88;
