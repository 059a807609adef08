//! Packets, one by one or by a callback.
//!
//! A source lends a batch; the handle keeps where its packets lie and gives them out one after another. A packet's
//! bytes are valid until the handle is asked for the next one, as libpcap's are.

use std::ffi::c_int;
use std::ops::ControlFlow;
use std::time::Duration;
use std::{ptr, slice};

use linerate::base::{Batch, Descriptor, Interface, Matches, Source};
use linerate::sys::prefetch;

use crate::abi::{ERROR, ERROR_BREAK, ERROR_NOT_ACTIVATED, Handler, PacketHeader, PcapStat};
use crate::entry::entry;
use crate::handle::{self, Handle, Inner, Kind, Precision};
use crate::pointer;
use crate::winpcap::dump::BEING_DUMPED;

/// So many packets ahead of the one that is given out the first bytes are fetched, in cache lines.
const AHEAD: usize = 8;
const FETCHED: usize = 256;
const LINE: usize = 64;

/// Packets that a source has lent, which lie in its memory until it is asked for more.
pub(crate) struct Lent {
    region: *const u8,
    length: usize,
    descriptors: Vec<Descriptor>,
    /// Which of them the filter keeps; `None` keeps all.
    kept: Option<Matches>,
    at: usize,
}

impl Default for Lent {
    fn default() -> Self {
        Self { region: ptr::null(), length: 0, descriptors: Vec::new(), kept: None, at: 0 }
    }
}

impl Lent {
    /// Takes a batch in the place of the last one.
    pub(crate) fn take(&mut self, batch: &Batch<'_>) {
        (self.region, self.length) = (batch.region().as_ptr(), batch.region().len());
        self.descriptors.clear();
        self.descriptors.extend_from_slice(batch.descriptors());
        (self.at, self.kept) = (0, None);
    }

    /// The batch, of these interfaces.
    ///
    /// # Safety
    /// The source was not asked for more since.
    unsafe fn batch<'a>(&'a self, interfaces: &'a [Interface]) -> Batch<'a> {
        let region = match self.region.is_null() {
            true => &[],
            // SAFETY: the source's memory is as it was when it was lent.
            false => unsafe { slice::from_raw_parts(self.region, self.length) },
        };
        Batch::new(region, &self.descriptors, interfaces)
    }

    /// The next packet that the filter keeps.
    fn next(&mut self) -> Option<(Descriptor, *const u8)> {
        let at = self.next_kept()?;
        self.at = at + 1;
        self.fetch(at + AHEAD);
        let packet = self.descriptors[at];
        Some((packet, self.region.wrapping_add(packet.offset as usize)))
    }

    /// Has the first lines of a packet come from the core that has read or captured it, which would be waited for one by one.
    fn fetch(&self, at: usize) {
        let Some(packet) = self.descriptors.get(at) else { return };
        let first = self.region.wrapping_add(packet.offset as usize);
        // SAFETY: packets lie in the region, which is the source's until it is asked for more.
        let bytes = unsafe { slice::from_raw_parts(first, packet.captured as usize) };
        (0..bytes.len().min(FETCHED)).step_by(LINE).for_each(|line| prefetch::read(bytes, line));
    }

    /// Whether there is one.
    pub(crate) fn has_next(&self) -> bool {
        self.next_kept().is_some()
    }

    /// How many there are, of which none is filtered any more.
    fn left(&self) -> usize {
        self.descriptors.len() - self.at
    }

    fn next_kept(&self) -> Option<usize> {
        let is_kept = |at: &usize| self.kept.as_ref().is_none_or(|kept| kept.contains(*at));
        (self.at..self.descriptors.len()).find(is_kept)
    }
}

/// What came when a packet was asked for.
enum Step {
    /// A packet, whose header is the handle's.
    Packet(*const u8),
    /// None in time, or no more of those that a live capture had at once.
    Nothing,
    /// A signal came while a savefile was read.
    Again,
    /// None any more.
    End,
}

impl Inner {
    /// Has the filter look at the packets at hand anew.
    pub(crate) fn select(&mut self) {
        let interfaces = match &self.kind {
            Kind::File(savefile) if savefile.large.is_some() => return,
            Kind::File(savefile) => savefile.reader.interfaces(),
            Kind::Live(live) => live.source.interfaces(),
            Kind::Dead | Kind::Created(_) | Kind::Dumping(_) => return,
        };
        self.lent.kept = self.chosen.as_ref().map(|chosen| {
            let mut kept = Matches::new();
            // SAFETY: the source is asked for more by `refill` only, which takes what it lends, and replaced only
            // where what it has lent is given up.
            let batch = unsafe { self.lent.batch(interfaces) };
            chosen.select(&batch, None, &mut kept);
            kept
        });
    }

