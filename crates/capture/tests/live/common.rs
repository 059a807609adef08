//! Labs, frames and owned packets for the tests.

use std::time::Duration;

use linerate_base::{Direction, Source, Stats, Timestamp};
use linerate_capture::{Backend, Capture, Config, Directions, Interrupt, open};
use linerate_lab::{Host, Lab, need};

/// An EtherType for experiments (IEEE 802 clause 9.2.4), which no kernel answers.
pub(crate) const ETHER_TYPE: u16 = 0x88b5;

/// The back ends that leave the host its packets.
pub(crate) const EACH: [Backend; 4] =
    [Backend::Tap, Backend::TapXdp, Backend::Ring, Backend::Socket];

/// All of them, that which takes packets from the host included.
pub(crate) const ALL: [Backend; 5] =
    [Backend::Tap, Backend::TapXdp, Backend::Xdp, Backend::Ring, Backend::Socket];

/// Those that see packets on their way out, too.
pub(crate) const TWO_WAY: [Backend; 3] = [Backend::Tap, Backend::Ring, Backend::Socket];

/// Those by packet sockets, which share the kernel's time of arrival and can be on all interfaces.
pub(crate) const BY_SOCKET: [Backend; 2] = [Backend::Ring, Backend::Socket];

/// A packet that outlives its batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owned {
    pub(crate) time: Timestamp,
    pub(crate) data: Vec<u8>,
    pub(crate) length: u32,
    pub(crate) interface: u32,
    pub(crate) direction: Direction,
}

/// A silent pair of hosts, or `None` without root.
pub(crate) fn quiet_pair() -> Option<Lab> {
    need::root()
        .then(|| Lab::plan().host("a").host("b").quiet().without_offloads().build().unwrap())
}

/// Whole packets of `host`'s interface, by `backend`, in a buffer of 8 MiB; at the XDP hook received ones, which
/// are all that there are. Hosts of a lab have addresses: what takes packets from them does it by force.
pub(crate) fn config(host: &Host, backend: Backend) -> Config {
    let config = Config::new(host.interface(), Interrupt::new().unwrap());
    let direction = if backend == Backend::TapXdp { Directions::In } else { Directions::Both };
    let force = backend == Backend::Xdp;
    Config { backend: Some(backend), buffer: 8 << 20, direction, force, ..config }
}

pub(crate) fn open_on(host: &Host, config: &Config) -> Capture {
    host.run(|| open(config)).unwrap_or_else(|e| panic!("{e}"))
}

/// The numbered frame of `size` bytes to a host that is not there.
pub(crate) fn frame(number: u32, size: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 0x99, 2, 0, 0, 0, 0, 0x98];
    frame.extend(ETHER_TYPE.to_be_bytes());
    frame.extend(number.to_be_bytes());
    frame.resize(size, number as u8);
    frame
}

pub(crate) fn frames(count: u32, size: usize) -> Vec<Vec<u8>> {
    (0..count).map(|number| frame(number, size)).collect()
}

/// Waits of [`TICK`] before a test gives up; far more than any machine needs.
const TICKS: usize = 200;
const TICK: Duration = Duration::from_millis(50);

/// Fetches packets until there are `count`.
pub(crate) fn fetch(source: &mut dyn Source, count: usize) -> Vec<Owned> {
    let mut packets = Vec::new();
    for _ in 0..TICKS {
        if packets.len() >= count {
            return packets;
        }
        packets.extend(next(source).expect("the source has not ended"));
    }
    panic!("{} of {count} packets came; {:?}", packets.len(), source.stats());
}

/// Stops the source and fetches the rest.
pub(crate) fn finish(source: &mut dyn Source) -> (Vec<Owned>, Stats) {
    source.stop().unwrap();
    let mut packets = Vec::new();
    while let Some(more) = next(source) {
        packets.extend(more);
    }
    let stats = source.stats().unwrap();
    assert!(stats.balances(), "{stats:?}");
    (packets, stats)
}

/// Waits until the source has seen `count` packets, fetching none.
pub(crate) fn await_seen(source: &mut dyn Source, count: u64) -> Stats {
    for _ in 0..TICKS {
        let stats = source.stats().unwrap();
        if stats.seen >= count {
            return stats;
        }
        std::thread::sleep(TICK);
    }
    panic!("not {count} packets came: {:?}", source.stats());
}

fn next(source: &mut dyn Source) -> Option<Vec<Owned>> {
    let batch = source.next_batch(TICK).unwrap_or_else(|e| panic!("{e}"))?;
    let owned = batch.iter().map(|p| Owned {
        time: p.time,
        data: p.data.to_vec(),
        length: p.length,
        interface: p.interface,
        direction: p.direction,
    });
    Some(owned.collect())
}

pub(crate) fn data(packets: &[Owned]) -> Vec<Vec<u8>> {
    packets.iter().map(|packet| packet.data.clone()).collect()
}
