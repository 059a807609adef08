//! The packets that the kernel throws away, with its reasons, and those that sockets had no room for.
//!
//! Both are asked by small programs in the kernel: one hears of every skb that is dropped (tracepoint
//! `kfree_skb`) and counts by reason, place and interface; the other looks through all open files for packet
//! sockets, and reads their counters without resetting them, as only their owner's question does. The kernel's own
//! description of its types (BTF) says where things are.

mod program;

use std::collections::HashMap;

use linerate_base::{Error, ErrorKind, Result};
use linerate_bpf::extended::Instruction;
use linerate_sys::bpf::{Iteration, Map, MapSpec, Program, ProgramKind, ProgramSpec, Tracing};
use linerate_sys::btf::Btf;
use linerate_sys::task;

use program::{Fields, RECORD};

/// What programs and maps are called.
const NAME: &str = "linerate_drops";

/// Packets that the kernel dropped for one reason at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drop {
    /// The kernel's name for the reason, such as `OTHERHOST`.
    pub reason: String,
    /// An address in the function that dropped them.
    pub place: u64,
    /// The index of the interface that they came from or were for.
    pub interface: u32,
    /// How many.
    pub packets: u64,
}

/// Counts what the kernel drops in this network namespace, as long as it lives.
#[derive(Debug)]
pub struct Drops {
    counts: Map,
    reasons: HashMap<u32, String>,
    _program: Program,
    _tracing: Tracing,
}

/// Reasons times places times interfaces that are counted.
const MOST: u32 = 4096;

impl Drops {
    /// Begins to count.
    ///
    /// # Errors
    /// Without the capabilities CAP_BPF and CAP_PERFMON; [`ErrorKind::Unsupported`] where the kernel does not
    /// describe its types, or gives no reasons (before Linux 5.17).
    pub fn watch() -> Result<Self> {
        let btf = Btf::of_kernel()?;
        let fields = Fields::find(&btf).ok_or_else(unknown_types)?;
        let reasons = btf.enumeration("skb_drop_reason").into_iter();
        let reasons = reasons.map(|(name, value)| (value, short(&name).to_owned())).collect();
        let namespace = task::network_namespace()
            .map_err(|e| Error::system("ask for the network namespace", e))?;
        let counts = Map::new(&MapSpec::hash(NAME, 16, 8, MOST).preallocated())?;
        let code = program::count_drops(&fields, &counts, namespace as u32);
        let words: Vec<u64> = code.iter().map(Instruction::encode).collect();
        let program = Program::load(&ProgramSpec::new(ProgramKind::RawTracepoint, &words, NAME))?;
        let tracing = Tracing::attach(&program, c"kfree_skb")?;
        Ok(Self { counts, reasons, _program: program, _tracing: tracing })
    }

    /// What was dropped so far, the most first.
    ///
    /// # Errors
    /// None that can be expected.
    pub fn counted(&self) -> Result<Vec<Drop>> {
        let (mut drops, mut key) = (Vec::new(), None);
        while let Some(next) = self.counts.next_key(key.as_deref())? {
            if let Some(count) = self.counts.lookup(&next)? {
                drops.push(self.drop(&next, &count));
            }
            key = Some(next);
        }
        drops.sort_by_key(|drop| std::cmp::Reverse(drop.packets));
        Ok(drops)
    }

    fn drop(&self, key: &[u8], count: &[u8]) -> Drop {
        let (long, short) = (key.as_chunks().0, key.as_chunks().0);
        let reason = u32::from_ne_bytes(short[2]);
        let name = self.reasons.get(&reason);
        Drop {
            reason: name.map_or_else(|| format!("reason {reason}"), Clone::clone),
            place: u64::from_ne_bytes(long[0]),
            interface: u32::from_ne_bytes(short[3]),
            packets: count.first_chunk().map_or(0, |count| u64::from_ne_bytes(*count)),
        }
    }
}

/// `SKB_DROP_REASON_OTHERHOST` is `OTHERHOST`.
fn short(name: &str) -> &str {
    name.strip_prefix("SKB_DROP_REASON_").or_else(|| name.strip_prefix("SKB_")).unwrap_or(name)
}

fn unknown_types() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "look for packets that the kernel drops",
        "its types are not described as this program knows them",
    )
}

/// What a packet socket has counted since its owner last asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketCounts {
    /// Packets for which there was no room.
    pub dropped: u32,
    /// Packets that passed its filter, those dropped included.
    pub seen: u32,
}

