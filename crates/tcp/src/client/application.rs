//! With whom a client talks.

use std::time::Duration;

use linerate_base::Timestamp;

use crate::Flow;
use crate::quote::Trouble;

/// Who uses connections. A connection is known by its number, which is below the most that there may be at once and is
/// given again only after the connection was told to have ended.
pub trait Application {
    /// It is `now`, and stays so for all that is told until this is called again.
    fn at(&mut self, _now: Timestamp) {}

    /// A connection is open. `rtt` is the time from its SYN to the answer, where the peer sends timestamps: in whole
    /// milliseconds.
    fn opened(&mut self, connection: u32, flow: &Flow, rtt: Option<Duration>) -> Next;

    /// Writes what the connection sends to `into`, all of it, from the byte at `offset` of what [`Next::Send`] announced. The
    /// same bytes may be asked for again: nothing of them is kept here.
    fn write(&mut self, connection: u32, flow: &Flow, offset: u32, into: &mut [u8]);

    /// The next bytes that came, in order and without gaps, where they lie.
    fn received(&mut self, connection: u32, data: &[u8]) -> Next;

    /// The peer sends no more.
    fn finished(&mut self, _connection: u32) -> Next {
        Next::Close
    }

    /// The connection is no more; nothing else will be told of it.
    fn ended(&mut self, connection: u32, flow: &Flow, end: End);

    /// True where a SYN may have been sent on this flow: one that comes on it is then not refused, and the peer's answer to ours
    /// opens the connection (RFC 9293 3.5).
    fn awaits(&self, _flow: &Flow) -> bool {
        false
    }

    /// A SYN was refused. Where its answer comes again, so does this.
    fn refused(&mut self, flow: &Flow, refusal: Refusal);
}

/// What the application wants of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing yet.
    Wait,
    /// So many bytes more are to be sent, behind those announced before.
    Send(u32),
    /// Nothing more will be sent. What the peer sends is taken until it has finished, too.
    Close,
    /// An end at once, by RST.
    Abort,
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Both sides finished, and know it.
    Closed,
    /// The application wanted it.
    Aborted,
    /// The peer sent RST.
    Reset,
    /// The peer does not acknowledge any more.
    Silent,
    /// It lasted for as long as connections may.
    Expired,
}

/// Why a connection was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The peer answered with RST.
    Reset,
    /// Somebody on the way says so.
    Icmp(Trouble),
    /// There are as many connections as there may be; the peer was told RST.
    Full,
}
