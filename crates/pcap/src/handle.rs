//! What a `pcap_t` is, and what went wrong with it.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_int, c_uint};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use linerate::base::LinkType;
use linerate::capture::{Interrupt, UserFilter};

use crate::abi::{
    ERRBUF_SIZE, ERROR, ERROR_ACTIVATED, ERROR_NOT_ACTIVATED, ERROR_PRECISION, ExtendedStat,
    PRECISION_MICRO, PRECISION_NANO, PacketHeader,
};
use crate::entry::entry;
use crate::filter::Compiled;
use crate::live::settings::Settings;
use crate::live::source::Live;
use crate::names::datalink::{dlt, link_type};
use crate::packets::Lent;
use crate::pointer;
use crate::savefile::open::Savefile;
use crate::winpcap::dump::Dumping;
use crate::winpcap::sampling::Sampling;

/// What a `pcap_t *` points to.
///
/// One thread at a time uses a handle, as libpcap demands; only what ends a wait may be touched by others and by
/// signal handlers. So nobody has a reference to the rest but for the moments in which `inner` lends it.
///
/// The rest goes first: a signal may come while a capture is closed, which takes a while.
pub struct Handle {
    inner: UnsafeCell<Inner>,
    /// Ends a wait for packets of a live capture.
    interrupt: Option<Interrupt>,
    stop: Arc<AtomicBool>,
}

/// All of a handle that belongs to the thread that uses it.
pub(crate) struct Inner {
    pub(crate) kind: Kind,
    pub(crate) link_type: LinkType,
    pub(crate) snapshot: c_int,
    pub(crate) precision: Precision,
    /// What went wrong last, as a C string.
    pub(crate) message: [u8; ERRBUF_SIZE],
    /// What was compiled last, to be known again when it is set as the filter.
    pub(crate) compiled: Option<Compiled>,
    /// The filter that runs in user space.
    pub(crate) chosen: Option<UserFilter>,
    /// Packets that the source has lent.
    pub(crate) lent: Lent,
    /// Of the packet that the caller looks at.
    pub(crate) header: PacketHeader,
    pub(crate) sampling: Sampling,
    /// What `pcap_stats_ex` has told last.
    pub(crate) counts: ExtendedStat,
}

/// Where a handle's packets come from.
pub(crate) enum Kind {
    /// Nowhere: `pcap_open_dead`.
    Dead,
    /// A savefile.
    File(Box<Savefile>),
    /// An interface, on which the capture has not begun.
    Created(Box<Settings>),
    /// An interface.
    Live(Box<Live>),
    /// An interface, whose packets a thread writes to a file.
    Dumping(Dumping),
}

/// What the second member of a packet's time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Micro,
    Nano,
}

impl Precision {
    /// By its number in `pcap/pcap.h`.
    pub(crate) fn from_number(number: c_uint) -> Option<Self> {
        match number {
            PRECISION_MICRO => Some(Self::Micro),
            PRECISION_NANO => Some(Self::Nano),
            _ => None,
        }
    }
}

impl Handle {
    /// A new handle, in memory of its own.
    pub(crate) fn allocate(
        kind: Kind,
        link_type: LinkType,
        snapshot: c_int,
        precision: Precision,
        interrupt: Option<Interrupt>,
    ) -> *mut Self {
        let inner = Inner {
            kind,
            link_type,
            snapshot,
            precision,
            message: [0; ERRBUF_SIZE],
            compiled: None,
            chosen: None,
            lent: Lent::default(),
            header: PacketHeader { ts: libc::timeval { tv_sec: 0, tv_usec: 0 }, caplen: 0, len: 0 },
            sampling: Sampling::default(),
            counts: ExtendedStat::default(),
        };
        Box::into_raw(Box::new(Self {
            stop: Arc::default(),
            interrupt,
            inner: UnsafeCell::new(inner),
        }))
    }
}

impl Handle {
    /// Has the loop that runs, or the next one, return. Safe in signal handlers.
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(interrupt) = &self.interrupt {
            interrupt.trigger();
        }
    }

    /// True when a loop is to return.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The flag that ends loops.
    pub(crate) fn stop_flag(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    /// Lets loops run again.
    pub(crate) fn go_on(&self) {
        if let Some(interrupt) = &self.interrupt {
            interrupt.clear();
        }
        self.stop.store(false, Ordering::Relaxed);
    }
}

/// What belongs to the caller's thread of `handle`; `None` for null.
///
/// # Safety
/// `handle` is null or open, no other thread uses it, and the result is given up before the caller's code runs
/// again or this is called anew.
pub(crate) unsafe fn inner<'a>(handle: *mut Handle) -> Option<&'a mut Inner> {
    // SAFETY: null or open; that nobody else has a reference is the contract.
    unsafe { handle.as_ref().map(|handle| &mut *handle.inner.get()) }
}

