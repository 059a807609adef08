use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use linerate_base::{Error, ErrorKind, Result};

use super::object::InfoAttributes;
use super::{Program, bpf, bpf_descriptor, command};
use crate::capability::{self, Capability};
use crate::interface;

/// Where on a packet's way into the host an XDP program runs. Values: `linux/if_link.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum XdpMode {
    /// After the skb was made, whatever the driver: `XDP_FLAGS_SKB_MODE`.
    Generic = 1 << 1,
    /// In the driver, which must know XDP: `XDP_FLAGS_DRV_MODE`.
    Native = 1 << 2,
}

/// Which packets of an interface. Values: `enum bpf_attach_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Way {
    /// Those that it received: `BPF_TCX_INGRESS`.
    Ingress = 46,
    /// Those that it will send: `BPF_TCX_EGRESS`.
    Egress = 47,
}

/// Where among the programs that are there already. Values: flags of `BPF_LINK_CREATE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Position {
    /// Before all others: `BPF_F_BEFORE`.
    First = 1 << 3,
    /// After all others: `BPF_F_AFTER`.
    Last = 1 << 4,
}

/// `BPF_XDP` of `enum bpf_attach_type`.
const XDP: u32 = 37;

/// A program attached to an interface. It is detached when this is dropped, or with the last
/// process that holds the descriptor.
#[derive(Debug)]
pub struct Link {
    fd: OwnedFd,
}

/// What the kernel knows of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkInfo {
    /// The link's number.
    pub id: u32,
    /// The program's number.
    pub program: u32,
    /// The interface's index; 0: the interface is gone, and the program runs no more.
    pub interface: u32,
}

/// `BPF_LINK_CREATE`'s part of `union bpf_attr`, as far as it is used.
#[repr(C)]
struct CreateAttributes {
    prog_fd: u32,
    target_ifindex: u32,
    attach_type: u32,
    flags: u32,
    relative_fd: u32,
    padding: u32,
    expected_revision: u64,
}

/// `BPF_LINK_UPDATE`'s part of `union bpf_attr`, as far as it is used.
#[repr(C)]
struct UpdateAttributes {
    link_fd: u32,
    new_prog_fd: u32,
    flags: u32,
    old_prog_fd: u32,
}

/// `struct bpf_link_info` for links to interfaces, as far as it is used.
#[repr(C)]
#[derive(Default)]
struct RawInfo {
    kind: u32,
    id: u32,
    prog_id: u32,
    padding: u32,
    ifindex: u32,
    rest: u32,
}

impl Link {
    /// Attaches an XDP program to the interface with this index in the calling thread's namespace.
    ///
    /// # Errors
    /// Without CAP_NET_ADMIN; [`ErrorKind::Busy`] when the interface has an XDP program already, which
    /// is left alone; [`ErrorKind::Unsupported`] when the driver does not take it.
    pub fn xdp(program: &Program, interface: u32, mode: XdpMode) -> Result<Self> {
        Self::new(program, interface, XDP, mode as u32).map_err(|e| xdp_refused(e, interface, mode))
    }

    /// Attaches a classifier to the interface with this index in the calling thread's namespace,
    /// beside those that are there (TCX, Linux 6.6).
    ///
    /// # Errors
    /// Without CAP_NET_ADMIN; [`ErrorKind::Unsupported`] before Linux 6.6; [`ErrorKind::Busy`] when
    /// this same program is attached there already.
    pub fn tcx(program: &Program, interface: u32, way: Way, position: Position) -> Result<Self> {
        let attached = Self::new(program, interface, way as u32, position as u32);
        attached.map_err(|e| tcx_refused(e, interface, way))
    }

    fn new(program: &Program, interface: u32, attach_type: u32, flags: u32) -> io::Result<Self> {
        let mut attributes = CreateAttributes {
            prog_fd: program.as_fd().as_raw_fd() as u32,
            target_ifindex: interface,
            attach_type,
            flags,
            relative_fd: 0,
            padding: 0,
            expected_revision: 0,
        };
        // SAFETY: the attributes are those of BPF_LINK_CREATE and hold no address.
        let fd = unsafe { bpf_descriptor(command::LINK_CREATE, &mut attributes)? };
        Ok(Self { fd })
    }

