//! What segments do: RFC 9293 3.10.7, as amended by RFC 5961 and RFC 7323.

use std::hint::black_box;

use etherparse::IpNumber;
use linerate_base::{Batch, Timestamp};

use super::application::{Application, End, Next};
use super::connection::Flags;
use super::{Client, tick};
use crate::Seq;
use crate::frame::Packet;
use crate::key::Mac;
use crate::quote::{Quote, Trouble};
use crate::segment::{Control, Segment, Unfit};
use crate::wheel::is_reached;

/// Segments that are looked up together, so that the waits for memory overlap.
const GROUP: usize = 16;

/// A segment for one of the local addresses.
pub(super) struct Arrival<'a> {
    pub(super) segment: Segment<'a>,
    pub(super) local: u16,
    pub(super) mac: Mac,
}

impl Client {
    /// Takes a batch of frames that came. It is `now`.
    pub fn receive<A: Application>(&mut self, batch: &Batch<'_>, now: Timestamp, app: &mut A) {
        self.tick = tick(now);
        app.at(now);
        let mut arrivals = Vec::with_capacity(GROUP);
        let mut frames = batch.iter();
        while frames.len() > 0 {
            for frame in frames.by_ref().take(GROUP) {
                arrivals.extend(self.look_at(frame.data, app));
            }
            for arrival in &arrivals {
                black_box(self.table.likely(arrival.mac.hidden()));
            }
            for arrival in &arrivals {
                let likely = self.table.likely(arrival.mac.hidden());
                black_box(likely.map(|connection| self.slab.touch(connection)));
            }
            for arrival in arrivals.drain(..) {
                self.take(&arrival, app);
            }
        }
    }

