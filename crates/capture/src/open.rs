//! Choosing a back end.

use linerate_base::{Error, ErrorKind, Interface, Result, Source};

use crate::live::setup;
use crate::{Backend, Config};

/// A source that was opened, and how.
pub struct Capture {
    /// The packets.
    pub source: Box<dyn Source + Send>,
    /// The back end that delivers them.
    pub backend: Backend,
    /// What is captured; for [`ANY`](crate::ANY) it stands for all interfaces.
    pub interface: Interface,
    /// The number of the fanout group that the source is in, for others to join.
    pub fanout_group: Option<u16>,
    /// What is other than asked for or than best, one line each, for the user to read.
    pub notes: Vec<String>,
}

/// Begins to capture.
///
/// Without [`Config::backend`] this takes the ring, or the socket where the kernel has no ring or
/// where packets must be delivered at once.
///
/// # Errors
/// - [`ErrorKind::Permission`] without the privilege; the advice is the command that gives it.
/// - [`ErrorKind::NotFound`] when there is no such interface, [`ErrorKind::Down`] when it is down.
/// - [`ErrorKind::Exhausted`] when there is no memory for the buffer.
/// - [`ErrorKind::Unsupported`] when the interface does not have the link type, or the kernel not the
///   back end.
/// - [`ErrorKind::Invalid`] when the fanout group is of another kind.
pub fn open(config: &Config) -> Result<Capture> {
    Ok(open_many(config, 1)?.remove(0))
}

/// Begins to capture with one source for each of `threads` consumers, which share the packets and the buffer. Each
/// source has its own statistics, to be added up. What holds for all of them, notes and packets that the
/// interface itself has lost, is told by the first.
///
/// By a packet socket's back ends the sources form a fanout group, as [`Config::fanout`] says. Without it, they
/// share packets by the core on which they arrive where the interface has as many receive queues, as each
/// queue then has its core; else by the flow of a packet. The order of packets is that of the core, or of
/// the flow.
///
/// # Errors
/// As [`open`]; [`ErrorKind::Invalid`] for no thread.
pub fn open_many(config: &Config, threads: usize) -> Result<Vec<Capture>> {
    if threads == 0 {
        let asked = format!("capture on {} by 0 threads", config.interface);
        return Err(Error::new(ErrorKind::Invalid, asked, "there must be one at least"));
    }
    match config.backend {
        Some(backend) => setup::open(config, backend, threads),
        None if config.immediate => setup::open(config, Backend::Socket, threads),
        None => setup::open(config, Backend::Ring, threads).or_else(|error| match error.kind() {
            ErrorKind::Unsupported => fall_back(config, threads, &error.to_string()),
            _ => Err(error),
        }),
    }
}

fn fall_back(config: &Config, threads: usize, reason: &str) -> Result<Vec<Capture>> {
    let mut captures = setup::open(config, Backend::Socket, threads)?;
    captures[0].notes.insert(0, format!("capturing by a plain socket, which is slower: {reason}"));
    Ok(captures)
}
