//! Queues of packets to send, as WinPcap has them: a piece of memory in which a header and its packet follow another,
//! without gaps. Programs may fill it by themselves.

use std::ffi::{c_char, c_int, c_uint};
use std::time::Duration;
use std::{ptr, thread};

use linerate::base::{
    Batch, Descriptor, Error, ErrorKind, Interface, LinkType, Result, Sink, Source, Stats,
    Timestamp,
};
use linerate::transmit::Outlet;
use linerate::transmit::replay::{Frames, Plan, Replayer, Speed, Timing};

use super::{Way, no_room};
use crate::abi::{ERROR, PacketHeader, SendQueue};
use crate::entry::entry;
use crate::handle::{self, Handle, Inner, Precision};
use crate::live::source::Live;
use crate::pointer;

/// Bytes of a packet's header.
const HEADER: usize = size_of::<PacketHeader>();

/// The most packets that are handed over together, and how long to wait for room before asking again.
const BATCH: usize = 64;
const PAUSE: Duration = Duration::from_micros(20);

/// Bytes of the shortest frames of Ethernet, without the check sequence.
const LEAST: usize = 60;

/// From so many packets on a program in the kernel sends them, which takes a while to begin.
const MANY: usize = 1 << 14;

/// The whole packets of a queue, one after the other: each header and what follows it.
#[derive(Clone)]
struct Walk<'a>(&'a [u8]);

impl<'a> Iterator for Walk<'a> {
    type Item = (PacketHeader, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (header, rest) = self.0.split_first_chunk::<HEADER>()?;
        // SAFETY: so many bytes are there, of any alignment, and any bytes are a header.
        let header: PacketHeader = unsafe { ptr::read_unaligned(header.as_ptr().cast()) };
        let (frame, rest) = rest.split_at_checked(header.caplen as usize)?;
        self.0 = rest;
        Some((header, frame))
    }
}

/// Packets, and the bytes that they take of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Total {
    packets: u64,
    bytes: usize,
}

impl Total {
    fn add(&mut self, frame: &[u8]) {
        self.packets += 1;
        self.bytes += HEADER + frame.len();
    }
}

impl Walk<'_> {
    fn total(self) -> Total {
        let mut total = Total::default();
        self.for_each(|(_, frame)| total.add(frame));
        total
    }
}

/// The packets of a queue, as a source for a replay.
struct Packets<'a> {
    bytes: &'a [u8],
    table: Vec<Descriptor>,
    interfaces: [Interface; 1],
    is_played: bool,
}

/// When the first packet of a queue was recorded, wherever its clock begins: a replay takes a time of 0 for none.
const FIRST: Timestamp = Timestamp::from_parts(1, 0);

impl<'a> Packets<'a> {
    fn of(bytes: &'a [u8], precision: Precision) -> Self {
        let (mut table, mut at, mut began) = (Vec::new(), 0, None);
        for (header, frame) in Walk(bytes) {
            let time = time(&header, precision);
            let began = *began.get_or_insert(time);
            let time = Timestamp::from_nanos(FIRST.nanos() + time.nanos_since(began));
            let (offset, length) = ((at + HEADER) as u32, header.caplen);
            let captured = length;
            table.push(Descriptor { time, offset, captured, length, ..Descriptor::default() });
            at += HEADER + frame.len();
        }
        let interface = Interface { link_type: LinkType::ETHERNET, ..Interface::default() };
        Self { bytes, table, interfaces: [interface], is_played: false }
    }
}

/// The time that a packet's header tells.
fn time(header: &PacketHeader, precision: Precision) -> Timestamp {
    let unit = match precision {
        Precision::Micro => 1000,
        Precision::Nano => 1,
    };
    let nanos = header.ts.tv_sec.saturating_mul(1_000_000_000);
    Timestamp::from_nanos(nanos.saturating_add(header.ts.tv_usec.saturating_mul(unit)))
}

impl Source for Packets<'_> {
    fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    fn next_batch(&mut self, _wait: Duration) -> Result<Option<Batch<'_>>> {
        let is_played = std::mem::replace(&mut self.is_played, true);
        Ok((!is_played).then(|| Batch::new(self.bytes, &self.table, &self.interfaces)))
    }

    fn stats(&mut self) -> Result<Stats> {
        let packets = if self.is_played { self.table.len() as u64 } else { 0 };
        Ok(Stats { seen: packets, delivered: packets, ..Stats::default() })
    }

    fn stop(&mut self) -> Result<()> {
        self.is_played = true;
        Ok(())
    }
}

