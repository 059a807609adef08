//! A thread that reads one source.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use linerate_base::{Batch, Descriptor, Error, ErrorKind, Interface, Result, Source, Stats};
use linerate_sys::cpu;

use crate::Interrupt;

/// Packets apart from their source.
#[derive(Debug, Default)]
pub(super) struct Bag {
    pub(super) region: Vec<u8>,
    pub(super) descriptors: Vec<Descriptor>,
    /// Interfaces that came up with them.
    pub(super) new_interfaces: Vec<Interface>,
}

/// What a reader has to tell.
#[derive(Debug)]
pub(super) enum News {
    /// Packets, and when they were at hand.
    Packets(Bag, Instant),
    /// There was no packet when the source was asked at this time.
    Nothing(Instant),
    /// The wait was interrupted.
    Interrupted,
    /// The interface is down, and may come back.
    Down(Error),
    /// There will be no more.
    End(Result<()>),
}

enum Order {
    /// A bag whose packets are delivered.
    Empty(Bag),
    Stop(Sender<Result<()>>),
    Stats(Sender<Result<Stats>>),
}

/// The longest wait for packets: as long as another source's packets may have to wait for the news that
/// there are none.
const TICK: Duration = Duration::from_millis(10);

/// No wait of anybody is longer.
pub(super) const LONGEST: Duration = Duration::from_secs(86_400);

/// Bytes of packets that a reader has out before it waits for bags to come back.
pub(super) const ROOM: usize = 8 << 20;

/// The handle of a reader's thread, which ends when this is dropped.
pub(super) struct Reader {
    /// `None` once the thread is to end.
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Starts a thread on `core` that reads `source` and tells its news under `number`.
    pub(super) fn start(
        number: usize,
        source: Box<dyn Source + Send>,
        core: usize,
        interrupt: Interrupt,
        news: Sender<(usize, News)>,
    ) -> Result<Self> {
        let (sender, orders) = mpsc::channel();
        let work = Work {
            number,
            source,
            interrupt,
            news,
            orders,
            bags: VecDeque::new(),
            out: 0,
            known: 0,
            has_ended: false,
        };
        let on_core = move || {
            // On another core the thread does its work as well, if not as fast.
            let _ = cpu::pin(core);
            work.run();
        };
        let thread = thread::Builder::new().name(format!("read-{number}")).spawn(on_core);
        let thread = thread.map_err(|e| Error::system("start a thread that captures", e))?;
        Ok(Self { orders: Some(sender), thread: Some(thread) })
    }

    fn order(&self, order: Order) {
        // Of a thread that is gone, the end of its news tells.
        let _ = self.orders.as_ref().map(|orders| orders.send(order));
    }

    pub(super) fn give_back(&self, bag: Bag) {
        self.order(Order::Empty(bag));
    }

    pub(super) fn ask_to_stop(&self) {
        self.order(Order::Stop(mpsc::channel().0));
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A panic was told on standard error already.
            let _ = thread.join();
        }
    }
}

/// Stops all sources.
pub(super) fn stop(readers: &[Reader]) -> Result<()> {
    ask(readers, Order::Stop).map(drop)
}

/// The counters of all sources.
pub(super) fn stats(readers: &[Reader]) -> Result<Vec<Stats>> {
    ask(readers, Order::Stats)
}

/// Asks all readers at once, then waits for their answers.
fn ask<T>(readers: &[Reader], question: fn(Sender<Result<T>>) -> Order) -> Result<Vec<T>> {
    let ask_one = |reader: &Reader| {
        let (sender, answer) = mpsc::channel();
        reader.order(question(sender));
        answer
    };
    let answers: Vec<_> = readers.iter().map(ask_one).collect();
    answers.into_iter().map(|answer| answer.recv().unwrap_or_else(|_| Err(panicked()))).collect()
}

pub(super) fn panicked() -> Error {
    Error::new(ErrorKind::Io, "capture by several threads", "one of them has panicked")
}

/// What the thread has.
struct Work {
    number: usize,
    source: Box<dyn Source + Send>,
    interrupt: Interrupt,
    news: Sender<(usize, News)>,
    orders: Receiver<Order>,
    /// Bags that came back.
    bags: VecDeque<Bag>,
    /// Bytes in bags that have not come back.
    out: usize,
    /// Interfaces that were told.
    known: usize,
    has_ended: bool,
}

/// The work goes on while somebody wants the news: `None` says that nobody does.
impl Work {
    fn run(mut self) {
        while self.obey().and_then(|()| self.read()).is_some() {}
    }

    /// Carries out the orders that have come; waits for some where there is nothing else to do.
    fn obey(&mut self) -> Option<()> {
        while self.has_ended || self.out >= ROOM {
            let order = self.orders.recv().ok()?;
            self.carry_out(order);
        }
        loop {
            match self.orders.try_recv() {
                Ok(order) => self.carry_out(order),
                Err(mpsc::TryRecvError::Empty) => return Some(()),
                Err(mpsc::TryRecvError::Disconnected) => return None,
            }
        }
    }

    /// Who asked and went away does not want the answer.
    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Empty(bag) => {
                self.out -= bag.region.len();
                self.bags.push_back(bag);
            }
            Order::Stop(answer) => drop(answer.send(self.source.stop())),
            Order::Stats(answer) => drop(answer.send(self.source.stats())),
        }
    }

    fn read(&mut self) -> Option<()> {
        let asked = Instant::now();
        let news = match self.source.next_batch(TICK) {
            Ok(Some(batch)) if batch.is_empty() => self.without_packets(asked),
            Ok(Some(batch)) => {
                let mut bag = self.bags.pop_front().unwrap_or_default();
                bag.fill(&batch, self.known);
                self.known = batch.interfaces().len();
                self.out += bag.region.len();
                Some(News::Packets(bag, Instant::now()))
            }
            Ok(None) => Some(News::End(Ok(()))),
            Err(error) if error.kind() == ErrorKind::Down => Some(News::Down(error)),
            Err(error) => Some(News::End(Err(error))),
        };
        self.has_ended = matches!(news, Some(News::End(_)));
        let Some(news) = news else { return Some(()) };
        self.news.send((self.number, news)).ok()
    }

    /// That no packet came says something only after a whole wait: a batch may be empty because a filter
    /// has turned all of it away.
    fn without_packets(&self, asked: Instant) -> Option<News> {
        if asked.elapsed() >= TICK {
            return Some(News::Nothing(asked));
        }
        self.interrupt.is_triggered().then(|| {
            // Whoever triggered it is to clear it, or to stop us, rather than to see us spin.
            thread::sleep(Duration::from_millis(1));
            News::Interrupted
        })
    }
}

impl Bag {
    fn fill(&mut self, batch: &Batch<'_>, known: usize) {
        self.region.clear();
        self.descriptors.clear();
        self.new_interfaces.clear();
        self.new_interfaces.extend_from_slice(&batch.interfaces()[known..]);
        for (descriptor, packet) in batch.descriptors().iter().zip(batch.iter()) {
            let offset = self.region.len() as u32;
            self.region.extend_from_slice(packet.data);
            self.descriptors.push(Descriptor { offset, ..*descriptor });
        }
    }
}
