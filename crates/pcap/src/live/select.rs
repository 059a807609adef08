//! A descriptor on which programs wait for packets.

use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd};

use linerate::base::{Error, Result, Source};
use linerate::sys::event::{Event, PollSet};

use crate::abi::ERROR;
use crate::entry::entry;
use crate::handle::{self, Handle, Inner, Kind};

/// One descriptor for whatever source a capture has. It is readable while packets wait in the source, or here, where
/// those of a batch wait of which the program has taken some.
pub(crate) struct Selectable {
    all: PollSet,
    here: Event,
    some_wait: bool,
}

impl Selectable {
    fn over(source: &mut dyn Source) -> Result<Self> {
        let made = || {
            let here = Event::new()?;
            Ok((PollSet::of(&[here.as_fd()])?, here))
        };
        let (all, here) =
            made().map_err(|e| Error::system("make a descriptor to wait for packets on", e))?;
        let selectable = Self { all, here, some_wait: false };
        selectable.follow(source)?;
        Ok(selectable)
    }

    /// Waits for another source. The one before leaves by itself when it is closed.
    pub(crate) fn follow(&self, source: &mut dyn Source) -> Result<()> {
        let watched = source.watch()?;
        self.all.add(watched).map_err(|e| Error::system("wait for another source", e))
    }

    /// Tells whether packets wait here.
    fn tell(&mut self, some_wait: bool) {
        match (some_wait, std::mem::replace(&mut self.some_wait, some_wait)) {
            (true, false) => self.here.raise(),
            (false, true) => self.here.clear(),
            _ => {}
        }
    }
}

impl Inner {
    /// Keeps the descriptor true to what waits.
    pub(crate) fn tell_waiting(&mut self) {
        if let Kind::Live(live) = &mut self.kind
            && let Some(selectable) = &mut live.selectable
        {
            selectable.tell(self.lent.has_next());
        }
    }

    /// The descriptor of a live capture, from now on true.
    fn selectable(&mut self) -> c_int {
        let Kind::Live(live) = &mut self.kind else { return ERROR };
        if live.selectable.is_none() {
            match Selectable::over(&mut live.source) {
                Ok(selectable) => live.selectable = Some(selectable),
                Err(error) => return self.refuse(&error),
            }
        }
        let fd = live.selectable.as_ref().map_or(ERROR, |s| s.all.as_fd().as_raw_fd());
        self.tell_waiting();
        fd
    }
}

entry! {
    /// The descriptor that a live capture has, only to be waited on; -1 for other handles.
    fn pcap_fileno(handle: *mut Handle) -> c_int, ERROR => {
        handle::inner_or(handle, Inner::selectable)
    }

    /// A descriptor that is readable while packets wait, and of a savefile that of its stream; -1 for handles without.
    fn pcap_get_selectable_fd(handle: *mut Handle) -> c_int, ERROR => {
        handle::inner_or(handle, |inner| match inner.savefile() {
            Some(savefile) => libc::fileno(savefile.stream()),
            None => inner.selectable(),
        })
    }

    /// How long to wait on that descriptor at most: null, as long as one likes.
    fn pcap_get_required_select_timeout(_handle: *mut Handle) -> *const libc::timeval, std::ptr::null() => {
        std::ptr::null()
    }
}
