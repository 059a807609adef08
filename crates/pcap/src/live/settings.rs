//! What a capture is to be like, told before it begins.

use std::ffi::{c_char, c_int};
use std::hash::{BuildHasher, RandomState};
use std::ptr;
use std::time::Duration;

use linerate::base::{LinkType, TimestampSource};
use linerate::capture::{ANY, Config, HOLD, Interrupt, MAX_SNAPLEN};

use super::protocol;
use crate::abi::{ERROR, ERROR_ACTIVATED, TSTAMP_ADAPTER, TSTAMP_HOST, WARNING_TSTAMP_TYPE};
use crate::entry::entry;
use crate::handle::{self, Handle, Kind, Precision};
use crate::pointer;

/// A wait that only a packet or an interrupt ends.
pub(crate) const FOREVER: Duration = Duration::MAX;

/// The kinds of time stamps that we have.
const STAMPS: [(c_int, TimestampSource); 2] =
    [(TSTAMP_HOST, TimestampSource::Kernel), (TSTAMP_ADAPTER, TimestampSource::Hardware)];

/// A capture that has not begun.
pub(crate) struct Settings {
    pub(crate) config: Config,
    pub(crate) wants_monitor: bool,
    /// The longest wait for packets.
    pub(crate) timeout: Duration,
    pub(crate) is_nonblocking: bool,
    /// The EtherType of packets to see; `None` for all.
    pub(crate) protocol: Option<u16>,
}

/// The mark of what a handle sends: another for each handle, by chance, so that others see it.
fn own_mark() -> u32 {
    let random = RandomState::new().hash_one(0);
    (random as u32).max(1)
}

fn create(name: Option<&str>) -> Result<*mut Handle, String> {
    let interrupt = Interrupt::new().map_err(|error| error.to_string())?;
    let mut config = Config::new(name.unwrap_or(ANY), interrupt.clone());
    // As in libpcap, where promiscuous mode is asked for.
    config.promiscuous = false;
    config.unseen_mark = Some(own_mark());
    let settings = Settings {
        config,
        wants_monitor: false,
        timeout: FOREVER,
        is_nonblocking: false,
        protocol: None,
    };
    let (kind, snapshot) = (Kind::Created(Box::new(settings)), MAX_SNAPLEN as c_int);
    let handle =
        Handle::allocate(kind, LinkType::ETHERNET, snapshot, Precision::Micro, Some(interrupt));
    Ok(handle)
}

/// Changes the settings of a handle: 0, or an error where the capture has begun.
///
/// # Safety
/// As of [`handle::inner`].
unsafe fn change(handle: *mut Handle, change: impl FnOnce(&mut Settings) -> c_int) -> c_int {
    // SAFETY: the contract is the same.
    unsafe {
        handle::inner_or(handle, |inner| match &mut inner.kind {
            Kind::Created(settings) => change(settings),
            _ => ERROR_ACTIVATED,
        })
    }
}

