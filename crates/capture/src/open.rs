//! Choosing a back end.

use linerate_base::{Error, ErrorKind, Interface, Result, Source, TimestampSource};
use linerate_sys::bpf::XdpMode;

use crate::privilege::with_remedy;
use crate::{ANY, Backend, Config, Gatekeeper, live, tap, xsk};

/// A source that was opened, and how.
pub struct Capture {
    /// The packets.
    pub source: Box<dyn Source + Send>,
    /// The back end that delivers them.
    pub backend: Backend,
    /// Where the back end's program stands; `None` for a packet socket.
    pub hook: Option<Hook>,
    /// What is captured; for [`ANY`] it stands for all interfaces.
    pub interface: Interface,
    /// The number of the fanout group that the source is in, for others to join.
    pub fanout_group: Option<u16>,
    /// What can put another filter in the kernel; `None` where that takes a new capture.
    pub gatekeeper: Option<Gatekeeper>,
    /// What is other than asked for or than best, one line each, for the user to read.
    pub notes: Vec<String>,
}

/// Where on a packet's way a program takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// At traffic control, before and after the host's stack.
    Tcx,
    /// In the driver, before the kernel makes a packet of its own.
    NativeXdp,
    /// Behind the driver, which has no XDP: the kernel has made its packet.
    GenericXdp,
}

impl Hook {
    /// Its name, as the kernel's documentation has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcx => "TCX",
            Self::NativeXdp => "native XDP",
            Self::GenericXdp => "generic XDP",
        }
    }

    pub(crate) fn xdp(mode: XdpMode) -> Self {
        match mode {
            XdpMode::Native => Self::NativeXdp,
            XdpMode::Generic => Self::GenericXdp,
        }
    }
}

/// Begins to capture.
///
/// Without [`Config::backend`] this takes the tap; the ring where the kernel or the interface has no tap,
/// the privilege for it is missing or a fanout group is asked for; and a plain socket where there is no ring
/// either. Packets that are to be the capture's alone are taken by the tap at the XDP hook, and those to
/// owned addresses by the tap, or not at all.
///
/// # Errors
/// - [`ErrorKind::Permission`] without the privilege; the advice is the command that gives it.
/// - [`ErrorKind::NotFound`] when there is no such interface, [`ErrorKind::Down`] when it is down.
/// - [`ErrorKind::Exhausted`] when there is no memory for the buffer.
/// - [`ErrorKind::Unsupported`] when the interface does not have the link type, or the kernel not the
///   back end.
/// - [`ErrorKind::Invalid`] when the fanout group is of another kind.
/// - [`ErrorKind::Interrupted`] when the interrupt was triggered while a large buffer was made.
pub fn open(config: &Config) -> Result<Capture> {
    Ok(open_many(config, 1)?.remove(0))
}

/// Begins to capture with one source for each of `threads` consumers, which share the packets and the buffer. Each
/// source has its own statistics, to be added up. What holds for all of them, notes and packets that the
/// interface itself has lost, is told by the first.
///
/// By the tap each core, or by tap-xdp each receive queue, has a ring of its own, and of so many rings each source
/// has its share; of more threads than rings, the rest get no source, and a note says so. The first source that is stopped ends the capture of all.
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
    check_polled(config)?;
    let opened = match config.backend {
        Some(backend) => open_by(backend, config, threads),
        None => open_best(config, threads),
    };
    opened.map_err(|error| with_remedy(error, config.backend))
}

fn open_by(backend: Backend, config: &Config, threads: usize) -> Result<Vec<Capture>> {
    if config.owned.is_some() && !TAPS.contains(&backend) {
        let asked = format!("own addresses on {} by the back end {backend}", config.interface);
        return Err(Error::new(ErrorKind::Unsupported, asked, "it cannot take them from the host")
            .advise("the back ends tap and tap-xdp can"));
    }
    match backend {
        Backend::Tap => tap::setup::open_tcx(config, threads),
        Backend::TapXdp => tap::setup::open_xdp(config, threads),
        Backend::Xdp => xsk::setup::open(config, threads),
        Backend::Ring => live::setup::open_rings(config, threads),
        Backend::Socket => live::setup::open_sockets(config, threads),
    }
}

