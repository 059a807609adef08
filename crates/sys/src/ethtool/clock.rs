//! Whether an interface has a clock of its own.

use std::mem::size_of;

use linerate_base::{Error, Result};

use super::{Request, call};

const GET_TIMESTAMPING: u32 = 0x41;
/// `SOF_TIMESTAMPING_RX_HARDWARE` of `linux/net_tstamp.h`.
const RECEIVE_HARDWARE: u32 = 1 << 2;

/// `struct ethtool_ts_info`.
#[repr(C)]
#[derive(Default)]
struct TimestampingInfo {
    command: u32,
    /// `SOF_TIMESTAMPING_` bits.
    kinds: u32,
    /// -1 for none.
    clock: i32,
    transmit_kinds: u32,
    transmit_reserved: [u32; 3],
    receive_filters: u32,
    receive_reserved: [u32; 3],
}

const _: () = assert!(size_of::<TimestampingInfo>() == 44);

// SAFETY: used with `ETHTOOL_GET_TS_INFO` only.
unsafe impl Request for TimestampingInfo {}

/// Whether the hardware of `interface` can tell when it received a packet.
///
/// # Errors
/// When there is no such interface.
pub fn stamps_receipt(interface: &str) -> Result<bool> {
    Ok(info(interface)?.is_some_and(|info| info.kinds & RECEIVE_HARDWARE != 0))
}

/// The number of the clock that the hardware of `interface` has, of which the device is `/dev/ptp` and that number; `None`
/// where it has none.
///
/// # Errors
/// When there is no such interface.
pub fn card_clock(interface: &str) -> Result<Option<u32>> {
    Ok(info(interface)?.and_then(|info| u32::try_from(info.clock).ok()))
}

fn info(interface: &str) -> Result<Option<TimestampingInfo>> {
    let mut info = TimestampingInfo { command: GET_TIMESTAMPING, ..Default::default() };
    match call(interface, &mut info) {
        Ok(()) => Ok(Some(info)),
        Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(None),
        Err(e) => Err(Error::system(format!("ask for the clock of {interface}"), e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_no_clock() {
        assert!(!stamps_receipt("lo").unwrap());
        assert_eq!(card_clock("lo").unwrap(), None);
        assert!(stamps_receipt("no-such-link").is_err());
    }
}
