//! What a network driver tells and lets be switched, by the ethtool ioctl.
//!
//! Every function acts on an interface of the calling thread's network namespace. Commands and
//! structures are those of `linux/ethtool.h`, Linux 6.12.

mod channels;
mod clock;
mod statistics;

use std::ffi::{c_char, c_int};
use std::io;
use std::mem::{offset_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use linerate_base::{Error, ErrorKind, Result};

pub use channels::{receive_queues, set_queues};
pub use clock::{card_clock, stamps_receipt};
pub use statistics::statistics;

/// A part of packet processing that a driver, or the kernel in its name, can take over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Offload {
    /// Checksums of received packets are checked already.
    ReceiveChecksum,
    /// Checksums of sent packets are filled in late, after a capture has seen them.
    TransmitChecksum,
    /// A packet may be sent from several pieces of memory.
    ScatterGather,
    /// TSO: TCP segments larger than the MTU are cut by the device.
    TcpSegmentation,
    /// GSO: segments larger than the MTU are cut just before the device.
    GenericSegmentation,
    /// GRO: received segments of one flow are merged before anyone sees them.
    GenericReceive,
    /// LRO: the device merges received segments, without a way back.
    LargeReceive,
    /// The VLAN tag is taken out of received packets and kept beside them.
    ReceiveVlan,
    /// The VLAN tag is put in by the device, after a capture has seen the packet.
    TransmitVlan,
}

/// How an offload is read and written: by commands of its own, or as one bit of the flags.
enum Access {
    Commands { get: u32, set: u32 },
    Flag(u32),
}

const GET_DRIVER: u32 = 0x3;
const GET_FLAGS: u32 = 0x25;
const SET_FLAGS: u32 = 0x26;

impl Offload {
    /// Every offload, in the order in which they can all be switched on.
    pub const ALL: [Self; 9] = [
        Self::ReceiveChecksum,
        Self::TransmitChecksum,
        Self::ScatterGather,
        Self::TcpSegmentation,
        Self::GenericSegmentation,
        Self::GenericReceive,
        Self::LargeReceive,
        Self::ReceiveVlan,
        Self::TransmitVlan,
    ];

    fn access(self) -> Access {
        match self {
            Self::ReceiveChecksum => Access::Commands { get: 0x14, set: 0x15 },
            Self::TransmitChecksum => Access::Commands { get: 0x16, set: 0x17 },
            Self::ScatterGather => Access::Commands { get: 0x18, set: 0x19 },
            Self::TcpSegmentation => Access::Commands { get: 0x1e, set: 0x1f },
            Self::GenericSegmentation => Access::Commands { get: 0x23, set: 0x24 },
            Self::GenericReceive => Access::Commands { get: 0x2b, set: 0x2c },
            Self::LargeReceive => Access::Flag(1 << 15),
            Self::ReceiveVlan => Access::Flag(1 << 8),
            Self::TransmitVlan => Access::Flag(1 << 7),
        }
    }
}

/// The name of the driver of `interface`: `veth`, `virtio_net`; `None` where it has none.
///
/// # Errors
/// When there is no such interface.
pub fn driver(interface: &str) -> Result<Option<String>> {
    // SAFETY: the structure is plain bytes and numbers, for which all zeroes is valid.
    let mut info: DriverInfo = unsafe { zeroed() };
    info.command = GET_DRIVER;
    match call(interface, &mut info) {
        Ok(()) => Ok(Some(text(&info.driver)).filter(|name| !name.is_empty())),
        Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(None),
        Err(e) => Err(Error::system(format!("ask for the driver of {interface}"), e)),
    }
}

/// Has the network card of `interface` stamp every packet that it receives, for all who capture them, until
/// somebody tells it otherwise (Documentation/networking/timestamping.rst, Linux 6.18).
///
/// # Errors
/// [`ErrorKind::Unsupported`] where the card or its driver cannot; without CAP_NET_ADMIN; when there is no
/// such interface.
pub fn stamp_all_received(interface: &str) -> Result<()> {
    const STAMP_ALL: c_int = 1; // HWTSTAMP_FILTER_ALL, `linux/net_tstamp.h`
    let mut request = StampRequest { flags: 0, transmitted: 0, received: STAMP_ALL };
    call(interface, &mut request).map_err(|e| {
        let asked = format!("have the network card of {interface} stamp what it receives");
        match Error::system(asked, e) {
            error if error.raw_os_error() == Some(libc::ERANGE) => {
                error.as_kind(ErrorKind::Unsupported)
            }
            error => error,
        }
    })
}

/// Whether `offload` is on for `interface`.
///
/// # Errors
/// When there is no such interface.
pub fn offload(interface: &str, offload: Offload) -> Result<bool> {
    let answer = match offload.access() {
        Access::Commands { get, .. } => value(interface, get, 0).map(|on| on != 0),
        Access::Flag(bit) => value(interface, GET_FLAGS, 0).map(|flags| flags & bit != 0),
    };
    answer.map_err(|e| Error::system(format!("ask {interface} for {offload:?}"), e))
}

