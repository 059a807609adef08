//! `linerate mirror`: a server at every address of whole prefixes.

mod reflector;

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use anyhow::{Context, Result};
use linerate::base::LinkType;
use linerate::capture::{self, Config, Directions, Interrupt, Owned, Prefix};
use linerate::tcp::mirror::{Answer, Behaviour, Ending, Mirror, Peers};
use linerate::transmit::template::Surroundings;
use linerate::transmit::{BATCH, Outlet, sink};

use crate::args::{EndingArg, MirrorArgs};
use crate::exit::{Outcome, usage};
use crate::output;
use crate::signals::Requests;
use crate::units::grouped;

pub(crate) use self::reflector::Reflector;

/// How long to wait for a frame before looking whether somebody wants an end.
const WAIT: Duration = Duration::from_millis(100);
/// The most peers that name each other.
const MOST_PEERS: u64 = 1 << 30;
/// The longest answer, in frames.
const MOST_FRAMES: usize = BATCH;

pub(super) fn run(args: &MirrorArgs) -> Result<Outcome> {
    let mirror = mirror(args)?;
    let requests = Requests::default();
    let interrupt = Interrupt::new()?;
    requests.watch(interrupt.clone())?;
    let mut config = Config::new(&args.interface, interrupt);
    config.link_type = Some(LinkType::ETHERNET);
    config.promiscuous = false;
    config.immediate = true;
    config.direction = Directions::In;
    config.owned = Some(Owned::new(&args.prefixes)?);
    let capture = capture::open(&config)?;
    let opened = sink::open(&sink::Config {
        interface: args.interface.clone(),
        backend: None,
        queue: 0,
        slots: 8 * BATCH,
        longest: reflector::LONGEST,
        offloads: sink::Offloads::default(),
        mark: None,
        alike: None,
    })?;
    capture.notes.iter().chain(&opened.notes).for_each(output::tell);
    output::tell(format_args!("answering on {}", args.interface));
    let mut reflector = Reflector::new(mirror, capture.source, opened.sink);
    while !requests.stop() && reflector.turn(WAIT)? {}
    let stats = reflector.finish()?;
    output::tell(format_args!("{} frames answered with", grouped(stats.sent)));
    Ok(Outcome::Success)
}

fn mirror(args: &MirrorArgs) -> Result<Mirror> {
    let outlet = Outlet::find(&args.interface)?;
    let read = |path| fs::read(path).with_context(|| format!("read the answer {path:?}"));
    let answer = match args.peers {
        Some(named) => Answer::Peers(Peers { ranges: ranges(&args.prefixes)?, named }),
        None => Answer::Bytes(args.answer.as_ref().map(read).transpose()?.unwrap_or_default()),
    };
    let mirror = Mirror::new(Behaviour {
        mac: outlet.mac(),
        ports: args.ports.clone(),
        answer,
        ending: match args.ending {
            EndingArg::Fin => Ending::Fin,
            EndingArg::Reset => Ending::Reset,
            EndingArg::None => Ending::None,
        },
        one_of: args.one_of,
    });
    match mirror.most() {
        ..=MOST_FRAMES => Ok(mirror),
        frames => {
            Err(usage(format!("--answer: it takes {frames} frames, and {MOST_FRAMES} at most")))
        }
    }
}

/// The first address and the size of each prefix of IPv4.
fn ranges(prefixes: &[Prefix]) -> Result<Vec<(Ipv4Addr, u32)>> {
    let range = |prefix: &Prefix| match prefix.address() {
        IpAddr::V4(first) => Some((first, 1_u32.checked_shl(32 - u32::from(prefix.length()))?)),
        IpAddr::V6(_) => None,
    };
    let ranges: Vec<_> = prefixes.iter().filter_map(range).collect();
    let count = ranges.iter().map(|(_, count)| u64::from(*count)).sum::<u64>();
    match count {
        0 => Err(usage("--peers: there is no prefix of IPv4 that they could be at")),
        // So that the numbers of two can be added.
        1..=MOST_PEERS => Ok(ranges),
        _ => Err(usage(format!("--peers: {count} are more than {MOST_PEERS}"))),
    }
}