/// Sends a queue's packets until `stop` says true; how many bytes of the queue were sent, and what went wrong. `pace` is
/// the precision of the time stamps to keep to.
fn transmit(
    live: &mut Live,
    bytes: &[u8],
    pace: Option<Precision>,
    stop: &dyn Fn() -> bool,
) -> (usize, Result<()>) {
    let frames = match Outlet::find(&live.config.interface) {
        Ok(outlet) => Frames { longest: outlet.longest(), ..Frames::default() },
        Err(error) => return (0, Err(error)),
    };
    let before = (live.sending.sent, live.sending.refused);
    let (whole, passed) = match pace {
        None => pour(live, bytes, &frames, stop),
        Some(precision) => {
            let room = (frames.slot(), frames.slot());
            let passed = live.sending.through(Way::Paced, &live.config, room, |sink, _| {
                play(frames, sink, &mut Packets::of(bytes, precision), stop)
            });
            (Walk(bytes).total(), passed)
        }
    };
    let (sent, refused) = (live.sending.sent - before.0, live.sending.refused - before.1);
    let interface = &live.config.interface;
    let result = match passed {
        Ok(()) if refused > 0 => Err(no_room(interface)),
        Ok(()) if sent < whole.packets => Err(incomplete(interface, whole.packets - sent)),
        Ok(()) if whole.bytes < bytes.len() => Err(broken(interface)),
        passed => passed,
    };
    let bytes = match sent < whole.packets {
        true => Walk(bytes).take(sent as usize).map(|(_, frame)| HEADER + frame.len()).sum(),
        false => whole.bytes,
    };
    (bytes, result)
}

/// Sends packets when they are due.
fn play(
    frames: Frames,
    sink: &mut dyn Sink,
    packets: &mut Packets<'_>,
    stop: &dyn Fn() -> bool,
) -> Result<()> {
    let timing = Timing::Recorded { speed: Speed::RECORDED, max_gap: None };
    let plan = Plan { frames, timing, count: None, duration: None };
    let mut replayer = Replayer::new(&plan, sink)?;
    let played = replayer.play(packets, &mut |_| stop());
    let (_, flushed) = replayer.finish(None, &mut || stop());
    played.map(drop).and(flushed)
}

/// Sends packets as fast as can be; says how many there are in the queue.
fn pour(
    live: &mut Live,
    bytes: &[u8],
    frames: &Frames,
    stop: &dyn Fn() -> bool,
) -> (Total, Result<()>) {
    let (mut walk, mut total) = (Walk(bytes), Total::default());
    let poured = loop {
        let (way, room) = way_out(walk.clone(), frames);
        let room = (room, frames.slot());
        let poured = live.sending.through(way, &live.config, room, |sink, room| {
            let limits = Limits { room, longest: frames.longest };
            while fill(sink, &mut walk, &limits, &mut total)? && !stop() {}
            sink.flush(&mut || stop())
        });
        if poured.is_err() || stop() || walk.clone().next().is_none() {
            break poured;
        }
    };
    walk.for_each(|(_, frame)| total.add(frame));
    (total, poured)
}

/// Bytes of the frames that a sink gets.
struct Limits {
    /// Of those that it has room for.
    room: usize,
    /// Of those that the device takes; what is longer is not sent.
    longest: usize,
}

/// How the next packets are sent, and how much room they need. A program in the kernel is quicker with frames that are as
/// long as its room.
fn way_out(walk: Walk<'_>, frames: &Frames) -> (Way, usize) {
    let lengths: Vec<_> = walk.map(|(_, frame)| frame.len()).take(MANY).collect();
    if lengths.len() < MANY {
        return (Way::Paced, frames.slot());
    }
    let sent = lengths.into_iter().filter(|length| *length <= frames.longest);
    (Way::Fast, sent.max().unwrap_or_default().max(LEAST))
}

/// Hands over the next packets, if there is room, and adds them up; false where there are none any more, or none that the
/// sink has room for.
fn fill(
    sink: &mut dyn Sink,
    walk: &mut Walk<'_>,
    limits: &Limits,
    total: &mut Total,
) -> Result<bool> {
    let mut slots = sink.acquire(BATCH)?;
    let mut left = slots.room();
    if left == 0 {
        thread::sleep(PAUSE);
        return Ok(true);
    }
    let before = total.packets;
    while left > 0 {
        let mut next = walk.clone();
        let Some((_, frame)) = next.next() else { break };
        let is_sent = frame.len() <= limits.longest;
        if is_sent && frame.len() > limits.room {
            break;
        }
        *walk = next;
        total.add(frame);
        left -= 1;
        if is_sent {
            slots.push(|slot| {
                slot[..frame.len()].copy_from_slice(frame);
                frame.len()
            });
        }
    }
    sink.submit()?;
    Ok(total.packets > before)
}

