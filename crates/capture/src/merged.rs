//! Several sources as one, whose packets are in the order of their times.
//!
//! Each source has a thread of its own, which copies its packets into bags; here they are held back until
//! no other source can have an earlier one:
//!
//! ```text
//! thread: source -> Bag ----news----> Held -> Batch
//!                    ^-----orders------'
//! ```

mod held;
mod reader;

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use linerate_base::{Batch, Descriptor, Error, ErrorKind, Interface, Result, Source, Stats};

use crate::live::ring::hold;
use crate::threads::consumer_cores;
use crate::{Backend, Capture, Config};
use held::Held;
use reader::{News, Reader};

/// Makes one capture of those that [`open_many`](crate::open_many) gave for `config`. It delivers packets in the
/// order of their times, whichever source they come by.
///
/// The price is a copy of each packet, a thread for each source, and a delay: a packet waits until every
/// source has delivered a later one, or had nothing to deliver for as long as its back end may keep packets to
/// itself. It waits no longer than there is room for 8 MiB of packets of a source: one that is later
/// than that comes out of order. Nothing is lost by that.
///
/// # Errors
/// When the system does not start a thread.
///
/// # Panics
/// When `captures` is empty.
pub fn merge(mut captures: Vec<Capture>, config: &Config) -> Result<Capture> {
    let notes =
        captures.iter_mut().flat_map(|capture| std::mem::take(&mut capture.notes)).collect();
    let Capture { backend, hook, fanout_group, .. } = captures[0];
    let interface = captures[0].interface.clone();
    let sources = captures.into_iter().map(|capture| capture.source).collect();
    let latency = latency(backend, config);
    let source = Box::new(Merged::new(sources, config, latency)?);
    Ok(Capture { source, backend, hook, interface, fanout_group, gatekeeper: None, notes })
}

/// The longest that a back end lets a packet wait before it delivers it. A block of a ring is closed when
/// it is as old as it may get, and the kernel looks after as long again at the latest.
fn latency(backend: Backend, config: &Config) -> Duration {
    const SLACK: Duration = Duration::from_millis(5);
    match backend {
        Backend::Ring => 2 * hold(config) + 10 * SLACK,
        _ => SLACK,
    }
}

struct Merged {
    readers: Vec<Reader>,
    news: Receiver<(usize, News)>,
    held: Held,
    interfaces: Vec<Interface>,
    /// Of each reader's interfaces the places in our table.
    places: Vec<Vec<u32>>,
    region: Vec<u8>,
    descriptors: Vec<Descriptor>,
    /// What to tell when all packets from before it are delivered.
    fault: Option<Error>,
}

impl Merged {
    fn new(
        sources: Vec<Box<dyn Source + Send>>,
        config: &Config,
        latency: Duration,
    ) -> Result<Self> {
        let cores = consumer_cores(&config.interface)?;
        let (sender, news) = mpsc::channel();
        let interfaces = sources[0].interfaces().to_vec();
        let count = sources.len();
        let start = |(number, source)| {
            let core = cores[number % cores.len()];
            Reader::start(number, source, core, config.interrupt.clone(), sender.clone())
        };
        Ok(Self {
            readers: sources.into_iter().enumerate().map(start).collect::<Result<_>>()?,
            news,
            held: Held::new(count, latency),
            interfaces,
            places: vec![Vec::new(); count],
            region: Vec::new(),
            descriptors: Vec::new(),
            fault: None,
        })
    }

    /// Takes in what a reader has to tell; true when the wait for packets is to end.
    fn hear(&mut self, number: usize, news: News) -> bool {
        match news {
            News::Packets(mut bag, arrival) => {
                self.introduce(number, &bag.new_interfaces);
                for descriptor in &mut bag.descriptors {
                    descriptor.interface = self.places[number][descriptor.interface as usize];
                }
                self.held.add(number, bag, arrival);
            }
            News::Nothing(asked) => self.held.was_silent(number, asked),
            News::Interrupted => return true,
            // All sources of an interface tell the same.
            News::Down(error) if number == 0 => self.fault = Some(error),
            News::Down(_) => {}
            News::End(result) => self.end(number, result.err()),
        }
        false
    }

    /// What the others still have is to come out, too.
    fn end(&mut self, number: usize, error: Option<Error>) {
        self.held.has_ended(number);
        if let Some(error) = error {
            self.fault = self.fault.take().filter(|e| e.kind() != ErrorKind::Down).or(Some(error));
            self.readers.iter().for_each(Reader::ask_to_stop);
        }
    }

    /// Finds places in our table for interfaces that came up with a reader.
    fn introduce(&mut self, number: usize, new: &[Interface]) {
        for interface in new {
            let known = self.interfaces.iter().position(|known| known == interface);
            let place = known.unwrap_or_else(|| {
                self.interfaces.push(interface.clone());
                self.interfaces.len() - 1
            });
            self.places[number].push(place as u32);
        }
    }

    /// Waits until `deadline` for news, and takes in all there are; true when the wait for packets is to
    /// end.
    fn listen(&mut self, deadline: Instant) -> Result<bool> {
        let wait = deadline.saturating_duration_since(Instant::now());
        let first = match self.news.recv_timeout(wait) {
            Ok((number, news)) => self.hear(number, news),
            Err(RecvTimeoutError::Timeout) => return Ok(true),
            Err(RecvTimeoutError::Disconnected) => return Err(reader::panicked()),
        };
        let mut interrupted = first;
        while let Ok((number, news)) = self.news.try_recv() {
            interrupted |= self.hear(number, news);
        }
        Ok(interrupted)
    }

    /// Fills the batch with what need not be held back any longer.
    fn fill(&mut self) {
        self.region.clear();
        self.descriptors.clear();
        self.held.fill(&mut self.region, &mut self.descriptors);
        for (number, bag) in self.held.emptied() {
            self.readers[number].give_back(bag);
        }
    }
}

impl Source for Merged {
    fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    fn next_batch(&mut self, wait: Duration) -> Result<Option<Batch<'_>>> {
        let deadline = Instant::now() + wait.min(reader::LONGEST);
        let mut time_is_up = false;
        loop {
            self.fill();
            if !self.descriptors.is_empty() {
                return Ok(Some(Batch::new(&self.region, &self.descriptors, &self.interfaces)));
            }
            if self.held.is_empty() {
                let all_ended = self.held.all_have_ended();
                match self.fault.take_if(|fault| all_ended || fault.kind() == ErrorKind::Down) {
                    Some(fault) => return Err(fault),
                    None if all_ended => return Ok(None),
                    None => {}
                }
            }
            if time_is_up {
                return Ok(Some(Batch::empty(&self.interfaces)));
            }
            time_is_up = self.listen(deadline)?;
        }
    }

    fn stats(&mut self) -> Result<Stats> {
        let mut sum = Stats::default();
        self.shares()?.into_iter().for_each(|share| sum += share);
        Ok(sum)
    }

    fn shares(&mut self) -> Result<Vec<Stats>> {
        let mut shares = reader::stats(&self.readers)?;
        for (share, released) in shares.iter_mut().zip(self.held.released()) {
            // What is held back was delivered to us, but not by us.
            share.pending += share.delivered - released;
            share.delivered = released;
        }
        Ok(shares)
    }

    fn stop(&mut self) -> Result<()> {
        reader::stop(&self.readers)
    }
}
