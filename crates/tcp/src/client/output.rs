//! What is sent: segments of connections that have something to send, and answers to those of none.

use linerate_base::{Result, Sink, Slots};

use super::application::Application;
use super::connection::Flags;
use super::{Client, NextHops};
use crate::disorder;
use crate::segment::{Control, Header, MOST_BLOCKS, Options, Timestamps};
use crate::{Flow, Seq};

/// Frames that are handed over together.
const BATCH: usize = 256;

/// An answer to a segment of no connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reply {
    /// The number of the local address.
    pub(super) local: u16,
    pub(super) flow: Flow,
    pub(super) header: Header,
}

/// Where frames are written to, and by whom they go.
type Out<'a, 'b> = (&'a mut Slots<'b>, &'a NextHops<'a>);

/// What a connection sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    Reset,
    Data(Seq, u32),
    Fin(Seq),
    Acknowledgement,
}

impl Client {
    /// Sends what is to be sent by these next hops, and returns how many frames; what the sink has no room for waits for the next time.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn transmit<A: Application>(
        &mut self,
        sink: &mut (impl Sink + ?Sized),
        hops: &NextHops<'_>,
        app: &mut A,
    ) -> Result<usize> {
        let mut sent = 0;
        while !self.ready.is_empty() || !self.replies.is_empty() {
            let mut slots = sink.acquire(BATCH)?;
            let room = slots.room();
            if room == 0 {
                break;
            }
            self.fill(&mut slots, hops, app);
            let filled = room - slots.room();
            if filled > 0 {
                sink.submit()?;
            }
            sent += filled;
        }
        Ok(sent)
    }

    /// Fills slots with what is to be sent, until there is nothing more or no room.
    pub fn fill<A: Application>(
        &mut self,
        slots: &mut Slots<'_>,
        hops: &NextHops<'_>,
        app: &mut A,
    ) {
        let before = slots.room();
        while slots.room() > 0
            && let Some(reply) = self.replies.pop_front()
        {
            self.write((slots, hops), reply.local, &reply.flow, &reply.header, |_| 0);
        }
        while slots.room() > 0
            && let Some(connection) = self.ready.front().copied()
        {
            match self.output(connection) {
                Some(output) => self.send(connection, output, (slots, hops), app),
                None => self.rest(connection),
            }
        }
        self.counters.sent += (before - slots.room()) as u64;
    }

    /// Puts a connection among those that have something to send.
    pub(super) fn queue(&mut self, connection: u32) {
        let hot = self.slab.hot(connection);
        if !hot.flags.has(Flags::QUEUED) {
            hot.flags.set(Flags::QUEUED);
            self.ready.push_back(connection);
        }
    }

    /// The same, if there are data to send or FIN.
    pub(super) fn queue_if_more(&mut self, connection: u32) {
        let end = self.slab.cold(connection).data_end;
        let hot = self.slab.hot(connection);
        let closes = hot.flags.has(Flags::CLOSING) && !hot.flags.has(Flags::FIN_SENT);
        if hot.snd_nxt.is_before(end) || closes {
            self.queue(connection);
        }
    }

    /// A connection has nothing more to send at the moment.
    fn rest(&mut self, connection: u32) {
        self.ready.pop_front();
        let end = self.slab.cold(connection).data_end;
        let hot = self.slab.hot(connection);
        hot.flags.clear(Flags::QUEUED);
        let waits = hot.in_flight() == 0 && hot.snd_nxt.is_before(end);
        if waits && !hot.flags.has(Flags::ARMED) && !hot.flags.has(Flags::ENDED) {
            // RFC 9293 3.8.6.1: the window is closed, and is to be tried in time.
            self.arm(connection);
        }
    }

    /// What a connection is to send next.
    fn output(&mut self, connection: u32) -> Option<Output> {
        let cold = *self.slab.cold(connection);
        let hot = self.slab.hot(connection);
        let flags = hot.flags;
        if flags.has(Flags::ABORTING) {
            return Some(Output::Reset);
        }
        let owed = (hot.owed > 0).then_some(Output::Acknowledgement);
        if flags.has(Flags::ENDED) {
            return owed;
        }
        let (mss, left) = (u32::from(cold.mss), cold.data_end.since(hot.snd_una));
        if flags.has(Flags::AGAIN) {
            let sent = left.min(hot.in_flight());
            return Some(match sent.min(mss).min(hot.snd_wnd.max(1)) {
                0 => Output::Fin(hot.snd_una),
                length => Output::Data(hot.snd_una, length),
            });
        }
        if flags.has(Flags::FIN_SENT) || flags.has(Flags::RECOVERING) {
            return owed;
        }
        let new = cold.data_end.since(hot.snd_nxt);
        if new == 0 {
            let fin = flags.has(Flags::CLOSING).then_some(Output::Fin(hot.snd_nxt));
            return fin.or(owed);
        }
        if flags.has(Flags::PROBE) {
            return Some(Output::Data(hot.snd_nxt, 1));
        }
        let most = hot.snd_wnd.min(u32::from(hot.flight) * mss);
        let length = new.min(mss).min(most.saturating_sub(hot.in_flight()));
        // RFC 9293 3.8.6.2.1: no small segments because of a small window, while others are under way.
        let is_full = length == new.min(mss) || hot.in_flight() == 0;
        if length > 0 && is_full { Some(Output::Data(hot.snd_nxt, length)) } else { owed }
    }

    fn send<A: Application>(
        &mut self,
        connection: u32,
        output: Output,
        out: Out<'_, '_>,
        app: &mut A,
    ) {
        let (flow, local) = (self.flow(connection), self.slab.hot(connection).local);
        match output {
            Output::Reset => {
                let hot = self.slab.hot(connection);
                hot.flags.clear(Flags::ABORTING);
                // RFC 9293 3.10.5; RFC 5961 3.2 wants the very number.
                let (seq, ack, control) =
                    (hot.snd_nxt, hot.rcv_nxt, Control::RST.and(Control::ACK));
                let header = Header { seq, ack, control, ..Header::default() };
                self.write(out, local, &flow, &header, |_| 0);
            }
            Output::Acknowledgement => {
                let seq = self.slab.hot(connection).snd_nxt;
                let mut header = self.header(connection, seq, Control::ACK);
                self.tell(connection, &mut header.options);
                self.slab.hot(connection).owed -= 1;
                self.write(out, local, &flow, &header, |_| 0);
            }
            Output::Fin(seq) => {
                let header = self.header(connection, seq, Control::FIN.and(Control::ACK));
                self.slab.hot(connection).flags.set(Flags::FIN_SENT);
                self.went(connection, seq, 1);
                self.write(out, local, &flow, &header, |_| 0);
            }
            Output::Data(seq, length) => {
                let is_last = seq + length == self.slab.cold(connection).data_end;
                let push = if is_last { Control::PSH } else { Control::default() };
                let header = self.header(connection, seq, Control::ACK.and(push));
                let offset = seq.since(self.first(&flow));
                self.went(connection, seq, length);
                self.write(out, local, &flow, &header, |payload| {
                    app.write(connection, &flow, offset, &mut payload[..length as usize]);
                    length as usize
                });
            }
        }
    }

    fn header(&mut self, connection: u32, seq: Seq, control: Control) -> Header {
        let (tick, window, scale) = (self.tick, self.config.window, self.config.window_scale());
        let hot = self.slab.hot(connection);
        let has = |flag| hot.flags.has(flag);
        let window = if has(Flags::SCALED) { window >> scale } else { window.min(u16::MAX.into()) };
        let stamps = Timestamps { value: tick, echo: hot.ts_recent };
        let timestamps = has(Flags::TIMESTAMPS).then_some(stamps);
        let options = Options { timestamps, ..Options::default() };
        Header { seq, ack: hot.rcv_nxt, control, window: window as u16, options }
    }

    /// Tells the peer what came out of order: RFC 2018 4.
    fn tell(&mut self, connection: u32, options: &mut Options) {
        if !self.slab.hot(connection).flags.has(Flags::SACK) {
            return;
        }
        let record = &mut self.slab.cold(connection).disorder;
        options.block_count = self.disorder.tell(record, MOST_BLOCKS, &mut options.blocks);
    }

    /// So many numbers from `seq` on were sent.
    fn went(&mut self, connection: u32, seq: Seq, length: u32) {
        let tick = self.tick;
        let says_more = self.slab.cold(connection).disorder != disorder::NONE;
        let hot = self.slab.hot(connection);
        hot.flags.clear(Flags::AGAIN.and(Flags::PROBE));
        if !says_more {
            // The segment acknowledges as well as one without data; only ranges it has no room for.
            hot.owed = 0;
        }
        if seq != hot.snd_nxt {
            self.counters.again += 1;
        } else {
            let times = hot.in_flight() == 0;
            hot.snd_nxt = seq + length;
            if times {
                hot.flags.set(Flags::TIMING);
                self.slab.cold(connection).timed = tick as u16;
            }
        }
        // RFC 6298 5.1.
        if !self.slab.hot(connection).flags.has(Flags::ARMED) {
            self.arm(connection);
        }
    }

    fn write(
        &self,
        (slots, hops): Out<'_, '_>,
        local: u16,
        flow: &Flow,
        header: &Header,
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) {
        let Some(next_hop) = hops(flow.remote.ip()) else { return };
        let path = self.config.locals[usize::from(local)].path(flow.remote.ip(), next_hop);
        let ports = (flow.local.port(), flow.remote.port());
        slots.push(|slot| header.write(slot, &path, ports, fill));
    }
}
