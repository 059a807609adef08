//! The beginning of a capture.

use std::ffi::{c_char, c_int};
use std::ptr;

use linerate::base::{ErrorKind, LinkType};
use linerate::capture::ANY;

use super::environment;
use super::settings::{pcap_create, pcap_set_promisc, pcap_set_snaplen, pcap_set_timeout};
use super::source::Live;
use crate::abi::{
    ERROR, ERROR_ACTIVATED, ERROR_DOWN, ERROR_NO_DEVICE, ERROR_NO_MONITOR, ERROR_PERMISSION,
    WARNING_PROMISCUOUS,
};
use crate::entry::entry;
use crate::handle::{self, Handle, Inner, Kind, pcap_close};
use crate::pointer;

/// The status that says why a capture cannot begin.
fn status(kind: ErrorKind) -> c_int {
    match kind {
        ErrorKind::Permission => ERROR_PERMISSION,
        ErrorKind::NotFound => ERROR_NO_DEVICE,
        ErrorKind::Down => ERROR_DOWN,
        _ => ERROR,
    }
}

fn activate(inner: &mut Inner) -> c_int {
    let Kind::Created(settings) = &inner.kind else { return ERROR_ACTIVATED };
    if settings.wants_monitor {
        return ERROR_NO_MONITOR;
    }
    let mut config = settings.config.clone();
    if let Err(text) = environment::apply(&mut config) {
        inner.fail(&text);
        return ERROR;
    }
    let is_any = config.interface == ANY;
    // Programs that do not choose one expect the older header.
    config.link_type = is_any.then_some(LinkType::LINUX_SLL);
    let has_no_promiscuous = is_any && config.promiscuous;
    let snapshot = c_int::try_from(config.snaplen).unwrap_or(c_int::MAX);
    match Live::open(config, settings) {
        Ok(live) => {
            let link_type = live.config.link_type.or_else(|| live.link_types.first().copied());
            (inner.link_type, inner.snapshot) = (link_type.unwrap_or_default(), snapshot);
            inner.kind = Kind::Live(live);
        }
        Err(error) => {
            inner.fail(&environment::words(&error));
            return status(error.kind());
        }
    }
    if has_no_promiscuous {
        inner.fail("Promiscuous mode not supported on the \"any\" device");
        return WARNING_PROMISCUOUS;
    }
    0
}

entry! {
    /// Begins to capture: 0, a warning above, an error below.
    fn pcap_activate(handle: *mut Handle) -> c_int, ERROR => {
        handle::inner_or(handle, activate)
    }

    /// Begins to capture on an interface; null and the reason where that fails.
    fn pcap_open_live(
        device: *const c_char,
        length: c_int,
        promiscuous: c_int,
        millis: c_int,
        error: *mut c_char
    ) -> *mut Handle, ptr::null_mut() => {
        let handle = pcap_create(device, error);
        pcap_set_snaplen(handle, length);
        pcap_set_promisc(handle, promiscuous);
        pcap_set_timeout(handle, millis);
        let Some(inner) = handle::inner(handle) else { return ptr::null_mut() };
        let status = activate(inner);
        pointer::say(error, &if status == 0 { String::new() } else { inner.last_message() });
        if status >= 0 {
            return handle;
        }
        pcap_close(handle);
        ptr::null_mut()
    }
}
