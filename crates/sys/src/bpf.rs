//! bpf(2): maps, programs, and attaching these to interfaces.
//!
//! All of them are descriptors and nothing else: they vanish with the last process that holds
//! them. No C library, no object files; instructions come as encoded words.
//!
//! - [`Map`]: what programs and user space share
//! - [`SharedWords`]: one that is mapped into the process
//! - [`Program`]: loaded, run on test packets
//! - [`Link`]: a program attached to an interface, until it is dropped
//! - [`Tracing`], [`Iteration`]: programs that hear what the kernel does, or look through what it has
//! - [`Object`]: what other processes have, by number
//! - [`Part`], [`CompiledPart`]: what a program's instructions are for, and where the compiled ones lie
//!
//! Sources: bpf(2); `linux/bpf.h` (Linux 6.18).

mod link;
mod map;
mod map_spec;
mod object;
mod parts;
mod program;
mod run;
mod trace;
mod verifier;
mod words;

use std::io;
use std::mem::size_of;
use std::os::fd::{FromRawFd, OwnedFd};

pub use link::{Link, LinkInfo, Position, Way, XdpMode};
pub use map::Map;
pub use map_spec::{MapKind, MapSpec};
pub use object::{Attached, ForeignMap, Object, maps_of};
pub use parts::{CompiledPart, Part, compiled_parts};
pub use program::{Program, ProgramKind, ProgramSpec};
pub use run::{LiveEnd, LiveRun, TestResult, TestRun, XdpContext};
pub use trace::{Iteration, Tracing};
pub use verifier::LoadError;
pub use words::{SharedWords, settle};

/// Commands, `enum bpf_cmd`.
mod command {
    pub(super) const MAP_CREATE: libc::c_int = 0;
    pub(super) const MAP_LOOKUP_ELEM: libc::c_int = 1;
    pub(super) const MAP_UPDATE_ELEM: libc::c_int = 2;
    pub(super) const MAP_DELETE_ELEM: libc::c_int = 3;
    pub(super) const MAP_GET_NEXT_KEY: libc::c_int = 4;
    pub(super) const PROG_LOAD: libc::c_int = 5;
    pub(super) const PROG_TEST_RUN: libc::c_int = 10;
    pub(super) const PROG_GET_NEXT_ID: libc::c_int = 11;
    pub(super) const PROG_GET_FD_BY_ID: libc::c_int = 13;
    pub(super) const MAP_GET_FD_BY_ID: libc::c_int = 14;
    pub(super) const OBJ_GET_INFO_BY_FD: libc::c_int = 15;
    pub(super) const RAW_TRACEPOINT_OPEN: libc::c_int = 17;
    pub(super) const BTF_LOAD: libc::c_int = 18;
    pub(super) const BTF_GET_FD_BY_ID: libc::c_int = 19;
    pub(super) const LINK_CREATE: libc::c_int = 28;
    pub(super) const LINK_UPDATE: libc::c_int = 29;
    pub(super) const LINK_GET_FD_BY_ID: libc::c_int = 30;
    pub(super) const ITER_CREATE: libc::c_int = 33;
}

/// The longest name of a map or program, without its final zero: `BPF_OBJ_NAME_LEN` - 1.
const NAME_LENGTH: usize = 15;

/// A name as the kernel takes it, cut to its length.
fn object_name(name: &str) -> [u8; NAME_LENGTH + 1] {
    let mut field = [0; NAME_LENGTH + 1];
    for (to, from) in field.iter_mut().zip(name.bytes().take(NAME_LENGTH)) {
        *to = from;
    }
    field
}

/// Calls bpf(2).
///
/// # Safety
/// `attributes` is laid out as the command's part of `union bpf_attr`, and every address in it
/// is valid for what the command does with it.
unsafe fn bpf<T>(command: libc::c_int, attributes: &mut T) -> io::Result<libc::c_int> {
    let attributes: *mut T = attributes;
    // SAFETY: the attributes are of the given size; the rest is the caller's promise.
    let answer = unsafe { libc::syscall(libc::SYS_bpf, command, attributes, size_of::<T>()) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer as libc::c_int) }
}

/// Calls bpf(2) with a command that gives a new descriptor.
///
/// # Safety
/// As [`bpf`]; and the command gives a descriptor.
unsafe fn bpf_descriptor<T>(command: libc::c_int, attributes: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: the caller's promise; the new descriptor belongs to nobody else.
    unsafe { bpf(command, attributes).map(|fd| OwnedFd::from_raw_fd(fd)) }
}