/// Reads the counters of packet sockets, whoever has them.
#[derive(Debug)]
pub struct SocketCounters {
    iteration: Iteration,
    _program: Program,
}

impl SocketCounters {
    /// Prepares it.
    ///
    /// # Errors
    /// As [`Drops::watch`], and before Linux 5.8.
    pub fn new() -> Result<Self> {
        let btf = Btf::of_kernel()?;
        let fields = Fields::find(&btf).ok_or_else(unknown_types)?;
        let target = btf.function("bpf_iter_task_file").ok_or_else(unknown_types)?;
        let words: Vec<u64> =
            program::list_sockets(&fields).iter().map(Instruction::encode).collect();
        let spec = ProgramSpec::new(ProgramKind::Iterator, &words, NAME).over(target);
        let program = Program::load(&spec)?;
        Ok(Self { iteration: Iteration::new(&program)?, _program: program })
    }

    /// The counters by the sockets' numbers.
    ///
    /// # Errors
    /// When the kernel has no memory for it.
    pub fn read(&self) -> Result<HashMap<u32, SocketCounts>> {
        let written = self.iteration.run();
        let written =
            written.map_err(|e| Error::system("read the counters of packet sockets", e))?;
        Ok(written.as_chunks::<RECORD>().0.iter().map(counts).collect())
    }
}

fn counts(record: &[u8; RECORD]) -> (u32, SocketCounts) {
    let [inode, _, dropped, kept] = *record.as_chunks().0 else { unreachable!("of 16 bytes") };
    let [inode, dropped, kept] = [inode, dropped, kept].map(u32::from_ne_bytes);
    // The owner is told the sum, too (`packet_getsockopt` in net/packet/af_packet.c, Linux 6.18).
    (inode, SocketCounts { dropped, seen: kept.wrapping_add(dropped) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_capture::{Backend, Config, Interrupt};
    use linerate_lab::traffic::Flow;
    use linerate_lab::{Lab, need};

    #[test]
    fn what_a_hosts_stack_drops_is_counted_by_reason_and_only_there() {
        if !need::root() {
            return;
        }
        let lab = Lab::plan().host("a").host("b").quiet().build().unwrap();
        let (a, b) = (lab.host("a"), lab.host("b"));
        let (here, there) = (b.run(Drops::watch).unwrap(), a.run(Drops::watch).unwrap());
        // Nobody listens at this port.
        Flow::ipv4(a, b, 5000, 7).send_frames(300, 10).unwrap();
        let of = |drops: &Drops| {
            let counted = drops.counted().unwrap().into_iter();
            counted.filter(|drop| drop.reason == "NO_SOCKET").collect::<Vec<_>>()
        };
        let found = of(&here);
        let packets: u64 = found.iter().map(|drop| drop.packets).sum();
        assert_eq!(packets, 300, "{found:?}");
        assert!(found.iter().all(|drop| drop.interface == b.interface_index()));
        assert_eq!(of(&there), []);
    }

    #[test]
    fn counters_of_sockets_are_read_without_their_owners() {
        if !need::root() {
            return;
        }
        let lab = Lab::plan().host("a").host("b").quiet().build().unwrap();
        let (a, b) = (lab.host("a"), lab.host("b"));
        let capture = b.run(|| {
            let mut config = Config::new(b.interface(), Interrupt::new().unwrap());
            config.backend = Some(Backend::Ring);
            linerate_capture::open(&config).unwrap()
        });
        let counters = SocketCounters::new().unwrap();
        Flow::ipv4(a, b, 5000, 7).send_frames(300, 10).unwrap();
        let own = task::sockets(std::process::id());
        let seen = || -> Vec<_> {
            let counts = counters.read().unwrap();
            own.iter().filter_map(|socket| counts.get(socket)).map(|counts| counts.seen).collect()
        };
        // The host's complaints that nobody listens are among them; asking resets nothing.
        for _ in 0..2 {
            let seen = seen();
            assert!(seen.iter().any(|seen| (300..600).contains(seen)), "{seen:?}");
        }
        drop(capture);
    }

    #[test]
    fn names_of_reasons_are_shortened() {
        assert_eq!(short("SKB_DROP_REASON_OTHERHOST"), "OTHERHOST");
        assert_eq!(short("SKB_CONSUMED"), "CONSUMED");
    }
}
