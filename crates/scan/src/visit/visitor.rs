//! Who talks with all targets.

use std::time::Duration;

use linerate_base::{Hop, Result, Timestamp, Ways};
use linerate_tcp::quote::Trouble;
use linerate_tcp::{Application, End, Flow, Next, Refusal};

use super::doors::Doors;
use super::neighbours::neighbours;
use super::request::Request;
use crate::Target;
use crate::Walk;
use crate::trail::Hold;

/// What is done at each target.
#[derive(Clone, Debug)]
pub struct Order {
    /// What is sent.
    pub request: Request,
    /// Bytes of an answer after which there is an end.
    pub enough: u64,
    /// Bytes of an answer that are kept, from its beginning.
    pub keep: usize,
    /// How connections are ended.
    pub ending: Ending,
}

/// How a connection is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// At once.
    Reset,
    /// As RFC 9293 3.6 has it: what the other still sends is taken, and counted, until it ends, too.
    Fin,
}

/// How a visit went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The target answered, and has finished.
    Finished,
    /// It answered enough.
    Enough,
    /// It ended the connection by RST.
    Reset,
    /// The time was over.
    Timeout,
    /// It does not acknowledge any more.
    Silent,
    /// It refused the connection.
    Refused,
    /// Somebody on the way says that there is no way; or none was found, and nobody was asked.
    Unreachable(Option<Trouble>),
    /// There were as many connections as there may be.
    Full,
}

impl Outcome {
    /// The names that there are.
    pub const NAMES: &[&str] =
        &["finished", "enough", "reset", "timeout", "silent", "refused", "unreachable", "full"];

    /// Its name, one word, of [`NAMES`](Self::NAMES).
    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Enough => "enough",
            Self::Reset => "reset",
            Self::Timeout => "timeout",
            Self::Silent => "silent",
            Self::Refused => "refused",
            Self::Unreachable(_) => "unreachable",
            Self::Full => "full",
        }
    }

    /// True when there was a connection.
    pub fn was_open(self) -> bool {
        !matches!(self, Self::Refused | Self::Unreachable(_) | Self::Full)
    }
}

/// A visit that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Who was visited.
    pub target: Target,
    /// How it went.
    pub outcome: Outcome,
    /// When it was over.
    pub time: Timestamp,
    /// From the SYN to its answer, in whole milliseconds; where timestamps tell.
    pub connect: Option<Duration>,
    /// From the open connection to the first byte of the answer.
    pub first: Option<Duration>,
    /// From the open connection to its end.
    pub open: Option<Duration>,
    /// Bytes of the answer.
    pub received: u64,
    /// The beginning of the answer.
    pub data: Vec<u8>,
}

/// A connection. There may be millions that wait for an answer.
#[derive(Debug)]
struct Call {
    opened: Timestamp,
    hold: Hold,
    /// Milliseconds.
    connect: Option<u32>,
    outcome: Option<Outcome>,
    heard: Option<Box<Heard>>,
}

/// What was answered.
#[derive(Debug)]
struct Heard {
    first: Duration,
    received: u64,
    data: Vec<u8>,
}

/// Who talks with all targets. Each is visited once.
#[derive(Debug)]
pub struct Visitor {
    order: Order,
    doors: Doors,
    walk: Walk,
    now: Timestamp,
    /// By their connections' numbers.
    calls: Vec<Option<Call>>,
    open: usize,
    over: Vec<Visit>,
    /// A request that is the same for all, or that of the last target.
    request: Vec<u8>,
    /// Whom the last answer named.
    named: Vec<Target>,
    /// Targets to which no way leads.
    unreached: u64,
}

/// A visit that is about to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The number of the local address, and its port.
    pub door: (usize, u16),
    /// To whom.
    pub target: Target,
    /// The hardware address of the next hop.
    pub next_hop: [u8; 6],
}

/// So many targets are looked at for one that can be visited, before something else is done.
const LOOKS: usize = 64;

impl Visitor {
    /// One who takes this way, from these doors.
    pub fn new(order: Order, doors: Doors, walk: Walk) -> Self {
        let mut request = Vec::new();
        if order.request.is_constant() {
            let whoever = Target { address: [0; 4].into(), port: 0 };
            order.request.write(whoever, &mut request);
        }
        let (calls, over) = (Vec::new(), Vec::new());
        Self {
            order,
            doors,
            walk,
            now: Timestamp::EPOCH,
            calls,
            open: 0,
            over,
            request,
            named: Vec::new(),
            unreached: 0,
        }
    }

    /// The way.
    pub fn walk(&mut self) -> &mut Walk {
        &mut self.walk
    }

    /// The next visit; `None` where there is none, or none that may begin at the moment. Visits to whom no way leads are over.
    ///
    /// # Errors
    /// Those of `ways`.
    pub fn next(&mut self, now: Timestamp, ways: &mut Ways<'_>) -> Result<Option<Departure>> {
        for _ in 0..LOOKS {
            let Some(target) = self.walk.next(now) else { break };
            match ways(target.address)? {
                Hop::At(next_hop) => {
                    let door = self.doors.to(target);
                    return Ok(Some(Departure { door, target, next_hop }));
                }
                Hop::Asked => self.walk.put_off(target, now),
                Hop::Nowhere => {
                    self.unreached += 1;
                    self.turned_away(target, now, Outcome::Unreachable(None));
                }
            }
        }
        Ok(None)
    }

    /// Targets to which no way leads.
    pub fn unreached(&self) -> u64 {
        self.unreached
    }

