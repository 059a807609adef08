//! How many queues a driver uses, of those that the interface was made with.

use linerate_base::{Error, Result};

use super::{Request, call};

/// `ETHTOOL_GCHANNELS` and `ETHTOOL_SCHANNELS`.
const GET: u32 = 0x3c;
const SET: u32 = 0x3d;

/// `struct ethtool_channels`. A channel is an interrupt and the queues that it serves.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Channels {
    command: u32,
    most: [u32; 4],
    receive: u32,
    transmit: u32,
    other: u32,
    combined: u32,
}

const _: () = assert!(size_of::<Channels>() == 36);

// SAFETY: used with the two commands above only, which read and write `struct ethtool_channels`.
unsafe impl Request for Channels {}

/// The number of receive queues that the driver of `interface` uses; `None` where it has no say in it.
///
/// # Errors
/// When there is no such interface.
pub fn receive_queues(interface: &str) -> Result<Option<u32>> {
    match channels(interface) {
        Ok(channels) => Ok(Some(channels.receive + channels.combined)),
        Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(None),
        Err(e) => Err(Error::system(format!("ask for the queues of {interface}"), e)),
    }
}

/// Has the driver of `interface` use `count` receive and `count` transmit queues, by channels of the
/// kind that it has.
///
/// # Errors
/// When there is no such interface, without CAP_NET_ADMIN, and when the driver cannot have so many.
pub fn set_queues(interface: &str, count: u32) -> Result<()> {
    let set = || {
        let mut wanted = channels(interface)?;
        wanted.command = SET;
        if wanted.combined > 0 {
            wanted.combined = count;
        } else {
            (wanted.receive, wanted.transmit) = (count, count);
        }
        call(interface, &mut wanted)
    };
    set().map_err(|e| Error::system(format!("give {interface} {count} queues"), e))
}

fn channels(interface: &str) -> std::io::Result<Channels> {
    let mut channels = Channels { command: GET, ..Channels::default() };
    call(interface, &mut channels)?;
    Ok(channels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_no_say_in_its_queues() {
        assert_eq!(receive_queues("lo").unwrap(), None);
        assert!(receive_queues("no-such-link").unwrap_err().asked().contains("no-such-link"));
    }
}