    fn look_at<'a, A: Application>(&mut self, frame: &'a [u8], app: &mut A) -> Option<Arrival<'a>> {
        let packet = Packet::parse(frame)?;
        match packet.protocol {
            IpNumber::TCP => self.arrival(&packet),
            IpNumber::ICMP | IpNumber::IPV6_ICMP => {
                if let Some(quote) = Quote::parse(&packet) {
                    self.heed(&quote, app);
                }
                None
            }
            _ => None,
        }
    }

    fn arrival<'a>(&mut self, packet: &Packet<'a>) -> Option<Arrival<'a>> {
        match Segment::parse(packet, self.config.partial_checksums) {
            Ok(segment) => {
                let local = self.locals.find(segment.flow.local)?;
                self.counters.segments += 1;
                Some(Arrival { segment, local, mac: self.key.mac(&segment.flow) })
            }
            Err(Unfit::Damaged | Unfit::Malformed) => {
                self.counters.damaged += 1;
                None
            }
        }
    }

    fn take<A: Application>(&mut self, arrival: &Arrival<'_>, app: &mut A) {
        let Arrival { segment, local, mac } = arrival;
        let slab = &self.slab;
        let found = self.table.find(mac.hidden(), |c| slab.is(c, &segment.flow, *local));
        let Some(connection) = found else { return self.stateless(arrival, app) };
        let flags = self.slab.hot(connection).flags;
        if flags.has(Flags::ENDED) {
            return self.late(connection, segment);
        }
        if self.is_acceptable(connection, segment, app) {
            self.acknowledge(connection, &segment.header);
            self.take_data(connection, segment, app);
            self.settle(connection, app);
        }
    }

    /// The checks of RFC 9293 3.10.7.4 up to the acknowledgement's; what they ask for is done.
    fn is_acceptable<A: Application>(
        &mut self,
        connection: u32,
        segment: &Segment<'_>,
        app: &mut A,
    ) -> bool {
        let is_reset = segment.has(Control::RST);
        let window = self.config.window;
        let hot = self.slab.hot(connection);
        if hot.flags.has(Flags::TIMESTAMPS) && !is_reset {
            match segment.header.options.timestamps {
                // RFC 7323 3.2: once agreed upon, every segment has them; others are dropped.
                None => return false,
                // PAWS, RFC 7323 5.3 R1: an old duplicate.
                Some(stamps) if !is_reached(stamps.value, hot.ts_recent) => {
                    self.owe(connection, 1);
                    return false;
                }
                Some(_) => {}
            }
        }
        // RFC 9293 3.4, but for segments that begin before the window and end behind it: they hold all of it.
        let (first, length) = (segment.header.seq, segment.length());
        let is_old_or_ahead = match length {
            0 => first.since(hot.rcv_nxt) >= window,
            _ => !first.is_before(hot.rcv_nxt + window) || (first + length).is_by(hot.rcv_nxt),
        };
        if is_old_or_ahead {
            if !is_reset {
                self.came_again(connection, segment);
                self.owe(connection, 1);
            }
            return false;
        }
        if is_reset {
            // RFC 5961 3.2: exactly the next number, or it may be forged.
            match first == hot.rcv_nxt {
                true => self.end(connection, End::Reset, Flags::RESET, app),
                false => self.challenge(connection),
            }
            return false;
        }
        if segment.has(Control::SYN) {
            // RFC 5961 4.2.
            self.challenge(connection);
            return false;
        }
        self.is_acknowledgement_acceptable(connection, segment)
    }

    /// RFC 5961 5.2: not of what was never sent, and not of what was before any window.
    fn is_acknowledgement_acceptable(&mut self, connection: u32, segment: &Segment<'_>) -> bool {
        if !segment.has(Control::ACK) {
            return false;
        }
        let hot = self.slab.hot(connection);
        let (ack, most) = (segment.header.ack, u32::from(u16::MAX) << hot.shift);
        let is_acceptable = ack.is_by(hot.snd_nxt) && hot.snd_una.is_by(ack + most);
        if !is_acceptable {
            self.challenge(connection);
            return false;
        }
        // RFC 7323 4.3. (Last.ACK.sent is RCV.NXT here but for what came in the same batch.)
        if let Some(stamps) = segment.header.options.timestamps
            && hot.flags.has(Flags::TIMESTAMPS)
            && segment.header.seq.is_by(hot.rcv_nxt)
        {
            hot.ts_recent = stamps.value;
        }
        true
    }

    fn take_data<A: Application>(&mut self, connection: u32, segment: &Segment<'_>, app: &mut A) {
        let window = self.config.window;
        let hot = self.slab.hot(connection);
        if segment.length() == 0 || hot.flags.has(Flags::PEER_FIN) {
            return;
        }
        let (seq, expected) = (segment.header.seq, hot.rcv_nxt);
        let before = if seq.is_before(expected) { expected.since(seq) as usize } else { 0 };
        let Some(data) = segment.payload.get(before..) else { return };
        let start = seq + before as u32;
        // What is beyond the window is cut off, and FIN with it.
        let room = (window - start.since(expected)) as usize;
        let (data, is_whole) = (&data[..data.len().min(room)], data.len() <= room);
        if before > 0 {
            self.came_again(connection, segment);
        }
        if start != expected {
            self.keep(connection, start, data);
            return self.owe(connection, 1);
        }
        self.owe(connection, 0);
        if !data.is_empty() {
            self.deliver(connection, data, app);
            self.deliver_early(connection, app);
        }
        let end = start + data.len() as u32;
        let hot = self.slab.hot(connection);
        let is_last = segment.has(Control::FIN) && is_whole && hot.rcv_nxt == end;
        if is_last && !hot.flags.has(Flags::ENDED) {
            hot.rcv_nxt = hot.rcv_nxt + 1;
            hot.flags.set(Flags::PEER_FIN);
            let next = app.finished(connection);
            self.follow(connection, next, app);
        }
    }

    fn deliver<A: Application>(&mut self, connection: u32, data: &[u8], app: &mut A) {
        let hot = self.slab.hot(connection);
        hot.rcv_nxt = hot.rcv_nxt + data.len() as u32;
        let next = app.received(connection, data);
        self.follow(connection, next, app);
    }

    /// Delivers what came early and is not any more.
    fn deliver_early<A: Application>(&mut self, connection: u32, app: &mut A) {
        loop {
            let hot = self.slab.hot(connection);
            if hot.flags.has(Flags::ENDED) {
                return;
            }
            let expected = hot.rcv_nxt;
            let record = &mut self.slab.cold(connection).disorder;
            let Some(data) = self.disorder.next(record, expected) else { return };
            let length = data.len() as u32;
            let next = app.received(connection, data);
            self.slab.hot(connection).rcv_nxt = expected + length;
            self.follow(connection, next, app);
        }
    }

    fn keep(&mut self, connection: u32, start: Seq, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        self.counters.early += 1;
        let record = &mut self.slab.cold(connection).disorder;
        let fits = self.disorder.keep(record, start, data);
        self.counters.discarded += u64::from(!fits);
    }

    /// Notes data that came before, to tell the sender (RFC 2883 4).
    fn came_again(&mut self, connection: u32, segment: &Segment<'_>) {
        let hot = self.slab.hot(connection);
        let (from, end) = (segment.header.seq, segment.header.seq + segment.payload.len() as u32);
        let to = end.earlier(hot.rcv_nxt);
        if !from.is_before(to) {
            return;
        }
        self.counters.duplicates += 1;
        if self.slab.hot(connection).flags.has(Flags::SACK) {
            self.disorder.came_again(&mut self.slab.cold(connection).disorder, from, to);
        }
    }

    /// The peer is to get an acknowledgement; `more` of them where it counts them (RFC 5681 3.2: out of order).
    pub(super) fn owe(&mut self, connection: u32, more: u8) {
        let hot = self.slab.hot(connection);
        hot.owed = (hot.owed + more).clamp(1, MOST_OWED);
        self.queue(connection);
    }

    /// A challenge ACK (RFC 5961 7).
    fn challenge(&mut self, connection: u32) {
        if self.limiter.take(self.tick) {
            self.owe(connection, 0);
        } else {
            self.counters.unanswered += 1;
        }
    }

    /// Does what the application wants.
    pub(super) fn follow<A: Application>(&mut self, connection: u32, next: Next, app: &mut A) {
        let hot = self.slab.hot(connection);
        match next {
            Next::Wait => return,
            Next::Send(_) if hot.flags.has(Flags::CLOSING) => return,
            Next::Send(more) => {
                let cold = self.slab.cold(connection);
                cold.data_end = cold.data_end + more;
            }
            Next::Close => hot.flags.set(Flags::CLOSING),
            Next::Abort => {
                return self.end(connection, End::Aborted, Flags::RESET.and(Flags::ABORTING), app);
            }
        }
        self.queue(connection);
    }

    /// Ends it if both sides have finished; else sees to its timer.
    fn settle<A: Application>(&mut self, connection: u32, app: &mut A) {
        let flags = self.slab.hot(connection).flags;
        if flags.has(Flags::FIN_ACKED.and(Flags::PEER_FIN)) && !flags.has(Flags::ENDED) {
            self.end(connection, End::Closed, Flags::default(), app);
        }
    }

    /// An ICMP error. It counts only if it quotes a number that is under way, which who forges it has to guess (RFC 5927 4.1).
    fn heed<A: Application>(&mut self, quote: &Quote, app: &mut A) {
        let Some(local) = self.locals.find(quote.flow.local) else { return };
        let mac = self.key.mac(&quote.flow);
        let slab = &self.slab;
        let Some(connection) = self.table.find(mac.hidden(), |c| slab.is(c, &quote.flow, local))
        else {
            return self.heed_about_syn(quote, mac, app);
        };
        let hot = self.slab.hot(connection);
        let is_under_way = quote.seq.since(hot.snd_una) < hot.in_flight();
        // An open connection does not end by them (RFC 5927 5.2): its time-outs tell soon enough.
        if let Trouble::TooBig(mtu) = quote.trouble
            && is_under_way
            && !hot.flags.has(Flags::ENDED)
        {
            self.shorten(connection, mtu);
        }
    }
}

/// Acknowledgements owed at once: a third one that says nothing new makes a peer send again (RFC 5681 3.2).
const MOST_OWED: u8 = 3;
