//! P3, 4.3: connections that the kernel's own TCP opens, a core for the client and one for the server; beside them ours.

use std::collections::HashMap;
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use linerate::lab::{Host, Lab};
use linerate::sys::epoll::{Epoll, connect, reset_on_close};

use super::findings::{Findings, missing};
use super::{Conditions, figures, visiting};
use crate::bench::progress::Progress;
use crate::bench::row::{Row, compare};
use crate::bench::runner::{Samples, Subject, measure};
use crate::bench::search::Bracket;
use crate::bench::wire;
use crate::chart::bars;
use crate::output;

const CASE: &str = "TCP connections";
const FOUR_CORES: &str = "TCP connections, four cores";
const UNIT: &str = "connections/s";
pub(super) const BLOCKING: &str = "kernel, connect";
pub(super) const ASYNCHRONOUS: &str = "kernel, asynchronous";
pub(super) const INSIDE: &str = "inside the kernel";
pub(super) const USER_SPACE: &str = "user space";
/// Connections that are under way at once where nobody waits for each.
const AT_ONCE: usize = 64;
const PORT: u16 = 80;
/// An answer takes some microseconds.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn run(conditions: &Conditions) -> Result<Findings> {
    let mut rows = rates(conditions)?;
    rows.push(missing(CASE, INSIDE, UNIT));
    let groups: Vec<_> = rows.iter().map(|row| (row.subject.clone(), vec![row.value])).collect();
    rows.extend([BLOCKING, ASYNCHRONOUS, INSIDE].map(|s| missing(FOUR_CORES, s, UNIT)));
    let svg = bars("P3, 4.3: TCP connections that one core opens", UNIT, &groups, &["here"]);
    Findings::of("P3.connect", rows, &figures::CONNECTING)
        .remark(
            "Over a veth pair, a core for the client, with what the wire delivers to both ends, and one for the server. The kernel \
             opens connections to one destination: by connect(2), one after the other; and \
             with 64 under way at once. At most 64 are there that the server has not taken and closed; they end by a reset.",
        )
        .remark(
            "`user space` is `linerate connect`, to ports of 16 addresses that `linerate mirror` answers for: SYN, SYN-ACK, ACK \
             with a request, an answer, RST, at the highest rate at which all connections stand. Four cores are missing, as \
             is a client in the kernel.",
        )
        .chart(svg, "Connections a second by the way to open them, as bars")
}

/// How many the kernel opens and resets in a second, and how many ours.
fn rates(conditions: &Conditions) -> Result<Vec<Row>> {
    let (lab, (client, server)) = (wire::pair(1)?, wire::cores()?);
    let server = Server::start(&lab, server)?;
    let time = Duration::from_millis(if conditions.quick { 200 } else { 1000 });
    let subject = |name: &str, work: fn(SocketAddrV4, Duration) -> Result<f64>| {
        let (a, to) = (lab.host("a"), server.address);
        let run = move || on(a, client, move || work(to, time));
        Subject { name: name.to_owned(), run: Some(Box::new(run)) }
    };
    let subjects = vec![subject(BLOCKING, one_by_one), subject(ASYNCHRONOUS, many_at_once)];
    let rates = measure(CASE, subjects, conditions.repeats(), &mut Progress::new(2));
    server.stop(&lab)?;
    let mut rates = rates?;
    let limit = visiting::limit(conditions);
    let limit = limit.map_err(|error| output::tell(format_args!("{USER_SPACE}: {error:#}"))).ok();
    rates.push((USER_SPACE.into(), limit.map(|limit| Samples::new(vec![limit.passed]))));
    let mut rows = compare("", CASE, UNIT, BLOCKING, &rates);
    if let (Some(row), Some(Bracket { passed, failed })) = (rows.last_mut(), limit) {
        row.spread = Some((passed, failed.unwrap_or(passed)));
    }
    Ok(rows)
}

/// Runs on a thread on a host's core.
fn on<T: Send + 'static>(
    host: &Host,
    core: usize,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    host.spawn_on(core, work).join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// Connections a second, opened one after the other.
fn one_by_one(to: SocketAddrV4, time: Duration) -> Result<f64> {
    let (began, mut open) = (Instant::now(), Open::new()?);
    while began.elapsed() < time {
        open.add(TcpStream::connect(to).context("open a connection")?)?;
        if open.streams.len() == AT_ONCE {
            open.reset_closed()?;
        }
    }
    Ok(open.added as f64 / began.elapsed().as_secs_f64())
}

/// The same with many under way at once.
fn many_at_once(to: SocketAddrV4, time: Duration) -> Result<f64> {
    let (began, mut open, mut count) = (Instant::now(), Open::new()?, 0);
    while began.elapsed() < time {
        while open.streams.len() < AT_ONCE {
            open.add(connect(to).context("begin a connection")?)?;
        }
        count += open.reset_closed()?;
    }
    Ok(f64::from(count) / began.elapsed().as_secs_f64())
}

/// Connections that the server has not closed yet.
struct Open {
    epoll: Epoll,
    streams: HashMap<u64, TcpStream>,
    added: u64,
}

impl Open {
    fn new() -> Result<Self> {
        Ok(Self { epoll: Epoll::new()?, streams: HashMap::new(), added: 0 })
    }

    fn add(&mut self, stream: TcpStream) -> Result<()> {
        reset_on_close(&stream)?;
        self.epoll.watch(&stream, self.added)?;
        self.streams.insert(self.added, stream);
        self.added += 1;
        Ok(())
    }

    /// Waits until something becomes of some, and resets those that the server has taken and closed: how many. A client
    /// that did not wait would fill the server's queue, and then be put off for a second.
    fn reset_closed(&mut self) -> Result<u32> {
        let mut count = 0;
        for ready in self.epoll.wait(PATIENCE)?.filter(|ready| ready.readable || ready.failed) {
            let Some(stream) = self.streams.remove(&ready.key) else { continue };
            stream.take_error()?.map_or(Ok(()), Err).context("open a connection")?;
            count += 1;
        }
        Ok(count)
    }
}

/// Takes connections and closes them, as long as it is wanted.
struct Server {
    address: SocketAddrV4,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Server {
    fn start(lab: &Lab, core: usize) -> Result<Self> {
        let host = lab.host("b");
        let address = SocketAddrV4::new(host.ipv4(), PORT);
        let listener = host.run(|| TcpListener::bind(address)).context("listen on the wire")?;
        let is_over = Arc::new(AtomicBool::new(false));
        let wanted = is_over.clone();
        let thread = host.spawn_on(core, move || {
            while !wanted.load(Ordering::Relaxed) {
                // One that the client has reset already is none.
                drop(listener.accept());
            }
        });
        Ok(Self { address, is_over, thread })
    }

    fn stop(self, lab: &Lab) -> Result<()> {
        self.is_over.store(true, Ordering::Relaxed);
        // It may be waiting for one.
        lab.host("a").run(|| TcpStream::connect(self.address)).context("open a connection")?;
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        Ok(())
    }
}
