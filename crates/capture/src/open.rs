//! Choosing a back end.

use linerate_base::{Error, ErrorKind, Interface, Result, Source};

use crate::live::setup;
use crate::{Backend, Config, Fanout, FanoutMode};

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
    match config.backend {
        Some(backend) => setup::open(config, backend),
        None if config.immediate => setup::open(config, Backend::Socket),
        None => setup::open(config, Backend::Ring).or_else(|error| match error.kind() {
            ErrorKind::Unsupported => fall_back(config, &error.to_string()),
            _ => Err(error),
        }),
    }
}

/// Begins to capture with one source for each of `threads` consumers, which share the packets. Each source
/// has its own statistics, to be added up.
///
/// By a packet socket's back ends the sources form a fanout group, as [`Config::fanout`] says or else
/// by the flow of a packet.
///
/// # Errors
/// As [`open`]; [`ErrorKind::Invalid`] for no thread.
pub fn open_many(config: &Config, threads: usize) -> Result<Vec<Capture>> {
    if threads == 0 {
        let asked = format!("capture on {} by 0 threads", config.interface);
        return Err(Error::new(ErrorKind::Invalid, asked, "there must be one at least"));
    }
    if threads == 1 {
        return Ok(vec![open(config)?]);
    }
    let fanout = config.fanout.unwrap_or(Fanout { mode: FanoutMode::Hash, group: None });
    let buffer = config.buffer / threads as u64;
    let mut member = Config { fanout: Some(fanout), buffer, ..config.clone() };
    let mut captures = vec![open(&member)?];
    member.backend = Some(captures[0].backend);
    member.fanout = Some(Fanout { group: captures[0].fanout_group, ..fanout });
    for _ in 1..threads {
        captures.push(open(&member)?);
    }
    Ok(captures)
}

fn fall_back(config: &Config, reason: &str) -> Result<Capture> {
    let mut capture = setup::open(config, Backend::Socket)?;
    capture.notes.insert(0, format!("capturing by a plain socket, which is slower: {reason}"));
    Ok(capture)
}
