//! What a driver counts by itself: per queue, and what the card tells.

use std::ffi::c_char;

use linerate_base::{Error, Result};

use super::{Request, call, text};

/// `ETHTOOL_GSTRINGS`, `ETHTOOL_GSTATS`.
const GET_STRINGS: u32 = 0x1b;
const GET_STATISTICS: u32 = 0x1d;
/// `ETH_SS_STATS`.
const STATISTICS: u32 = 1;

/// More than any driver has; the kernel is not told how much room there is.
const MOST: usize = 32_768;
/// `ETH_GSTRING_LEN`.
const NAME: usize = 32;

/// `struct ethtool_gstrings` with its data.
#[repr(C)]
struct Strings {
    command: u32,
    set: u32,
    count: u32,
    names: [[c_char; NAME]; MOST],
}

/// `struct ethtool_stats` with its data.
#[repr(C)]
struct Statistics {
    command: u32,
    count: u32,
    values: [u64; MOST],
}

// SAFETY: used with `ETHTOOL_GSTRINGS` only, which writes the names of a set; that of statistics has fewer than
// `MOST`, as `statistics` has asked beforehand.
unsafe impl Request for Strings {}
// SAFETY: used with `ETHTOOL_GSTATS` only, which writes as many values as there are names.
unsafe impl Request for Statistics {}

/// The driver's own counters by name, in its order; empty where it has none.
///
/// Names are the driver's: `rx_queue_0_drops`, `rx_missed_errors`.
///
/// # Errors
/// When there is no such interface.
pub fn statistics(interface: &str) -> Result<Vec<(String, u64)>> {
    match counted(interface) {
        Ok(counted) => Ok(counted),
        Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(Vec::new()),
        Err(e) => Err(Error::system(format!("ask for the driver's counters of {interface}"), e)),
    }
}

fn counted(interface: &str) -> std::io::Result<Vec<(String, u64)>> {
    let count = super::statistics_count(interface)?;
    if count == 0 || count >= MOST / 2 {
        return Ok(Vec::new());
    }
    let mut strings = zeroed::<Strings>();
    (strings.command, strings.set) = (GET_STRINGS, STATISTICS);
    call(interface, &mut *strings)?;
    let mut statistics = zeroed::<Statistics>();
    (statistics.command, statistics.count) = (GET_STATISTICS, count as u32);
    call(interface, &mut *statistics)?;
    let both = strings.names.iter().zip(&statistics.values);
    Ok(both.take(count).map(|(name, value)| (text(name), *value)).collect())
}

/// A structure of a megabyte, which no stack is to hold.
fn zeroed<T: Request>() -> Box<T> {
    // SAFETY: both structures are plain numbers, for which all zeroes is valid.
    unsafe { Box::new_zeroed().assume_init() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_counts_nothing_by_itself() {
        assert_eq!(statistics("lo").unwrap(), []);
        assert!(statistics("no-such-link").unwrap_err().asked().contains("no-such-link"));
    }
}
