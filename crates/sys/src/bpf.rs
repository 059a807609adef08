//! bpf(2): maps, and loading extended programs.
//!
//! Maps and programs are descriptors and nothing else: they vanish with the last process that
//! holds them. No C library, no object files; instructions come as encoded words.
//! Sources: bpf(2); `linux/bpf.h` (Linux 6.18).

mod map;
mod program;

use std::io;
use std::mem::size_of;
use std::os::fd::{FromRawFd, OwnedFd};

pub use map::{Map, MapKind};
pub use program::{LoadError, ProgramKind, explain_program, load_program};

/// Commands, `enum bpf_cmd`.
mod command {
    pub(super) const MAP_CREATE: libc::c_int = 0;
    pub(super) const MAP_LOOKUP_ELEM: libc::c_int = 1;
    pub(super) const PROG_LOAD: libc::c_int = 5;
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

/// What to do when bpf(2) says that the caller may not.
const PRIVILEGE: &str = "extended BPF needs root or the capability CAP_BPF";