entry! {
    /// A handle for capturing on an interface, of null on all; it begins with `pcap_activate`.
    fn pcap_create(device: *const c_char, error: *mut c_char) -> *mut Handle, ptr::null_mut() => {
        create(pointer::text(device)).unwrap_or_else(|text| {
            pointer::say(error, &text);
            ptr::null_mut()
        })
    }

    /// The most bytes to keep of a packet; outside of what is possible, all of it.
    fn pcap_set_snaplen(handle: *mut Handle, length: c_int) -> c_int, ERROR => {
        change(handle, |settings| {
            let length = u32::try_from(length).ok().filter(|length| (1..=MAX_SNAPLEN).contains(length));
            settings.config.snaplen = length.unwrap_or(MAX_SNAPLEN);
            0
        })
    }

    /// Whether to see frames that are not addressed to this host.
    fn pcap_set_promisc(handle: *mut Handle, promiscuous: c_int) -> c_int, ERROR => {
        change(handle, |settings| {
            settings.config.promiscuous = promiscuous != 0;
            0
        })
    }

    /// Whether to capture in monitor mode, which `pcap_activate` then refuses.
    fn pcap_set_rfmon(handle: *mut Handle, monitor: c_int) -> c_int, ERROR => {
        change(handle, |settings| {
            settings.wants_monitor = monitor != 0;
            0
        })
    }

    /// Whether monitor mode can be set: 0, it cannot.
    fn pcap_can_set_rfmon(handle: *mut Handle) -> c_int, ERROR => {
        change(handle, |_| 0)
    }

    /// The longest wait for packets, in milliseconds; below 1 there is no limit.
    fn pcap_set_timeout(handle: *mut Handle, millis: c_int) -> c_int, ERROR => {
        change(handle, |settings| {
            let limit = u64::try_from(millis).ok().filter(|millis| *millis > 0);
            settings.timeout = limit.map_or(FOREVER, Duration::from_millis);
            settings.config.hold = settings.timeout.min(HOLD);
            0
        })
    }

    /// Whether to deliver each packet as soon as it comes.
    fn pcap_set_immediate_mode(handle: *mut Handle, immediate: c_int) -> c_int, ERROR => {
        change(handle, |settings| {
            settings.config.immediate = immediate != 0;
            0
        })
    }

    /// Bytes of memory in which packets wait; of a size below 1 it stays what it is.
    fn pcap_set_buffer_size(handle: *mut Handle, bytes: c_int) -> c_int, ERROR => {
        change(handle, |settings| {
            let bytes = u64::try_from(bytes).ok().filter(|bytes| *bytes > 0);
            settings.config.buffer = bytes.unwrap_or(settings.config.buffer);
            0
        })
    }

    /// The EtherType of received packets to see, of 0 and `ETH_P_ALL` all; Linux only.
    fn pcap_set_protocol_linux(handle: *mut Handle, protocol: c_int) -> c_int, ERROR => {
        change(handle, |settings| {
            settings.protocol = protocol::wanted(protocol);
            0
        })
    }

    /// Who stamps packets; a warning, and no change, for a kind that we have not.
    fn pcap_set_tstamp_type(handle: *mut Handle, kind: c_int) -> c_int, ERROR => {
        change(handle, |settings| {
            let Some((_, source)) = STAMPS.iter().find(|(known, _)| *known == kind) else {
                return WARNING_TSTAMP_TYPE;
            };
            settings.config.timestamps = *source;
            0
        })
    }

    /// What the second member of a packet's time is to count.
    fn pcap_set_tstamp_precision(handle: *mut Handle, precision: c_int) -> c_int, ERROR => {
        handle::inner_or(handle, |inner| {
            inner.set_precision(precision)
        })
    }

    /// Gives the kinds of time stamps to choose from in memory that `pcap_free_tstamp_types` frees, and their count.
    fn pcap_list_tstamp_types(handle: *mut Handle, list: *mut *mut c_int) -> c_int, ERROR => {
        handle::inner_or(handle, |inner| {
            let memory = pointer::allocate(&STAMPS.map(|(kind, _)| kind));
            if memory.is_null() {
                inner.fail("no memory for the list of time stamps");
                return ERROR;
            }
            pointer::put(list, memory);
            STAMPS.len() as c_int
        })
    }

    /// Whether calls for packets return at once where none are there.
    fn pcap_setnonblock(handle: *mut Handle, nonblocking: c_int, error: *mut c_char) -> c_int, ERROR => {
        handle::inner_or(handle, |inner| {
            match &mut inner.kind {
                Kind::Created(settings) => settings.is_nonblocking = nonblocking != 0,
                Kind::Live(live) => live.is_nonblocking = nonblocking != 0,
                Kind::File(_) | Kind::Dead | Kind::Dumping(_) => {
                    pointer::say(error, "only live captures can be put into non-blocking mode");
                    return ERROR;
                }
            }
            0
        })
    }

    /// 1 where calls for packets return at once, else 0.
    fn pcap_getnonblock(handle: *mut Handle, _error: *mut c_char) -> c_int, ERROR => {
        handle::inner_or(handle, |inner| match &inner.kind {
            Kind::Created(settings) => settings.is_nonblocking.into(),
            Kind::Live(live) => live.is_nonblocking.into(),
            Kind::File(_) | Kind::Dead | Kind::Dumping(_) => 0,
        })
    }
}