fn broken(interface: &str) -> Error {
    let asked = format!("send a queue on {interface}");
    Error::new(ErrorKind::Malformed, asked, "the queue ends inside a packet")
        .advise("its length is the sum of its headers and packets")
}

fn incomplete(interface: &str, packets: u64) -> Error {
    let answered = format!("{packets} packets of the queue were not sent");
    Error::new(ErrorKind::Interrupted, format!("send a queue on {interface}"), answered)
        .advise("either the sending was ended, or they are no frames that the interface takes")
}

/// Sends a queue; how many of its bytes were sent.
fn send(inner: &mut Inner, bytes: &[u8], in_time: bool, stop: &dyn Fn() -> bool) -> usize {
    let pace = in_time.then_some(inner.precision);
    let (sent, result) = match inner.sender() {
        Ok(live) => transmit(live, bytes, pace, stop),
        Err(text) => {
            inner.fail(text);
            return 0;
        }
    };
    if let Err(error) = result {
        inner.fail(&error.to_string());
    }
    sent
}

entry! {
    /// A queue with room for so many bytes, headers included; `pcap_sendqueue_destroy` frees it. Null without memory.
    fn pcap_sendqueue_alloc(size: c_uint) -> *mut SendQueue, ptr::null_mut() => {
        let buffer = libc::malloc(size.max(1) as usize).cast::<c_char>();
        if buffer.is_null() {
            return ptr::null_mut();
        }
        Box::into_raw(Box::new(SendQueue { maxlen: size, len: 0, buffer }))
    }

    /// Frees a queue.
    fn pcap_sendqueue_destroy(queue: *mut SendQueue) -> (), () => {
        if !queue.is_null() {
            libc::free(Box::from_raw(queue).buffer.cast());
        }
    }

    /// Puts a packet at a queue's end: 0, or -1 where it has no room.
    fn pcap_sendqueue_queue(
        queue: *mut SendQueue,
        header: *const PacketHeader,
        data: *const u8
    ) -> c_int, ERROR => {
        let (Some(queue), Some(header)) = (queue.as_mut(), header.as_ref()) else { return ERROR };
        let (at, length) = (queue.len as usize, header.caplen as usize);
        let end = at + HEADER + length;
        if end > queue.maxlen as usize || (data.is_null() && length > 0) {
            return ERROR;
        }
        let place = queue.buffer.cast::<u8>().add(at);
        ptr::write_unaligned(place.cast(), *header);
        ptr::copy_nonoverlapping(data, place.add(HEADER), length);
        queue.len = end as c_uint;
        0
    }

    /// Sends a queue, as fast as can be or, where `in_time` is not 0, as its time stamps say: how many of its bytes were
    /// sent, headers included. Where these are not all, the handle has the reason. `pcap_breakloop` ends it.
    fn pcap_sendqueue_transmit(handle: *mut Handle, queue: *const SendQueue, in_time: c_int) -> c_uint, 0 => {
        let Some(queue) = queue.as_ref() else { return 0 };
        let bytes = pointer::values(queue.buffer.cast(), queue.len as usize);
        let mut sent = 0;
        handle::active_or(handle, |inner| {
            sent = send(inner, bytes, in_time != 0, &|| (*handle).is_stopped());
            0
        });
        sent as c_uint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(times: &[(i64, i64)], length: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (tv_sec, tv_usec) in times {
            bytes.extend(tv_sec.to_ne_bytes());
            bytes.extend(tv_usec.to_ne_bytes());
            bytes.extend(length.to_ne_bytes());
            bytes.extend(length.to_ne_bytes());
            bytes.resize(bytes.len() + length as usize, 7);
        }
        bytes
    }

    #[test]
    fn packets_keep_their_distance_wherever_the_clock_begins() {
        for second in [0, -5, 1_700_000_000, i64::MAX / 2_000_000_000] {
            let bytes = queue(&[(second, 10), (second, 30), (second + 1, 0)], 61);
            let packets = Packets::of(&bytes, Precision::Micro);
            let times: Vec<_> =
                packets.table.iter().map(|packet| packet.time.nanos_since(FIRST)).collect();
            assert_eq!(times, [0, 20_000, 999_990_000], "{second}");
            assert_eq!(Walk(&bytes).total(), Total { packets: 3, bytes: bytes.len() });
        }
    }

    #[test]
    fn a_queue_that_is_cut_has_its_whole_packets() {
        let bytes = queue(&[(0, 0), (0, 0)], 5);
        for cut in 0..bytes.len() {
            let packets = Packets::of(&bytes[..cut], Precision::Nano);
            assert_eq!(packets.table.len(), cut / 29, "{cut}");
        }
        let mut huge = bytes;
        huge[16..20].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert!(Packets::of(&huge, Precision::Nano).table.is_empty());
    }
}
