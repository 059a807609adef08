//! Choosing a back end.

use linerate_base::{ErrorKind, Interface, Result, Source};

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
    match config.backend {
        Some(backend) => setup::open(config, backend),
        None if config.immediate => setup::open(config, Backend::Socket),
        None => setup::open(config, Backend::Ring).or_else(|error| match error.kind() {
            ErrorKind::Unsupported => fall_back(config, &error.to_string()),
            _ => Err(error),
        }),
    }
}

fn fall_back(config: &Config, reason: &str) -> Result<Capture> {
    let mut capture = setup::open(config, Backend::Socket)?;
    capture.notes.insert(0, format!("capturing by a plain socket, which is slower: {reason}"));
    Ok(capture)
}
