//! Interfaces, as the namespace of a packet socket knows them (netdevice(7)).

use std::io;
use std::os::fd::AsRawFd;

use super::{PacketSocket, done};

/// An interface at the time of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its number, never 0 and never given to another interface of the namespace while it lives.
    pub index: u32,
    /// Its hardware type, an `ARPHRD_` number of `linux/if_arp.h`.
    pub hardware_type: u16,
    /// True when it is up.
    pub is_up: bool,
    /// True for the loopback interface.
    pub is_loopback: bool,
}

impl PacketSocket {
    /// The interface called `name`.
    ///
    /// # Errors
    /// `ENODEV` when there is none; `EINVAL` for a name that none can have.
    pub fn device(&self, name: &str) -> io::Result<Device> {
        let mut request = request(name)?;
        self.ask(libc::SIOCGIFINDEX, &mut request)?;
        // SAFETY: SIOCGIFINDEX has filled in this member.
        let index = unsafe { request.ifr_ifru.ifru_ifindex };
        self.ask(libc::SIOCGIFFLAGS, &mut request)?;
        // SAFETY: SIOCGIFFLAGS has filled in this member.
        let flags = i32::from(unsafe { request.ifr_ifru.ifru_flags });
        self.ask(libc::SIOCGIFHWADDR, &mut request)?;
        // SAFETY: SIOCGIFHWADDR has filled in this member.
        let hardware_type = unsafe { request.ifr_ifru.ifru_hwaddr.sa_family };
        Ok(Device {
            index: index as u32,
            hardware_type,
            is_up: flags & libc::IFF_UP != 0,
            is_loopback: flags & libc::IFF_LOOPBACK != 0,
        })
    }

    /// The name that the interface `index` has now.
    ///
    /// # Errors
    /// `ENODEV` when there is no such interface.
    pub fn device_name(&self, index: u32) -> io::Result<String> {
        let mut request = request("")?;
        request.ifr_ifru.ifru_ifindex = index as libc::c_int;
        self.ask(libc::SIOCGIFNAME, &mut request)?;
        let bytes = request.ifr_name.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
        Ok(String::from_utf8(bytes).unwrap_or_else(|e| e.into_bytes().escape_ascii().to_string()))
    }

    fn ask(&self, question: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: these questions read and write one `struct ifreq`, which `request` is.
        done(unsafe { libc::ioctl(self.0.as_raw_fd(), question, std::ptr::from_mut(request)) })
    }
}

fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: a zeroed ifreq is one with an empty name and a zero in every member of its union.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() || name.contains('\0') {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}