    /// A visit is over that was none.
    fn turned_away(&mut self, target: Target, time: Timestamp, outcome: Outcome) {
        self.walk.refused(target);
        self.over.push(Visit {
            target,
            outcome,
            time,
            connect: None,
            first: None,
            open: None,
            received: 0,
            data: Vec::new(),
        });
    }

    /// How many connections are open.
    pub fn open(&self) -> usize {
        self.open
    }

    /// The connections that are open.
    pub fn connections(&self) -> Vec<u32> {
        let is_open = |(number, call): (usize, &Option<Call>)| call.is_some().then_some(number);
        self.calls.iter().enumerate().filter_map(is_open).map(|number| number as u32).collect()
    }

    /// Visits that were over since the last time.
    pub fn take(&mut self) -> Vec<Visit> {
        std::mem::take(&mut self.over)
    }

    /// The request to a target.
    fn ask(&mut self, target: Target) -> &[u8] {
        if !self.order.request.is_constant() {
            self.order.request.write(target, &mut self.request);
        }
        &self.request
    }

    /// Ends a connection as is ordered.
    fn finish(&mut self, connection: u32, outcome: Outcome) -> Next {
        if let Some(call) = &mut self.calls[connection as usize] {
            call.outcome.get_or_insert(outcome);
        }
        match self.order.ending {
            Ending::Reset => Next::Abort,
            Ending::Fin => Next::Close,
        }
    }
}

impl Application for Visitor {
    fn at(&mut self, now: Timestamp) {
        self.now = now;
        self.walk.advance(now);
    }

    fn opened(&mut self, connection: u32, flow: &Flow, rtt: Option<Duration>) -> Next {
        let target = target(flow);
        if self.walk.has_answered(&target) {
            // A late answer to a SYN that was sent again.
            return Next::Abort;
        }
        let hold = self.walk.opened(target, self.now - rtt.unwrap_or(LONG_TRIP));
        let index = connection as usize;
        if self.calls.len() <= index {
            self.calls.resize_with(index + 1, || None);
        }
        self.calls[index] = Some(Call {
            opened: self.now,
            hold,
            connect: rtt.map(|rtt| rtt.as_millis() as u32),
            outcome: None,
            heard: None,
        });
        self.open += 1;
        match self.ask(target).len() {
            0 => Next::Wait,
            length => Next::Send(length as u32),
        }
    }

    fn write(&mut self, _: u32, flow: &Flow, offset: u32, into: &mut [u8]) {
        let from = offset as usize;
        let length = into.len();
        into.copy_from_slice(&self.ask(target(flow))[from..from + length]);
    }

    fn received(&mut self, connection: u32, data: &[u8]) -> Next {
        let (now, keep, enough) = (self.now, self.order.keep, self.order.enough);
        let Some(call) = &mut self.calls[connection as usize] else { return Next::Wait };
        let heard = call.heard.get_or_insert_with(|| {
            Box::new(Heard { first: span(call.opened, now), received: 0, data: Vec::new() })
        });
        heard.received += data.len() as u64;
        let room = keep.saturating_sub(heard.data.len());
        heard.data.extend(&data[..data.len().min(room)]);
        if heard.received >= enough { self.finish(connection, Outcome::Enough) } else { Next::Wait }
    }

    fn finished(&mut self, connection: u32) -> Next {
        self.finish(connection, Outcome::Finished)
    }

    fn ended(&mut self, connection: u32, flow: &Flow, end: End) {
        // There is none for a connection that should not have been opened again.
        let Some(call) = self.calls.get_mut(connection as usize).and_then(Option::take) else {
            return;
        };
        let target = target(flow);
        self.open -= 1;
        self.walk.over(target, call.hold);
        let (first, received, data) = match call.heard {
            Some(heard) => (Some(heard.first), heard.received, heard.data),
            None => (None, 0, Vec::new()),
        };
        if self.walk.follows() {
            self.named.clear();
            self.named.extend(neighbours(&data));
            self.walk.offer(&self.named);
        }
        let outcome = match end {
            // What it was ended for, whether the other went along with it or not.
            End::Closed | End::Aborted => Outcome::Finished,
            End::Reset => Outcome::Reset,
            End::Silent => Outcome::Silent,
            End::Expired => Outcome::Timeout,
        };
        self.over.push(Visit {
            target,
            outcome: call.outcome.unwrap_or(outcome),
            time: self.now,
            connect: call.connect.map(|millis| Duration::from_millis(millis.into())),
            first,
            open: Some(span(call.opened, self.now)),
            received,
            data,
        });
    }

    /// The port is a secret of the target and ours: who has not had our SYN guesses it once in as many times as there are ports.
    fn awaits(&self, flow: &Flow) -> bool {
        self.doors.are(flow)
    }

    fn refused(&mut self, flow: &Flow, refusal: Refusal) {
        let target = target(flow);
        if self.walk.has_answered(&target) {
            return;
        }
        let outcome = match refusal {
            Refusal::Reset => Outcome::Refused,
            Refusal::Icmp(trouble) => Outcome::Unreachable(Some(trouble)),
            Refusal::Full => Outcome::Full,
        };
        self.turned_away(target, self.now, outcome);
    }
}

/// Where nothing tells how long an answer to a SYN was on its way.
const LONG_TRIP: Duration = Duration::from_secs(1);

fn target(flow: &Flow) -> Target {
    Target { address: flow.remote.ip(), port: flow.remote.port() }
}

fn span(from: Timestamp, to: Timestamp) -> Duration {
    Duration::from_nanos(to.nanos_since(from).max(0).cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_not_answered_takes_little() {
        assert_eq!(size_of::<Option<Call>>(), 40);
    }
}
