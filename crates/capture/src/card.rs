//! The network card's clock.

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::ethtool;

/// Why there are no hardware timestamps on an interface, and what there is instead.
pub(crate) const NO_CLOCK: &str = "the hardware stamps no packets";
const OTHER_TIMESTAMPS: &str =
    "leave out --timestamps: the kernel stamps packets of every interface";

/// Refuses hardware timestamps where the hardware has none. A driver may have a function that tells programs the
/// hardware's time all the same.
///
/// # Errors
/// [`ErrorKind::Unsupported`] where it has none.
pub(crate) fn check(interface: &str) -> Result<()> {
    if ethtool::stamps_receipt(interface)? {
        return Ok(());
    }
    let asked = format!("capture on {interface} with hardware timestamps");
    Err(Error::new(ErrorKind::Unsupported, asked, NO_CLOCK).advise(OTHER_TIMESTAMPS))
}

/// Has the card stamp all that it receives.
///
/// # Errors
/// Where it cannot.
pub(crate) fn stamp_all(interface: &str) -> Result<()> {
    ethtool::stamp_all_received(interface).map_err(|error| error.advise(OTHER_TIMESTAMPS))
}