    /// Has the stream of a large savefile go on by itself from the next packet, before the filter changes.
    pub(crate) fn leave_large(&mut self) -> Result<(), String> {
        let Kind::File(savefile) = &mut self.kind else { return Ok(()) };
        let Some(large) = savefile.large.take_if(|large| large.has_begun()) else { return Ok(()) };
        let mut skipped = large.given(self.lent.left()) as usize;
        self.lent = Lent::default();
        while let Some(batch) =
            savefile.reader.next_batch(Duration::MAX).map_err(|error| error.to_string())?
        {
            let kept = large.kept(&batch);
            match kept.get(skipped) {
                Some(next) => {
                    self.lent.take(&batch);
                    self.lent.at = *next;
                    break;
                }
                None => skipped -= kept.len(),
            }
        }
        Ok(())
    }

    /// Goes on to the next packet; `is_first` of those that a caller asks for at once.
    fn step(&mut self, is_first: bool) -> Result<Step, String> {
        loop {
            if let Some((packet, data)) = self.lent.next() {
                if !self.sampling.admits(packet.time) {
                    continue;
                }
                self.header = header(&packet, self.precision);
                return Ok(Step::Packet(data));
            }
            if self.is_live() && !is_first {
                return Ok(Step::Nothing);
            }
            match self.refill()? {
                Some(0) if self.is_live() => return Ok(Step::Nothing),
                Some(0) => return Ok(Step::Again),
                Some(_) => self.select(),
                None => return Ok(Step::End),
            }
        }
    }

    pub(crate) fn is_live(&self) -> bool {
        matches!(self.kind, Kind::Live(_))
    }

    /// Asks for the next batch; gives how many packets it has, or `None` at the end.
    fn refill(&mut self) -> Result<Option<usize>, String> {
        let savefile = match &mut self.kind {
            Kind::File(savefile) => savefile,
            Kind::Live(live) => {
                let batch = live.next_batch().map_err(|error| error.to_string())?;
                let batch = batch.ok_or("the capture has ended with its interface")?;
                self.lent.take(&batch);
                return Ok(Some(batch.len()));
            }
            Kind::Dead => {
                return Err("no packets are available from a pcap_open_dead pcap_t".into());
            }
            Kind::Created(_) => return Err("the capture has not begun".into()),
            Kind::Dumping(_) => return Err(BEING_DUMPED.into()),
        };
        if let Some(fault) = savefile.fault.take() {
            return Err(fault);
        }
        if let Some(large) = &mut savefile.large {
            if !large.has_begun() {
                large.begin(self.chosen.as_ref());
            }
            return match large.next_batch().map_err(|error| error.to_string())? {
                Some(batch) => {
                    self.lent.take(&batch);
                    Ok(Some(batch.len()))
                }
                None => savefile.end(),
            };
        }
        match savefile.reader.next_batch(Duration::MAX).map_err(|error| error.to_string())? {
            Some(batch) => {
                let (batch, fault) = savefile.rules.allowed(batch);
                self.lent.take(&batch);
                match fault {
                    Some(fault) if batch.is_empty() => Err(fault),
                    fault => {
                        savefile.fault = fault;
                        Ok(Some(batch.len()))
                    }
                }
            }
            None => savefile.end(),
        }
    }
}

/// A packet's header as programs see it. Times that have no place in it are cut.
fn header(packet: &Descriptor, precision: Precision) -> PacketHeader {
    let nanos = packet.time.subsec_nanos();
    let fraction = match precision {
        Precision::Micro => nanos / 1000,
        Precision::Nano => nanos,
    };
    let ts = libc::timeval { tv_sec: packet.time.seconds(), tv_usec: fraction.into() };
    PacketHeader { ts, caplen: packet.captured, len: packet.length }
}

/// Gives up to `count` packets to `handler`, of a count below 1 all; how many they were. Those who wait for packets
/// then know whether there are more.
///
/// # Safety
/// The handle is open and this thread's, and `handler` takes `user`.
unsafe fn deliver(handle: *mut Handle, count: c_int, handler: Handler, user: *mut u8) -> c_int {
    // SAFETY: the contract is the same, and the handler is back.
    unsafe {
        let delivered = hand_out(handle, count, handler, user);
        if let Some(inner) = handle::inner(handle) {
            inner.tell_waiting();
        }
        delivered
    }
}