    /// Puts another program in this one's place, in one step: every packet meets one of them.
    ///
    /// # Errors
    /// Without CAP_NET_ADMIN; when the program is of another kind, or the interface is gone.
    pub fn replace(&self, program: &Program) -> Result<()> {
        let mut attributes = UpdateAttributes {
            link_fd: self.fd.as_raw_fd() as u32,
            new_prog_fd: program.as_fd().as_raw_fd() as u32,
            flags: 0,
            old_prog_fd: 0,
        };
        // SAFETY: the attributes are those of BPF_LINK_UPDATE and hold no address.
        let replaced = unsafe { bpf(command::LINK_UPDATE, &mut attributes) };
        let failed = |e| Error::system("replace the program of a BPF link", e);
        replaced.map(drop).map_err(|e| match e.raw_os_error() {
            Some(libc::ENOLINK) => not_found(failed(e)),
            _ => capability::explain(failed(e), &[Capability::Bpf, Capability::NetAdmin]),
        })
    }

    /// What has become of it.
    ///
    /// # Errors
    /// None that can be expected: the kernel knows its links.
    pub fn info(&self) -> Result<LinkInfo> {
        let mut info = RawInfo::default();
        let mut attributes = InfoAttributes {
            bpf_fd: self.fd.as_raw_fd() as u32,
            info_len: size_of::<RawInfo>() as u32,
            info: (&raw mut info) as u64,
        };
        // SAFETY: the attributes are those of BPF_OBJ_GET_INFO_BY_FD; the kernel writes at most the
        // given size, and every bit pattern is a valid `RawInfo`.
        unsafe { bpf(command::OBJ_GET_INFO_BY_FD, &mut attributes) }
            .map_err(|e| Error::system("ask for the state of a BPF link", e))?;
        Ok(LinkInfo { id: info.id, program: info.prog_id, interface: info.ifindex })
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn xdp_refused(error: io::Error, index: u32, mode: XdpMode) -> Error {
    let name = if mode == XdpMode::Native { "native" } else { "generic" };
    let error = Error::system(format!("attach a {name} XDP program (link {index})"), error);
    match error.raw_os_error() {
        // Busy: the mode's place is taken; exists: the other mode's is.
        Some(libc::EBUSY | libc::EEXIST) => error.as_kind(ErrorKind::Busy).advise(
            "the interface has an XDP program already, which is left alone; `ip link` shows it",
        ),
        // `bpf_xdp_link_attach` in `net/core/dev.c`, Linux 6.18: EINVAL.
        _ if is_gone(index) => not_found(error),
        // Drivers refuse what they cannot do with different numbers: no XDP, or not with this MTU,
        // these offloads or so few queues.
        Some(libc::EOPNOTSUPP | libc::EINVAL | libc::ERANGE) if mode == XdpMode::Native => error
            .as_kind(ErrorKind::Unsupported)
            .advise("the driver has no XDP, or not with this MTU and these offloads"),
        _ => capability::explain(error, &[Capability::Bpf, Capability::NetAdmin]),
    }
}

fn is_gone(index: u32) -> bool {
    interface::by_index(index).is_err_and(|e| e.kind() == ErrorKind::NotFound)
}

fn not_found(error: Error) -> Error {
    error.as_kind(ErrorKind::NotFound).advise("there is no such interface any more")
}

fn tcx_refused(error: io::Error, interface: u32, way: Way) -> Error {
    let error = Error::system(format!("attach a TCX program ({way:?}, link {interface})"), error);
    match error.raw_os_error() {
        Some(libc::ENODEV) => not_found(error),
        // The kernel knows no such kind of attachment.
        Some(libc::EINVAL) => {
            error.as_kind(ErrorKind::Unsupported).advise("the kernel has TCX since Linux 6.6")
        }
        Some(libc::ERANGE) => {
            error.as_kind(ErrorKind::Exhausted).advise("the interface has 64 TCX programs already")
        }
        _ => capability::explain(error, &[Capability::Bpf, Capability::NetAdmin]),
    }
}

const _: () = assert!(size_of::<CreateAttributes>() == 32);
const _: () = assert!(size_of::<RawInfo>() == 24);
