//! The captures on this host: packet sockets, AF_XDP sockets and taps, whoever has them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use linerate_base::Error;
use linerate_sys::bpf::{Attached, maps_of};
use linerate_sys::netlink::{self, PacketSocket};
use linerate_sys::tap_ring::WatchedRings;
use linerate_sys::{task, xsk};
use serde::Serialize;

use crate::drops::{SocketCounters, SocketCounts};
use crate::symbols::TAP;

/// Where a capture's packets wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Buffer {
    /// The receive buffer of a packet socket.
    Socket,
    /// A packet socket's ring in shared memory.
    Ring,
    /// The rings of a tap.
    Tap,
    /// The rings of an AF_XDP socket.
    Xdp,
}

/// One capture.
#[derive(Clone, Debug)]
pub struct Capture {
    /// What it is found again by.
    pub id: CaptureId,
    /// Where its packets wait.
    pub buffer: Buffer,
    /// The process that has it; 0 where that may not be known.
    pub process: u32,
    /// What the process calls itself.
    pub program: String,
    /// Bytes that its buffer has room for; 0 where that is not told.
    pub capacity: u64,
    /// Bytes that wait in it; `None` where that may not be known.
    pub waiting: Option<u64>,
    /// Instructions of the socket's classic filter.
    pub filter_length: u32,
    /// What it counted.
    pub counts: CaptureCounts,
}

/// A socket by its number, or a tap by its map's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CaptureId {
    /// A packet socket, or one of AF_XDP.
    Socket(u32),
    /// A tap.
    Tap(u32),
}

/// What a capture counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureCounts {
    /// Packets that it was to have, those dropped included; `None` where that may not be known.
    pub seen: Option<u64>,
    /// Packets for which there was no room; `None` where that may not be known.
    pub dropped: Option<u64>,
}

impl CaptureCounts {
    /// Owners may have asked meanwhile, which resets a socket's counters: what there is then came since.
    pub(super) fn since(self, before: Self) -> Self {
        let step = |now: Option<u64>, before: Option<u64>| {
            Some(now?).zip(before).map(|(now, before)| now.checked_sub(before).unwrap_or(now))
        };
        Self { seen: step(self.seen, before.seen), dropped: step(self.dropped, before.dropped) }
    }
}

/// Finds captures and reads their counters.
#[derive(Debug)]
pub struct Watcher {
    sockets: Option<SocketCounters>,
    taps: HashMap<u32, WatchedRings>,
}

/// `ETH_P_ALL` and the like; a socket of none only sends.
const NONE: u16 = 0;

impl Watcher {
    /// A watcher, and what is missing where the counters of rings may not be read.
    pub fn new() -> (Self, Option<Error>) {
        let (sockets, missing) = match SocketCounters::new() {
            Ok(sockets) => (Some(sockets), None),
            Err(error) => (None, Some(error)),
        };
        (Self { sockets, taps: HashMap::new() }, missing)
    }

    /// The packet sockets, AF_XDP sockets and taps on interfaces with these indices.
    pub(super) fn captures(&mut self, interfaces: &[u32]) -> Vec<Capture> {
        // A namespace without processes that may be looked at has none.
        let processes = task::in_this_namespace().unwrap_or_default();
        let mut captures = self.sockets(interfaces, &processes);
        let has_xdp = xsk::are_in_use();
        for process in processes {
            let attached = Attached::by_process(process).unwrap_or_default();
            let here = attached.iter().filter(|attached| interfaces.contains(&attached.interface));
            let programs: Vec<_> = here.map(|attached| attached.program).collect();
            captures.extend(self.taps(process, &programs));
            // An AF_XDP socket's interface is not told; its owner's program is on it, unless somebody else attached that.
            if has_xdp && (!programs.is_empty() || attached.is_empty()) {
                captures.extend(of_xdp(process));
            }
        }
        captures
    }

