//! What acknowledgements do: the window, the round-trip time, what is to be sent again.

use std::time::Duration;

use super::Client;
use super::config::headers;
use super::connection::{Flags, INITIAL_WINDOW};
use super::stateless::{LEAST_MSS, LONGEST_TRIP, TIMESTAMPS};
use crate::segment::Header;

/// RFC 6298 2.1: before anything was measured.
const FIRST_TIMEOUT: u32 = 1_000;
/// RFC 6298 2.5.
const LONGEST_TIMEOUT: u32 = 60_000;

impl Client {
    /// Takes an acknowledgement that is acceptable.
    pub(super) fn acknowledge(&mut self, connection: u32, header: &Header) {
        let hot = self.slab.hot(connection);
        let is_new = hot.snd_una.is_before(header.ack);
        // Old segments say nothing of the window (RFC 9293 3.10.7.4 compares SND.WL1 and SND.WL2; that data before RCV.NXT
        // are old comes to the same where every acknowledgement is taken).
        if is_new || header.ack == hot.snd_una && hot.rcv_nxt.is_by(header.seq) {
            let opens = hot.snd_wnd == 0 && header.window > 0;
            hot.snd_wnd = u32::from(header.window) << hot.shift;
            if opens && hot.in_flight() > 0 {
                // What the closed window was tried with was not taken.
                hot.flags.set(Flags::AGAIN);
                self.queue(connection);
            }
        }
        if is_new {
            self.advance_una(connection, header);
        }
        self.queue_if_more(connection);
    }

    fn advance_una(&mut self, connection: u32, header: &Header) {
        let tick = self.tick;
        let hot = self.slab.hot(connection);
        hot.snd_una = header.ack;
        hot.timeouts = 0;
        hot.flight = (hot.flight + 1).min(INITIAL_WINDOW);
        let is_all = hot.in_flight() == 0;
        if is_all && hot.flags.has(Flags::FIN_SENT) {
            hot.flags.set(Flags::FIN_ACKED);
        }
        let was_timed = is_all && hot.flags.take(Flags::TIMING);
        // RFC 7323 4.1: with timestamps every acknowledgement of something new is a measurement; else RFC 6298 3.
        let echo = header.options.timestamps.filter(|_| hot.flags.has(Flags::TIMESTAMPS));
        let by_echo = echo.map(|stamps| tick.wrapping_sub(stamps.echo));
        let trip = by_echo.or_else(|| {
            let timed = was_timed.then(|| self.slab.cold(connection).timed)?;
            Some((tick as u16).wrapping_sub(timed).into())
        });
        if let Some(trip) = trip.filter(|trip| *trip < LONGEST_TRIP) {
            self.measured(connection, trip);
        }
        let hot = self.slab.hot(connection);
        if is_all {
            hot.flags.clear(Flags::ARMED.and(Flags::RECOVERING).and(Flags::AGAIN));
            return;
        }
        if hot.flags.has(Flags::RECOVERING) {
            // What was under way at the time-out and is still not there goes again, one by one.
            hot.flags.set(Flags::AGAIN);
            self.queue(connection);
        }
        // RFC 6298 5.3.
        self.arm(connection);
    }

    /// A round trip took so many milliseconds: RFC 6298 2.2 and 2.3.
    pub(super) fn measured(&mut self, connection: u32, trip: u32) {
        let trip = trip.min(8_000) as i32;
        let cold = self.slab.cold(connection);
        if cold.srtt == 0 {
            (cold.srtt, cold.rttvar) = ((8 * trip).max(1) as u16, (2 * trip) as u16);
            return;
        }
        let (srtt, rttvar) = (i32::from(cold.srtt), i32::from(cold.rttvar));
        let error = trip - srtt / 8;
        cold.rttvar = (rttvar + error.abs() - rttvar / 4) as u16;
        cold.srtt = (srtt + error).max(1) as u16;
    }

    /// The time-out now, in milliseconds: RFC 6298 2.3, and 5.5 for those in a row.
    fn timeout(&mut self, connection: u32) -> u32 {
        let least = milliseconds(self.config.least_timeout);
        let timeouts = self.slab.hot(connection).timeouts;
        let cold = self.slab.cold(connection);
        let once = match cold.srtt {
            0 => FIRST_TIMEOUT,
            srtt => u32::from(srtt / 8) + u32::from(cold.rttvar).max(1),
        };
        (once.max(least) << timeouts.min(10)).min(LONGEST_TIMEOUT)
    }

    /// Starts the retransmission timer anew.
    pub(super) fn arm(&mut self, connection: u32) {
        let at = self.tick.wrapping_add(self.timeout(connection));
        let hot = self.slab.hot(connection);
        hot.rto_at = at;
        hot.flags.set(Flags::ARMED);
        self.schedule(connection);
    }

    /// Packets may be no longer than `mtu`: RFC 1191 6.3, RFC 8201 4.
    pub(super) fn shorten(&mut self, connection: u32, mtu: u32) {
        let flow = self.flow(connection);
        let has_stamps = self.slab.hot(connection).flags.has(Flags::TIMESTAMPS);
        let overhead = headers(flow.remote.ip()) + if has_stamps { TIMESTAMPS } else { 0 };
        let least = LEAST_MSS - TIMESTAMPS;
        let most = mtu.saturating_sub(overhead.into()).max(least.into());
        let cold = self.slab.cold(connection);
        if most < cold.mss.into() {
            cold.mss = most as u16;
            self.slab.hot(connection).flags.set(Flags::AGAIN);
            self.queue(connection);
        }
    }

    /// A tick so long from now.
    pub(super) fn after(&self, span: Duration) -> u32 {
        self.tick.wrapping_add(milliseconds(span))
    }
}

fn milliseconds(span: Duration) -> u32 {
    u32::try_from(span.as_millis()).unwrap_or(u32::MAX)
}