impl Inner {
    /// Keeps what went wrong.
    #[cold]
    pub(crate) fn fail(&mut self, text: &str) {
        self.message = pointer::message(text);
    }

    /// Sets what the second member of a packet's time is to count: 0, or an error.
    pub(crate) fn set_precision(&mut self, number: c_int) -> c_int {
        let wanted = c_uint::try_from(number).ok().and_then(Precision::from_number);
        match (wanted, &self.kind) {
            (None, Kind::Created(_)) => ERROR_PRECISION,
            (Some(precision), Kind::Created(_)) => {
                self.precision = precision;
                0
            }
            _ => ERROR_ACTIVATED,
        }
    }

    /// What went wrong last.
    pub(crate) fn last_message(&self) -> String {
        let text = CStr::from_bytes_until_nul(&self.message).unwrap_or_default();
        text.to_string_lossy().into_owned()
    }

    /// The savefile that it reads; `None` where it reads none.
    pub(crate) fn savefile(&self) -> Option<&Savefile> {
        match &self.kind {
            Kind::File(savefile) => Some(savefile),
            _ => None,
        }
    }
}

entry! {
    /// A handle without packets, for compiling filters and writing savefiles.
    fn pcap_open_dead(link: c_int, snapshot: c_int) -> *mut Handle, ptr::null_mut() => {
        Handle::allocate(Kind::Dead, link_type(link), snapshot, Precision::Micro, None)
    }

    /// The same for packets with times of this precision; null for one that does not exist.
    fn pcap_open_dead_with_tstamp_precision(
        link: c_int,
        snapshot: c_int,
        precision: c_uint
    ) -> *mut Handle, ptr::null_mut() => {
        let Some(precision) = Precision::from_number(precision) else { return ptr::null_mut() };
        Handle::allocate(Kind::Dead, link_type(link), snapshot, precision, None)
    }

    /// Closes a handle, and its savefile unless that is standard input. A dump that runs ends.
    fn pcap_close(handle: *mut Handle) -> (), () => {
        if !handle.is_null() {
            (*handle).stop();
            drop(Box::from_raw(handle));
        }
    }

    /// Has the loop that runs, or the next one, return. May be called by a signal handler and by any thread.
    fn pcap_breakloop(handle: *mut Handle) -> (), () => {
        if !handle.is_null() {
            (*handle).stop();
        }
    }

    /// What the first byte of a packet means, as a number of `pcap/dlt.h`.
    fn pcap_datalink(handle: *mut Handle) -> c_int, ERROR => {
        active_or(handle, |inner| dlt(inner.link_type))
    }

    /// The most bytes kept of a packet.
    fn pcap_snapshot(handle: *mut Handle) -> c_int, ERROR => {
        active_or(handle, |inner| inner.snapshot)
    }

    /// Bytes of memory in which packets wait; of a savefile, those of its longest packet.
    fn pcap_bufsize(handle: *mut Handle) -> c_int, ERROR => {
        active_or(handle, |inner| match &inner.kind {
            Kind::Live(live) => c_int::try_from(live.config.buffer).unwrap_or(c_int::MAX),
            Kind::File(_) => inner.snapshot,
            Kind::Dead | Kind::Created(_) | Kind::Dumping(_) => 0,
        })
    }

    /// What the second member of a packet's time counts.
    fn pcap_get_tstamp_precision(handle: *mut Handle) -> c_int, ERROR => {
        inner_or(handle, |inner| match inner.precision {
            Precision::Micro => PRECISION_MICRO as c_int,
            Precision::Nano => PRECISION_NANO as c_int,
        })
    }
}

/// What `read` says of a handle; [`ERROR`] for null.
///
/// # Safety
/// As of [`inner`].
pub(crate) unsafe fn inner_or(
    handle: *mut Handle,
    read: impl FnOnce(&mut Inner) -> c_int,
) -> c_int {
    // SAFETY: the contract is the same.
    unsafe { inner(handle) }.map_or(ERROR, read)
}

/// The same of a handle that has a link type; of a capture that has not begun an error.
///
/// # Safety
/// As of [`inner`].
pub(crate) unsafe fn active_or(
    handle: *mut Handle,
    read: impl FnOnce(&mut Inner) -> c_int,
) -> c_int {
    let checked = |inner: &mut Inner| match inner.kind {
        Kind::Created(_) => {
            inner.fail("the capture has not begun: pcap_activate begins it");
            ERROR_NOT_ACTIVATED
        }
        _ => read(inner),
    };
    // SAFETY: the contract is the same.
    unsafe { inner_or(handle, checked) }
}
