//! Choosing a sink.

use std::fmt;
use std::str::FromStr;

use linerate_base::{Error, ErrorKind, Result, Sink};
use linerate_sys::capability::{self, Capability};
use linerate_sys::xsk::Offloads;
use linerate_sys::{cpu, packet_send};

use super::ring::{PacketRing, RingSink};
use super::socket::{self, SocketSink};
use super::wire::Wire;
use super::xdp::XdpRing;
use crate::live::frames::{Alike, FramesSink};

/// A way out of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A program in the kernel that gives frames to the driver, on a core that it keeps busy.
    Live,
    /// A ring shared with the kernel.
    Ring,
    /// An AF_XDP socket on one queue.
    Xdp,
    /// Up to 64 frames with one system call.
    Mmsg,
    /// A system call for each frame.
    Socket,
}

impl Backend {
    /// All of them, the fastest first.
    pub const ALL: [Self; 5] = [Self::Live, Self::Xdp, Self::Ring, Self::Mmsg, Self::Socket];

    fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Ring => "ring",
            Self::Xdp => "xdp",
            Self::Mmsg => "mmsg",
            Self::Socket => "socket",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let names = Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|backend| backend.name() == text);
        found.ok_or_else(|| format!("there is no back end `{text}`: they are {names}"))
    }
}

/// What is to be opened.
#[derive(Clone, Debug)]
pub struct Config {
    /// The interface to send from, in the calling thread's namespace.
    pub interface: String,
    /// The way out; `None` chooses the best that works and needs neither a core nor a queue of its own.
    pub backend: Option<Backend>,
    /// The transmit queue that `xdp` takes; the others leave the choice to the kernel.
    pub queue: u32,
    /// Frames that can wait at a time, at least 1.
    pub slots: usize,
    /// Bytes of the longest frame.
    pub longest: usize,
    /// What `xdp` has the driver do, where it can; the others have none of it. A checksum is one of every frame, and
    /// with launch times every frame [has a date](linerate_base::Slots::date).
    pub offloads: Offloads,
    /// The mark that frames get (`SO_MARK`, socket(7)), where the system permits it: by `ring`, `mmsg` and `socket`.
    pub mark: Option<u32>,
    /// What all frames have in common, where they differ in a few bytes: `live` is quicker then.
    pub alike: Option<Alike>,
}

/// A sink that was opened, and how.
pub struct Opened {
    /// The sink.
    pub sink: Box<dyn Sink + Send>,
    /// The back end that it is of.
    pub backend: Backend,
    /// Why it was this one.
    pub why: &'static str,
    /// What the driver does, of that which it was to do: frames have to be such that it has to.
    pub offloads: Offloads,
    /// What is other than best, one line each, for the user to read.
    pub notes: Vec<String>,
}

/// Opens a sink on an interface.
///
/// # Errors
/// - [`ErrorKind::Permission`] without CAP_NET_RAW; the advice is the command that gives it.
/// - [`ErrorKind::NotFound`] when there is no such interface, [`ErrorKind::Down`] when it is down or has no carrier.
/// - [`ErrorKind::Exhausted`] when there is no memory for a ring that was asked for.
/// - For `live`, [`ErrorKind::Unsupported`] when the device takes no redirected frames, or frames are longer than a
///   page holds; [`ErrorKind::Invalid`] when frames that are alike are longer than the MTU.
/// - For `xdp`, [`ErrorKind::Busy`] when another AF_XDP socket has the queue, [`ErrorKind::Invalid`] when there is no
///   such queue, [`ErrorKind::Unsupported`] when the frames are longer than a page.
pub fn open(config: &Config) -> Result<Opened> {
    if let Some(backend) = config.backend {
        return one(config, backend, ASKED_FOR);
    }
    one(config, Backend::Ring, "it keeps up, and needs no core or queue of its own").or_else(
        |error| match is_about_rings(&error) {
            true => {
                let mut opened = one(config, Backend::Mmsg, "the fastest without a ring")?;
                opened.notes.push(format!("sending by system calls, without a ring: {error}"));
                Ok(opened)
            }
            false => Err(error),
        },
    )
}

