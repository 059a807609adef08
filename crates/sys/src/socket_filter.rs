//! Filters on sockets: attach, detach, lock; and the kernel as a judge of single packets.
//!
//! A filter decides, for every packet, how many of its bytes the socket gets; 0 turns the packet
//! away. Attach it before a capture socket is bound, so that no packet slips through unfiltered.
//! Sources: socket(7); `asm-generic/socket.h` and `linux/filter.h` (Linux 6.1).

mod judge;

use std::io;
use std::mem::{align_of, offset_of, size_of};
use std::os::fd::{AsRawFd, BorrowedFd};

use linerate_base::{Error, ErrorKind, Result};

pub use judge::Judge;

/// One instruction of a classic filter, `struct sock_filter`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SockFilter {
    /// Operation.
    pub code: u16,
    /// Instructions to skip when a test holds.
    pub jt: u8,
    /// Instructions to skip when it does not.
    pub jf: u8,
    /// Constant operand.
    pub k: u32,
}

const _: () = {
    assert!(size_of::<SockFilter>() == size_of::<libc::sock_filter>());
    assert!(align_of::<SockFilter>() == align_of::<libc::sock_filter>());
    assert!(offset_of!(SockFilter, jt) == offset_of!(libc::sock_filter, jt));
    assert!(offset_of!(SockFilter, jf) == offset_of!(libc::sock_filter, jf));
    assert!(offset_of!(SockFilter, k) == offset_of!(libc::sock_filter, k));
};

/// Sets a classic filter on a socket, in place of the one it had.
///
/// # Errors
/// When the kernel refuses the program, which may have 4096 instructions at most, or when the
/// socket's filter is locked.
pub fn attach_classic(socket: BorrowedFd<'_>, program: &[SockFilter]) -> Result<()> {
    let asked = || format!("attach a filter of {} instructions", program.len());
    let len = u16::try_from(program.len())
        .map_err(|_| Error::new(ErrorKind::Unsupported, asked(), "the kernel takes 4096"))?;
    // The kernel copies the instructions and writes nothing; the field is mutable by history.
    let fprog = libc::sock_fprog { len, filter: program.as_ptr().cast_mut().cast() };
    set_option(socket, libc::SO_ATTACH_FILTER, &fprog).map_err(|e| Error::system(asked(), e))
}

/// Sets an extended filter, loaded as a socket filter, on a socket, in place of the one it had.
///
/// # Errors
/// When `program` is of another type, or when the socket's filter is locked.
pub fn attach_extended(socket: BorrowedFd<'_>, program: BorrowedFd<'_>) -> Result<()> {
    set_option(socket, libc::SO_ATTACH_BPF, &program.as_raw_fd())
        .map_err(|e| Error::system("attach an eBPF filter", e))
}

/// Takes a socket's filter off, of either kind.
///
/// # Errors
/// When it had none, or when it is locked.
pub fn detach(socket: BorrowedFd<'_>) -> Result<()> {
    set_option(socket, libc::SO_DETACH_FILTER, &0_i32)
        .map_err(|e| Error::system("take the filter off a socket", e))
}

/// Locks a socket's filter: from now on nobody can change it or take it off.
///
/// # Errors
/// When the descriptor is not a socket.
pub fn lock_filter(socket: BorrowedFd<'_>) -> Result<()> {
    set_option(socket, libc::SO_LOCK_FILTER, &1_i32)
        .map_err(|e| Error::system("lock a socket's filter", e))
}

fn set_option<T>(socket: BorrowedFd<'_>, name: libc::c_int, value: &T) -> io::Result<()> {
    let size = size_of::<T>() as libc::socklen_t;
    let value: *const T = value;
    // SAFETY: `value` points to `size` readable bytes for the time of the call; the kernel keeps
    // no pointer. For SO_ATTACH_FILTER the instructions that it points to are borrowed as long.
    let done =
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, name, value.cast(), size) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixDatagram;

    use super::*;

    const KEEP_ALL: SockFilter = SockFilter { code: 0x06, jt: 0, jf: 0, k: u32::MAX };

    #[test]
    fn a_filter_goes_on_and_off_until_it_is_locked() {
        let socket = UnixDatagram::unbound().expect("a socket");
        attach_classic(socket.as_fd(), &[KEEP_ALL]).expect("attached");
        detach(socket.as_fd()).expect("taken off");
        assert_eq!(detach(socket.as_fd()).expect_err("none there").kind(), ErrorKind::NotFound);
        attach_classic(socket.as_fd(), &[KEEP_ALL]).expect("attached again");
        lock_filter(socket.as_fd()).expect("locked");
        let refused = detach(socket.as_fd()).expect_err("locked");
        assert_eq!(refused.kind(), ErrorKind::Permission);
    }

    #[test]
    fn too_long_a_program_is_refused() {
        let socket = UnixDatagram::unbound().expect("a socket");
        let attach = |length| attach_classic(socket.as_fd(), &vec![KEEP_ALL; length]);
        attach(4096).expect("as long as the kernel takes");
        attach(4097).expect_err("one more");
        attach(1 << 16).expect_err("more than the length field holds");
    }
}
