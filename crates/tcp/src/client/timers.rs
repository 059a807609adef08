//! Time-outs, and the end of what is dead.

use linerate_base::Timestamp;

use super::application::{Application, End};
use super::connection::Flags;
use super::{Client, tick};
use crate::Flow;
use crate::wheel::is_reached;

impl Client {
    /// Does what time asks for. It is `now`.
    pub fn advance<A: Application>(&mut self, now: Timestamp, app: &mut A) {
        self.tick = tick(now);
        app.at(now);
        while let Some(connection) = self.wheel.due(&mut self.slab, self.tick) {
            self.fire(connection, app);
        }
    }

    fn fire<A: Application>(&mut self, connection: u32, app: &mut A) {
        let deadline = self.slab.cold(connection).deadline;
        let hot = self.slab.hot(connection);
        let (flags, rto_at) = (hot.flags, hot.rto_at);
        let is_over = is_reached(self.tick, deadline);
        if is_over && flags.has(Flags::ENDED) && !flags.has(Flags::QUEUED) {
            return self.forget(connection);
        }
        if is_over && !flags.has(Flags::ENDED) {
            return self.end(connection, End::Expired, Flags::RESET.and(Flags::ABORTING), app);
        }
        if flags.has(Flags::ARMED) && is_reached(self.tick, rto_at) {
            self.time_out(connection, app);
        }
        self.schedule(connection);
    }

    /// RFC 6298 5.4 to 5.6; for a closed window RFC 9293 3.8.6.1.
    fn time_out<A: Application>(&mut self, connection: u32, app: &mut A) {
        let retries = self.config.retries;
        let hot = self.slab.hot(connection);
        // Who keeps its window closed is alive, and has until the deadline.
        if hot.timeouts >= retries && hot.snd_wnd > 0 {
            return self.end(connection, End::Silent, Flags::RESET.and(Flags::ABORTING), app);
        }
        hot.timeouts = (hot.timeouts + 1).min(15);
        if hot.in_flight() == 0 {
            hot.flags.set(Flags::PROBE);
        } else {
            hot.flags.set(Flags::AGAIN.and(Flags::RECOVERING));
            // RFC 6298 3, Karn: what is sent again is not measured. RFC 5681 3.1: one segment after a time-out.
            hot.flags.clear(Flags::TIMING);
            hot.flight = 1;
        }
        self.arm(connection);
        self.queue(connection);
    }

    /// Tells the application of the end, and keeps what is left for a while: late segments are to be recognised.
    pub(super) fn end<A: Application>(
        &mut self,
        connection: u32,
        end: End,
        flags: Flags,
        app: &mut A,
    ) {
        let linger = self.after(self.config.linger);
        let hot = self.slab.hot(connection);
        hot.flags.clear(Flags::ARMED);
        hot.flags.set(flags.and(Flags::ENDED));
        if flags.has(Flags::RESET) {
            hot.owed = 0;
        }
        let cold = self.slab.cold(connection);
        cold.deadline = linger;
        self.disorder.forget(&mut cold.disorder);
        self.schedule(connection);
        if flags.has(Flags::ABORTING) {
            self.queue(connection);
        }
        app.ended(connection, &self.flow(connection), end);
    }

    fn forget(&mut self, connection: u32) {
        let flow = self.flow(connection);
        self.table.remove(self.key.mac(&flow).hidden(), connection);
        self.slab.remove(connection);
    }

    /// The two ends of a connection.
    pub(super) fn flow(&mut self, connection: u32) -> Flow {
        let hot = self.slab.hot(connection);
        let address = self.config.locals[usize::from(hot.local)].address;
        hot.flow(address)
    }

    /// Sees to it that the wheel wakes a connection in time. A timer that moved back stays where it is, and is filed anew when
    /// it fires: so acknowledgements, which move it each time, cost nothing.
    pub(super) fn schedule(&mut self, connection: u32) {
        let deadline = self.slab.cold(connection).deadline;
        let hot = self.slab.hot(connection);
        let at = hot.next_tick(deadline);
        if hot.filed().is_none_or(|filed| !is_reached(at, filed)) {
            self.wheel.file(&mut self.slab, connection, at);
        }
    }
}
