//! The device that frames are redirected to. What it cannot take vanishes without a word to the program, so it is
//! looked at beforehand, meanwhile and afterwards.

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::interface;
use linerate_sys::netlink;

use crate::sink::gone;

/// An interface that takes redirected frames.
#[derive(Debug)]
pub(super) struct Device {
    name: String,
    pub(super) index: u32,
    mtu: u32,
    /// Frames that it had dropped before.
    dropped: u64,
}

const ETHERNET_HEADER: usize = 14;
/// A VLAN tag counts in no MTU (IEEE 802.1Q, G.2.2).
const TAG: (&[u8], usize) = (&[0x81, 0x00], 4);

impl Device {
    /// The interface called `name`, if it can take frames.
    pub(super) fn find(name: &str) -> Result<Self> {
        let found = interface::by_name(name)?;
        let refuse = |kind, answered: String| Error::new(kind, asked(name), answered);
        if !found.is_running {
            let answered =
                if found.is_up { "the wire has no carrier" } else { "the interface is down" };
            return Err(refuse(ErrorKind::Down, answered.into()));
        }
        if netlink::xdp_features(found.index)?.is_some_and(|features| !features.transmits()) {
            let answered = "the device takes no redirected frames";
            let advice = "of a veth pair the peer must have GRO switched on, or an XDP program";
            return Err(refuse(ErrorKind::Unsupported, answered.into()).advise(advice));
        }
        let dropped = found.counters.sent_dropped;
        Ok(Self { name: name.to_owned(), index: found.index, mtu: found.mtu, dropped })
    }

    /// That its MTU allows a frame.
    ///
    /// # Errors
    /// When it does not.
    pub(super) fn fits(&self, frame: &[u8]) -> Result<()> {
        let tag = if frame[12..].starts_with(TAG.0) { TAG.1 } else { 0 };
        if frame.len() <= self.mtu as usize + ETHERNET_HEADER + tag {
            return Ok(());
        }
        let answered = format!("a frame is longer than the MTU of {} bytes allows", self.mtu);
        Err(Error::new(ErrorKind::Invalid, self.asked(), answered)
            .advise("send smaller packets, or raise the MTU with `ip link set mtu`"))
    }

    /// That it is still there.
    ///
    /// # Errors
    /// When it is not.
    pub(super) fn check(&self) -> Result<()> {
        let asked = self.asked();
        match interface::by_index(self.index) {
            // What is longer than the MTU the kernel drops without a word.
            Ok(found) if found.is_running && found.mtu < self.mtu => {
                let answered =
                    format!("the MTU went down from {} to {} bytes", self.mtu, found.mtu);
                Err(Error::new(ErrorKind::Invalid, asked, answered)
                    .advise("longer frames sent meanwhile may be lost"))
            }
            Ok(found) if found.is_running => Ok(()),
            Ok(_) => Err(Error::new(ErrorKind::Down, asked, "the interface or its peer went down")
                .advise("frames sent meanwhile may be lost")),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(gone(asked)),
            Err(error) => Err(error),
        }
    }

    /// Frames that it has had no room for since: nobody tells the program, but the device counts them. None once it
    /// is gone.
    pub(super) fn dropped(&self) -> u64 {
        let now = interface::by_index(self.index).map(|found| found.counters.sent_dropped);
        now.unwrap_or_default().saturating_sub(self.dropped)
    }

    /// What was asked, in errors.
    pub(super) fn asked(&self) -> String {
        asked(&self.name)
    }
}

/// What was asked, in errors.
pub(super) fn asked(name: &str) -> String {
    format!("send live frames on {name}")
}
