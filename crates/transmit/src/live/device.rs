//! The device that frames are redirected to. What it cannot take vanishes without a word to the program, so it is
//! looked at beforehand, meanwhile and afterwards.

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::netlink;

use crate::link::Link;

/// An interface that takes redirected frames.
#[derive(Debug)]
pub(super) struct Device {
    link: Link,
    mtu: u32,
    /// Frames that it had dropped before.
    dropped: u64,
}

impl Device {
    /// The interface called `name`, if it can take frames.
    ///
    /// # Errors
    /// As [`Link::find`]; [`ErrorKind::Unsupported`] when it takes no redirected frames.
    pub(super) fn find(name: &str) -> Result<Self> {
        let (link, found) = Link::find(name)?;
        if netlink::xdp_features(found.index)?.is_some_and(|features| !features.transmits()) {
            let answered = "the device takes no redirected frames";
            return Err(Error::new(ErrorKind::Unsupported, link.asked(), answered)
                .advise("of a veth pair the peer must have GRO switched on, or an XDP program"));
        }
        Ok(Self { link, mtu: found.mtu, dropped: found.counters.sent_dropped })
    }

    /// By which the kernel knows it.
    pub(super) fn index(&self) -> u32 {
        self.link.index()
    }

    /// The first of the frames that it does not send, and why.
    pub(super) fn misfit<'a>(
        &self,
        frames: impl Iterator<Item = &'a [u8]>,
    ) -> Option<(usize, Error)> {
        self.link.misfit(frames, self.mtu)
    }

    /// That it is still there.
    ///
    /// # Errors
    /// When it is not, or its MTU went down: what is longer the kernel drops without a word.
    pub(super) fn check(&self) -> Result<()> {
        let found = self.link.check()?;
        if found.mtu >= self.mtu {
            return Ok(());
        }
        let answered = format!("the MTU went down from {} to {} bytes", self.mtu, found.mtu);
        Err(Error::new(ErrorKind::Invalid, self.link.asked(), answered)
            .advise("longer frames sent meanwhile may be lost"))
    }

    /// Frames that it has had no room for since: nobody tells the program, but the device counts them. None once it
    /// is gone.
    pub(super) fn dropped(&self) -> u64 {
        let now = self.link.look().map(|found| found.counters.sent_dropped);
        now.unwrap_or_default().saturating_sub(self.dropped)
    }
}
