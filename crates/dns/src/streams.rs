//! Questions over TCP (RFC 7766): one to a connection.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use linerate_base::{Batch, Result, Sink, Timestamp};
use linerate_tcp::client::Config;
use linerate_tcp::{Application, Client, End, Flow, Next, NextHops, Refusal};

use crate::asker::{Asker, Stream, Tell, Ticket};

/// Asks what an [`Asker`] wants to have asked over TCP.
#[derive(Debug)]
pub struct Streams {
    client: Client,
    config: Config,
    talks: Talks,
    /// Decides the port of the next connection.
    turn: usize,
    /// SYNs to be sent.
    to_open: VecDeque<Flow>,
    /// When the answer to a SYN is late, in order.
    late: VecDeque<(Timestamp, Flow)>,
}

/// How long the answer to a SYN is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// Times that a SYN is sent.
const SYNS: u8 = 3;
/// SYNs that are filled at once.
const BATCH: usize = 64;

impl Streams {
    /// Over connections of a client with this configuration.
    ///
    /// # Errors
    /// As [`Client::new`].
    pub fn new(config: Config, now: Timestamp) -> Result<Self> {
        let client = Client::new(config.clone(), now)?;
        let (to_open, late) = (VecDeque::new(), VecDeque::new());
        Ok(Self { client, config, talks: Talks::default(), turn: 0, to_open, late })
    }

    /// Bytes of the longest frame that it sends.
    pub fn longest(&self) -> usize {
        self.client.longest()
    }

    /// True when nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.talks.by_flow.is_empty()
    }

    /// Looks at a batch of frames that came. It is `now`.
    pub fn receive(&mut self, batch: &Batch<'_>, now: Timestamp) {
        self.client.receive(batch, now, &mut self.talks);
    }

    /// Does what time asks for, begins what the asker wants, tells it what is over, and sends what is to be sent by these next
    /// hops.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn drive(
        &mut self,
        asker: &mut Asker,
        now: Timestamp,
        sink: &mut dyn Sink,
        hops: &NextHops<'_>,
        tell: &mut Tell<'_>,
    ) -> Result<()> {
        self.client.advance(now, &mut self.talks);
        while let Some(stream) = asker.next_stream(now) {
            self.begin(&stream);
        }
        self.give_up(now);
        for (ticket, message) in self.talks.done.drain(..) {
            asker.streamed(ticket, message.as_deref(), now, tell);
        }
        self.open(now, sink, hops)?;
        self.client.transmit(sink, hops, &mut self.talks)?;
        Ok(())
    }

    fn begin(&mut self, stream: &Stream) {
        let length = (stream.query.len() as u16).to_be_bytes();
        let query = [&length, &stream.query[..]].concat();
        let ticket = stream.ticket;
        match self.free_flow(stream.server) {
            Some(flow) => {
                let talk = Talk { ticket, query, got: Vec::new(), syns: 0, connection: None };
                self.talks.by_flow.insert(flow, talk);
                self.to_open.push_back(flow);
            }
            None => self.talks.done.push((ticket, None)),
        }
    }

    /// A flow to this server that is not in use.
    fn free_flow(&mut self, server: SocketAddr) -> Option<Flow> {
        let is_near = |address: SocketAddr| address.is_ipv4() == server.is_ipv4();
        let local = self.config.locals.iter().find(|l| is_near((l.address, 0).into()))?;
        let count = local.ports.len();
        let flows = (0..count).map(|step| {
            let port = local.ports.start() + ((self.turn + step) % count) as u16;
            Flow { local: (local.address, port).into(), remote: server }
        });
        let free = flows.zip(1..).find(|(flow, _)| !self.talks.by_flow.contains_key(flow));
        let (flow, steps) = free?;
        self.turn = (self.turn + steps) % count;
        Some(flow)
    }

    /// Sends SYNs again, or gives up, where no answer came.
    fn give_up(&mut self, now: Timestamp) {
        while let Some((time, flow)) = self.late.front().copied()
            && time <= now
        {
            self.late.pop_front();
            match self.talks.by_flow.get(&flow) {
                Some(talk) if talk.connection.is_some() => {}
                Some(talk) if talk.syns < SYNS => self.to_open.push_back(flow),
                _ => self.talks.end(&flow, None),
            }
        }
    }

    /// Sends the SYNs that there is room for.
    fn open(&mut self, now: Timestamp, sink: &mut dyn Sink, hops: &NextHops<'_>) -> Result<()> {
        while !self.to_open.is_empty() {
            let mut slots = sink.acquire(BATCH)?;
            if slots.room() == 0 {
                return Ok(());
            }
            while slots.room() > 0
                && let Some(flow) = self.to_open.pop_front()
            {
                let Some(talk) = self.talks.by_flow.get_mut(&flow) else { continue };
                // Its server was asked over UDP, so the way is known.
                let Some(next_hop) = hops(flow.remote.ip()) else {
                    self.talks.end(&flow, None);
                    continue;
                };
                talk.syns += 1;
                self.late.push_back((now + PATIENCE, flow));
                let locals = self.config.locals.iter();
                let local = locals.zip(0..).find(|(local, _)| local.address == flow.local.ip());
                let (_, index) = local.expect("flows are from our addresses");
                let port = flow.local.port();
                slots.push(|slot| self.client.syn(slot, index, port, flow.remote, next_hop, now));
            }
            sink.submit()?;
        }
        Ok(())
    }
}