/// Switches `offload` on or off for `interface`.
///
/// The kernel keeps dependent offloads consistent: without checksums there is no segmentation.
///
/// # Errors
/// When there is no such interface, without CAP_NET_ADMIN, and when the driver keeps its own
/// setting.
pub fn set_offload(interface: &str, offload: Offload, on: bool) -> Result<()> {
    let asked = || format!("switch {offload:?} {} for {interface}", if on { "on" } else { "off" });
    let result = match offload.access() {
        Access::Commands { set, .. } => value(interface, set, u32::from(on)).map(drop),
        Access::Flag(bit) => set_flag(interface, bit, on),
    };
    result.map_err(|e| Error::system(asked(), e))?;
    if self::offload(interface, offload)? == on {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Unsupported, asked(), "the driver keeps its own setting"))
}

fn set_flag(interface: &str, bit: u32, on: bool) -> io::Result<()> {
    let flags = value(interface, GET_FLAGS, 0)?;
    let flags = if on { flags | bit } else { flags & !bit };
    value(interface, SET_FLAGS, flags).map(drop)
}

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [c_char; 32],
    version: [c_char; 32],
    firmware: [c_char; 32],
    bus: [c_char; 32],
    expansion_rom: [c_char; 32],
    reserved: [c_char; 12],
    counts: [u32; 5],
}

/// `struct hwtstamp_config`.
#[repr(C)]
struct StampRequest {
    flags: c_int,
    transmitted: c_int,
    received: c_int,
}

const _: () = assert!(size_of::<StampRequest>() == 12);
const _: () = assert!(size_of::<Value>() == 8);
const _: () = assert!(size_of::<DriverInfo>() == 196);
const _: () = assert!(offset_of!(DriverInfo, counts) == 176);

/// A structure that an ioctl about an interface reads and fills in.
///
/// # Safety
/// The ioctl is for this structure; of `SIOCETHTOOL`, it begins with a command and is as large as that
/// command makes the kernel write.
unsafe trait Request {
    /// The ioctl.
    const NUMBER: libc::Ioctl = libc::SIOCETHTOOL;
}

// SAFETY: used with the commands that take `struct ethtool_value` only.
unsafe impl Request for Value {}
// SAFETY: used with `ETHTOOL_GDRVINFO` only.
unsafe impl Request for DriverInfo {}

// SAFETY: `SIOCSHWTSTAMP` is for `struct hwtstamp_config`.
unsafe impl Request for StampRequest {
    const NUMBER: libc::Ioctl = libc::SIOCSHWTSTAMP;
}

/// How many counters the driver has: `n_stats` of `struct ethtool_drvinfo`.
fn statistics_count(interface: &str) -> io::Result<usize> {
    // SAFETY: the structure is plain bytes and numbers, for which all zeroes is valid.
    let mut info: DriverInfo = unsafe { zeroed() };
    info.command = GET_DRIVER;
    call(interface, &mut info)?;
    Ok(info.counts[1] as usize)
}

fn value(interface: &str, command: u32, data: u32) -> io::Result<u32> {
    let mut value = Value { command, data };
    call(interface, &mut value)?;
    Ok(value.data)
}

fn call<R: Request>(interface: &str, request: &mut R) -> io::Result<()> {
    let socket = any_socket()?;
    // SAFETY: an ifreq is plain data, for which all zeroes is valid.
    let mut ifreq: libc::ifreq = unsafe { zeroed() };
    copy_name(interface, &mut ifreq.ifr_name)?;
    ifreq.ifr_ifru.ifru_data = (request as *mut R).cast();
    // SAFETY: the ifreq is valid for the call and points at a request that, by the promise of
    // `Request`, has room for all that the kernel writes.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), R::NUMBER, &mut ifreq) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The ioctl takes any socket; it says which network namespace is meant.
fn any_socket() -> io::Result<OwnedFd> {
    // SAFETY: socket(2) takes no pointer.
    let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just opened and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Copies a name that leaves room for the final zero; no longer one exists.
fn copy_name(name: &str, field: &mut [c_char; libc::IFNAMSIZ]) -> io::Result<()> {
    if name.len() >= field.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (place, byte) in field.iter_mut().zip(name.bytes()) {
        *place = byte as c_char;
    }
    Ok(())
}

fn text(field: &[c_char]) -> String {
    let bytes: Vec<u8> = field.iter().map(|c| *c as u8).take_while(|b| *b != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_not_there_is_named() {
        for name in ["no-such-link", "a-name-longer-than-any-interface"] {
            let error = driver(name).unwrap_err();
            assert!(error.asked().contains(name));
            assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
        }
    }

    #[test]
    fn every_offload_of_loopback_can_be_asked() {
        for offload in Offload::ALL {
            super::offload("lo", offload).unwrap();
        }
    }
}