/// Opens a sink for more frames than system calls can send: by `live` where it works, there is a core for its program,
/// and nothing else is asked for.
///
/// # Errors
/// As [`open`].
pub fn open_fast(config: &Config) -> Result<Opened> {
    if config.backend.is_some() {
        return open(config);
    }
    match two_cores(config).and_then(|()| one(config, Backend::Live, FAST)) {
        Err(error) if is_about_live(&error) => open_without_live(config, &error),
        opened => opened,
    }
}

/// Opens the best sink but `live`, of which this is the error.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_without_live(config: &Config, error: &Error) -> Result<Opened> {
    let mut opened = open(config)?;
    opened.why = "the fastest without live frames";
    opened.notes.insert(0, format!("not by live frames, which are faster: {error}"));
    Ok(opened)
}

/// Why a back end is taken.
pub(crate) const ASKED_FOR: &str = "as asked for";
pub(crate) const FAST: &str = "the fastest, at more than 250,000 packets a second";

/// On one core the program and who fills its ring would wait for each other.
fn two_cores(config: &Config) -> Result<()> {
    if cpu::allowed()?.len() > 1 {
        return Ok(());
    }
    let asked = format!("send on {} by live frames", config.interface);
    Err(Error::new(
        ErrorKind::Unsupported,
        asked,
        "this process may use one core, and they take two",
    )
    .advise("`--backend live` has them all the same"))
}

/// True for errors that only `live` has.
pub(crate) fn is_about_live(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Permission)
}

/// True for errors that another back end does not have.
fn is_about_rings(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Exhausted | ErrorKind::Unsupported | ErrorKind::Invalid)
}

fn one(config: &Config, backend: Backend, why: &'static str) -> Result<Opened> {
    make(config, backend, why).map_err(|error| with_remedy(error, backend))
}

/// The error with the command that gives this program its privileges, where one is missing.
pub(crate) fn with_remedy(error: Error, backend: Backend) -> Error {
    let is_locked_out = backend == Backend::Xdp && error.raw_os_error() == NO_BUFFERS;
    if error.kind() != ErrorKind::Permission && !is_locked_out {
        return error;
    }
    let used = if backend == Backend::Xdp { &USED[..] } else { &USED[..3] };
    capability::with_remedy(error, used)
}

/// What sending uses: packet sockets, programs for interfaces and the asking of neighbours, programs at all; the memory of
/// AF_XDP sockets is locked.
const USED: [Capability; 4] =
    [Capability::NetRaw, Capability::NetAdmin, Capability::Bpf, Capability::IpcLock];

/// `ENOBUFS`, which has no name in `std`: the memory may not be locked.
const NO_BUFFERS: Option<i32> = Some(105);

fn make(config: &Config, backend: Backend, why: &'static str) -> Result<Opened> {
    let wire = || Wire::find(&config.interface);
    let &Config { queue, slots, longest, offloads: wanted, mark, .. } = config;
    let (mut offloads, mut notes) = (Offloads::default(), Vec::new());
    let sink: Box<dyn Sink + Send> = match backend {
        Backend::Live => {
            Box::new(FramesSink::open(&config.interface, slots, longest, config.alike.clone())?)
        }
        Backend::Socket => Box::new(SocketSink::new(wire()?, slots, longest, 1, mark)?),
        Backend::Mmsg => {
            Box::new(SocketSink::new(wire()?, slots, longest, packet_send::BATCH, mark)?)
        }
        Backend::Ring => {
            let wire = wire()?;
            let asked = format!("make a transmit ring on {}", config.interface);
            let ring = PacketRing::new(socket::bound(&wire, mark)?, slots, longest);
            Box::new(RingSink::new(wire, ring.map_err(|e| Error::system(asked, e))?))
        }
        Backend::Xdp => {
            let wire = wire()?;
            let ring = XdpRing::open(&wire, queue, slots, longest, wanted)?;
            (offloads, notes) = (ring.offloads(), ring.notes().to_vec());
            Box::new(RingSink::new(wire, ring))
        }
    };
    Ok(Opened { sink, backend, why, offloads, notes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_back_ends_are_one_to_one() {
        for backend in Backend::ALL {
            assert_eq!(backend.to_string().parse(), Ok(backend));
        }
        assert!("rocket".parse::<Backend>().unwrap_err().contains("xdp, ring, mmsg, socket"));
    }
}
