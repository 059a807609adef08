//! The device that frames are redirected to. What it cannot take vanishes without a word to the program, so it is
//! looked at beforehand, meanwhile and afterwards.

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::interface::{self, Interface};
use linerate_sys::netlink;

/// An interface that takes redirected frames.
#[derive(Debug)]
pub(super) struct Device {
    name: String,
    pub(super) index: u32,
    /// Frames that it had dropped before.
    dropped: u64,
}

const ETHERNET_HEADER: usize = 14;
/// A VLAN tag counts in no MTU (IEEE 802.1Q, G.2.2).
const TAG: (&[u8], usize) = (&[0x81, 0x00], 4);

impl Device {
    /// The interface called `name`, if it can take frames such as `frame`.
    pub(super) fn find(name: &str, frame: &[u8]) -> Result<Self> {
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
        if frame.len() > longest(&found, frame) {
            let answered = format!("a frame is longer than the MTU of {} bytes allows", found.mtu);
            let advice = "send smaller packets, or raise the MTU with `ip link set mtu`";
            return Err(refuse(ErrorKind::Invalid, answered).advise(advice));
        }
        let dropped = found.counters.sent_dropped;
        Ok(Self { name: name.to_owned(), index: found.index, dropped })
    }

    /// That it is still there.
    ///
    /// # Errors
    /// When it is not.
    pub(super) fn check(&self) -> Result<()> {
        let asked = asked(&self.name);
        match interface::by_index(self.index) {
            Ok(found) if found.is_running => Ok(()),
            Ok(_) => Err(Error::new(ErrorKind::Down, asked, "the interface or its peer went down")
                .advise("frames sent meanwhile may be lost")),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let answered = "the interface was deleted, or moved to another namespace";
                Err(Error::new(ErrorKind::Gone, asked, answered))
            }
            Err(error) => Err(error),
        }
    }

    /// Frames that it has had no room for since: nobody tells the program, but the device counts them. None once it
    /// is gone.
    pub(super) fn dropped(&self) -> u64 {
        let now = interface::by_index(self.index).map(|found| found.counters.sent_dropped);
        now.unwrap_or_default().saturating_sub(self.dropped)
    }
}

fn longest(interface: &Interface, frame: &[u8]) -> usize {
    let tag = if frame[12..].starts_with(TAG.0) { TAG.1 } else { 0 };
    interface.mtu as usize + ETHERNET_HEADER + tag
}

/// What was asked, in errors.
pub(super) fn asked(name: &str) -> String {
    format!("send live frames on {name}")
}
