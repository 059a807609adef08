//! What a `pcap_t` is, and what went wrong with it.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_int, c_uint};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use linerate::base::LinkType;

use crate::abi::{ERRBUF_SIZE, ERROR, PRECISION_MICRO, PRECISION_NANO, PacketHeader};
use crate::entry::entry;
use crate::filter::{Chosen, Compiled};
use crate::names::datalink::{dlt, link_type};
use crate::packets::Lent;
use crate::pointer;
use crate::savefile::open::Savefile;

/// What a `pcap_t *` points to.
///
/// One thread at a time uses a handle, as libpcap demands; only `stop` may be touched by others and by
/// signal handlers. So nobody has a reference to the rest but for the moments in which `inner` lends it.
pub struct Handle {
    pub(crate) stop: AtomicBool,
    inner: UnsafeCell<Inner>,
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
    /// The filter that is set.
    pub(crate) chosen: Option<Chosen>,
    /// Packets that the source has lent.
    pub(crate) lent: Lent,
    /// Of the packet that the caller looks at.
    pub(crate) header: PacketHeader,
}

/// Where a handle's packets come from.
pub(crate) enum Kind {
    /// Nowhere: `pcap_open_dead`.
    Dead,
    /// A savefile.
    File(Box<Savefile>),
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
        };
        Box::into_raw(Box::new(Self {
            stop: AtomicBool::new(false),
            inner: UnsafeCell::new(inner),
        }))
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
    pub(crate) fn fail(&mut self, text: &str) {
        self.message = pointer::message(text);
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
            Kind::Dead => None,
        }
    }
}

entry! {
    /// A handle without packets, for compiling filters and writing savefiles.
    fn pcap_open_dead(link: c_int, snapshot: c_int) -> *mut Handle, ptr::null_mut() => {
        Handle::allocate(Kind::Dead, link_type(link), snapshot, Precision::Micro)
    }

    /// The same for packets with times of this precision; null for one that does not exist.
    fn pcap_open_dead_with_tstamp_precision(
        link: c_int,
        snapshot: c_int,
        precision: c_uint
    ) -> *mut Handle, ptr::null_mut() => {
        let Some(precision) = Precision::from_number(precision) else { return ptr::null_mut() };
        Handle::allocate(Kind::Dead, link_type(link), snapshot, precision)
    }

    /// Closes a handle, and its savefile unless that is standard input.
    fn pcap_close(handle: *mut Handle) -> (), () => {
        if !handle.is_null() {
            drop(Box::from_raw(handle));
        }
    }

    /// Has the loop that runs, or the next one, return. May be called by a signal handler and by any thread.
    fn pcap_breakloop(handle: *mut Handle) -> (), () => {
        if !handle.is_null() {
            (*handle).stop.store(true, Ordering::Relaxed);
        }
    }

    /// What the first byte of a packet means, as a number of `pcap/dlt.h`.
    fn pcap_datalink(handle: *mut Handle) -> c_int, ERROR => {
        inner_or(handle, |inner| dlt(inner.link_type))
    }

    /// The most bytes kept of a packet.
    fn pcap_snapshot(handle: *mut Handle) -> c_int, ERROR => {
        inner_or(handle, |inner| inner.snapshot)
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