    fn sockets(&self, interfaces: &[u32], processes: &[u32]) -> Vec<Capture> {
        let sockets = netlink::packet_sockets().unwrap_or_default();
        let is_meant = |s: &PacketSocket| {
            s.protocol != NONE && (s.interface == 0 || interfaces.contains(&s.interface))
        };
        let sockets: Vec<_> = sockets.into_iter().filter(is_meant).collect();
        if sockets.is_empty() {
            return Vec::new();
        }
        let counts = self.sockets.as_ref().and_then(|counters| counters.read().ok());
        let owners = owners(processes);
        let capture = |socket: &PacketSocket| {
            let process = owners.get(&socket.inode).copied().unwrap_or(0);
            let counts = counts.as_ref().and_then(|counts| counts.get(&socket.inode));
            of_socket(socket, process, counts.copied())
        };
        sockets.iter().map(capture).collect()
    }

    fn taps(&mut self, process: u32, programs: &[u32]) -> Vec<Capture> {
        let mut maps: Vec<_> =
            programs.iter().flat_map(|program| maps_of(*program).unwrap_or_default()).collect();
        // Both directions' programs fill the same rings.
        maps.sort_unstable();
        maps.dedup();
        maps.into_iter().filter_map(|id| self.tap(id, process)).collect()
    }

    fn tap(&mut self, id: u32, process: u32) -> Option<Capture> {
        let rings = match self.taps.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(WatchedRings::open(id, TAP).ok()?),
        };
        let counters = rings.counters();
        let (waiting, room) = rings.fill();
        Some(Capture {
            id: CaptureId::Tap(id),
            buffer: Buffer::Tap,
            process,
            program: task::name(process),
            capacity: room * rings.rings() as u64,
            waiting: Some(waiting),
            filter_length: 0,
            counts: CaptureCounts {
                seen: Some(counters.captured + counters.dropped),
                dropped: Some(counters.dropped),
            },
        })
    }
}

/// Without leave to read a ring's own counter, only a socket without one tells what it dropped.
fn of_socket(socket: &PacketSocket, process: u32, counts: Option<SocketCounts>) -> Capture {
    let plain = socket.ring.is_none().then_some(socket.dropped.into());
    Capture {
        id: CaptureId::Socket(socket.inode),
        buffer: if socket.ring.is_some() { Buffer::Ring } else { Buffer::Socket },
        process,
        program: task::name(process),
        capacity: socket.capacity(),
        waiting: socket.ring.is_none().then_some(socket.waiting.into()),
        filter_length: socket.filter_length,
        counts: CaptureCounts {
            seen: counts.map(|counts| counts.seen.into()),
            dropped: plain.or(counts.map(|counts| counts.dropped.into())),
        },
    }
}

/// Those of a process that may be looked at. What came to them is not counted, only what found no room.
fn of_xdp(process: u32) -> Vec<Capture> {
    let capture = |(number, told): (u32, xsk::Statistics)| Capture {
        id: CaptureId::Socket(number),
        buffer: Buffer::Xdp,
        process,
        program: task::name(process),
        capacity: 0,
        waiting: None,
        filter_length: 0,
        counts: CaptureCounts { seen: None, dropped: Some(told.dropped + told.ring_full) },
    };
    xsk::of_process(process).unwrap_or_default().into_iter().map(capture).collect()
}

fn owners(processes: &[u32]) -> HashMap<u32, u32> {
    let of = |process: &u32| {
        let process = *process;
        task::sockets(process).into_iter().map(move |socket| (socket, process))
    };
    processes.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_were_reset_meanwhile_begin_anew() {
        let counts = |seen, dropped| CaptureCounts { seen: Some(seen), dropped };
        let since = counts(5, Some(30)).since(counts(100, Some(10)));
        assert_eq!(since, counts(5, Some(20)));
        assert_eq!(counts(5, None).since(counts(1, Some(1))), counts(4, None));
    }
}