/// What is said over connections.
#[derive(Debug, Default)]
struct Talks {
    by_flow: HashMap<Flow, Talk>,
    by_connection: HashMap<u32, Flow>,
    /// What came of those that are over.
    done: Vec<(Ticket, Option<Vec<u8>>)>,
}

#[derive(Debug)]
struct Talk {
    ticket: Ticket,
    /// The query behind its length (RFC 1035 4.2.2).
    query: Vec<u8>,
    /// What came: a length, and as many bytes of the answer.
    got: Vec<u8>,
    syns: u8,
    /// Once it is open.
    connection: Option<u32>,
}

impl Talks {
    /// What is said over a connection; nothing more, when all was said.
    fn of(&mut self, connection: u32) -> Option<(Flow, &mut Talk)> {
        let flow = *self.by_connection.get(&connection)?;
        let talk = self.by_flow.get_mut(&flow)?;
        (talk.connection == Some(connection)).then_some((flow, talk))
    }

    /// This is what came of it.
    fn end(&mut self, flow: &Flow, message: Option<Vec<u8>>) {
        if let Some(talk) = self.by_flow.remove(flow) {
            self.done.push((talk.ticket, message));
        }
    }
}

impl Talk {
    /// The message, once it is whole.
    fn message(&self) -> Option<&[u8]> {
        let (length, message) = self.got.split_first_chunk()?;
        message.get(..u16::from_be_bytes(*length).into())
    }
}

impl Application for Talks {
    fn opened(&mut self, connection: u32, flow: &Flow, _: Option<Duration>) -> Next {
        let Some(talk) = self.by_flow.get_mut(flow) else { return Next::Abort };
        talk.connection = Some(connection);
        self.by_connection.insert(connection, *flow);
        Next::Send(talk.query.len() as u32)
    }

    fn write(&mut self, connection: u32, _: &Flow, offset: u32, into: &mut [u8]) {
        // Of a talk that is over nothing is waited for: whatever is sent again, its connection is on its end.
        let query = self.of(connection).map(|(_, talk)| &talk.query[offset as usize..]);
        let query = query.unwrap_or_default();
        let length = into.len().min(query.len());
        into[..length].copy_from_slice(&query[..length]);
    }

    fn received(&mut self, connection: u32, data: &[u8]) -> Next {
        let Some((flow, talk)) = self.of(connection) else { return Next::Close };
        talk.got.extend(data);
        let Some(message) = talk.message().map(<[u8]>::to_vec) else { return Next::Wait };
        self.end(&flow, Some(message));
        Next::Close
    }

    fn ended(&mut self, connection: u32, _: &Flow, _: End) {
        let unfinished = self.of(connection).map(|(flow, _)| flow);
        unfinished.iter().for_each(|flow| self.end(flow, None));
        self.by_connection.remove(&connection);
    }

    fn refused(&mut self, flow: &Flow, _: Refusal) {
        self.end(flow, None);
    }
}