/// The same without telling.
///
/// # Safety
/// As of [`deliver`].
unsafe fn hand_out(handle: *mut Handle, count: c_int, handler: Handler, user: *mut u8) -> c_int {
    let mut delivered = 0;
    // SAFETY: nothing holds what `inner` lends while the handler runs, and `stop` is shared by all.
    unsafe {
        while count < 1 || delivered < count {
            if (*handle).is_stopped() {
                if delivered > 0 {
                    return delivered;
                }
                (*handle).go_on();
                return ERROR_BREAK;
            }
            let Some(inner) = handle::inner(handle) else { return ERROR };
            if let Kind::Created(_) = inner.kind {
                return ERROR_NOT_ACTIVATED;
            }
            let data = match inner.step(delivered == 0) {
                Ok(Step::Packet(data)) => data,
                Ok(Step::Again) => continue,
                Ok(Step::Nothing) if delivered == 0 && (*handle).is_stopped() => continue,
                Ok(Step::Nothing) => return delivered,
                Ok(Step::End) => return delivered,
                Err(text) => {
                    inner.fail(&text);
                    return ERROR;
                }
            };
            let header = &raw const inner.header;
            handler(user, header, data);
            delivered = delivered.saturating_add(1);
        }
    }
    delivered
}

/// Takes one packet: 1 and where its bytes are, 0 where none came in time, or an error.
///
/// # Safety
/// The handle is null, or open and this thread's.
unsafe fn take(handle: *mut Handle) -> (c_int, *const PacketHeader, *const u8) {
    unsafe extern "C" fn keep(user: *mut u8, header: *const PacketHeader, data: *const u8) {
        // SAFETY: the user's pointer is to the place below.
        unsafe { *user.cast() = (header, data) }
    }
    let mut place: (*const PacketHeader, *const u8) = (ptr::null(), ptr::null());
    if handle.is_null() {
        return (ERROR, place.0, place.1);
    }
    // SAFETY: the handle is open, and `keep` takes such a place.
    let status = unsafe { deliver(handle, 1, keep, (&raw mut place).cast()) };
    (status, place.0, place.1)
}

/// Whether a handle is a live capture, where no packet in time is not the end.
///
/// # Safety
/// As of [`handle::inner`].
unsafe fn is_live(handle: *mut Handle) -> bool {
    // SAFETY: the contract is the same.
    unsafe { handle::inner(handle) }.is_some_and(|inner| inner.is_live())
}

entry! {
    /// Gives packets to a callback until there are `count`, of a count below 1 until the end: 0, or an error, or
    /// `PCAP_ERROR_BREAK` after `pcap_breakloop`.
    fn pcap_loop(
        handle: *mut Handle,
        count: c_int,
        handler: Option<Handler>,
        user: *mut u8
    ) -> c_int, ERROR => again {
        let (Some(handler), false) = (handler, handle.is_null()) else {
            return ControlFlow::Break(ERROR);
        };
        match deliver(handle, count, handler, user) {
            0 if is_live(handle) => {}
            delivered @ ..=0 => return ControlFlow::Break(delivered),
            delivered if count == delivered => return ControlFlow::Break(0),
            delivered if count > 0 => count -= delivered,
            _ => {}
        }
        ControlFlow::Continue(())
    }

    /// Gives up to `count` packets to a callback, of a count below 1 as many as there are; how many they were, or
    /// an error.
    fn pcap_dispatch(
        handle: *mut Handle,
        count: c_int,
        handler: Option<Handler>,
        user: *mut u8
    ) -> c_int, ERROR => {
        let (Some(handler), false) = (handler, handle.is_null()) else { return ERROR };
        deliver(handle, count, handler, user)
    }

    /// The next packet and its header; null where there is none, or an error.
    fn pcap_next(handle: *mut Handle, header: *mut PacketHeader) -> *const u8, ptr::null() => {
        let (status, found, data) = take(handle);
        if status != 1 {
            return ptr::null();
        }
        pointer::put(header, *found);
        data
    }

    /// Gives the next packet and its header: 1, or 0 where none came in time, `PCAP_ERROR_BREAK` at the end of a
    /// savefile, or an error.
    fn pcap_next_ex(
        handle: *mut Handle,
        header: *mut *mut PacketHeader,
        data: *mut *const u8
    ) -> c_int, ERROR => {
        let (status, found, bytes) = take(handle);
        pointer::put(header, found.cast_mut());
        pointer::put(data, bytes);
        match status {
            0 if !is_live(handle) => ERROR_BREAK,
            status => status,
        }
    }

    /// Counts of a live capture; of others there are none.
    fn pcap_stats(handle: *mut Handle, stats: *mut PcapStat) -> c_int, ERROR => {
        handle::active_or(handle, |inner| match inner.live_stats() {
            Ok(counts) => {
                pointer::put(stats, counts.base);
                0
            }
            Err(text) => {
                inner.fail(&text);
                ERROR
            }
        })
    }
}