/// Refuses busy polling by any back end but AF_XDP.
fn check_polled(config: &Config) -> Result<()> {
    if !config.busy_poll || config.backend == Some(Backend::Xdp) {
        return Ok(());
    }
    let by = config.backend.map_or("the best back end".into(), |b| format!("the back end {b}"));
    let asked = format!("capture on {} by {by} with busy polling", config.interface);
    let answered = format!("the back end {} only has its driver polled", Backend::Xdp);
    Err(Error::new(ErrorKind::Unsupported, asked, answered)
        .advise(format!("ask for --backend {}, or leave out --busy-poll", Backend::Xdp)))
}

/// The back ends that are taken unasked, best first: they leave the driver alone, and the host gets all of
/// its packets.
pub(crate) const UNASKED: [Backend; 3] = [Backend::Tap, Backend::Ring, Backend::Socket];

/// The back ends that can own addresses.
const TAPS: [Backend; 2] = [Backend::Tap, Backend::TapXdp];

/// The back ends that can do what is asked, best first.
fn candidates(config: &Config) -> &'static [Backend] {
    if config.owned.is_some() {
        return &[Backend::Tap];
    }
    let tap = config.interface != ANY && config.fanout.is_none();
    match (config.exclusive, tap, config.immediate) {
        (true, _, _) => &[Backend::TapXdp],
        // A packet socket's packets are stamped by the kernel, or the network card.
        (_, true, _) if !is_told(config.timestamps) => &[Backend::Tap],
        (_, true, true) => &[Backend::Tap, Backend::Socket],
        (_, true, false) => &UNASKED,
        (_, false, true) => &[Backend::Socket],
        (_, false, false) => &[Backend::Ring, Backend::Socket],
    }
}

/// Whether others than taps tell such timestamps.
fn is_told(timestamps: TimestampSource) -> bool {
    matches!(timestamps, TimestampSource::Kernel | TimestampSource::Hardware)
}

/// Who has the timestamps that others lack.
pub(crate) const STAMPING: &str =
    "the back ends tap and tap-xdp have them, on one interface at a time";

/// A note of back ends at the XDP hook.
pub(crate) const RECEIVED_ONLY: &str = "received packets only are captured";

/// Refuses on all interfaces what taps alone can do, by what was asked for.
fn check_all(config: &Config) -> Result<()> {
    let how = match config.timestamps {
        _ if config.interface != ANY => return Ok(()),
        _ if config.exclusive => "and keep the packets from the host".into(),
        _ if config.owned.is_some() => "with owned addresses".into(),
        TimestampSource::Kernel => return Ok(()),
        other => format!("with {other} timestamps"),
    };
    let asked = format!("capture on {ANY} {how}");
    Err(Error::new(ErrorKind::Unsupported, asked, "that is for one interface at a time")
        .advise("name the interface"))
}

fn open_best(config: &Config, threads: usize) -> Result<Vec<Capture>> {
    check_all(config)?;
    let (mut notes, mut candidates) = (Vec::new(), candidates(config).iter());
    loop {
        let backend = *candidates.next().expect("the last one returns");
        match open_by(backend, config, threads) {
            Ok(mut captures) => {
                captures[0].notes.splice(0..0, notes);
                return Ok(captures);
            }
            Err(error) if candidates.len() > 0 && may_work_otherwise(&error) => {
                notes.push(format!("the back end {backend} does not work here: {error}"));
            }
            Err(error) => return Err(error),
        }
    }
}

/// Another back end may work where this is the reason that one does not.
fn may_work_otherwise(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Permission | ErrorKind::Busy)
}
