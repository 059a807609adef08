//! AF_XDP sockets of other processes: their counters, which the kernel tells to who has a descriptor.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use super::socket::{Socket, Statistics};
use crate::task;

/// Whether there are AF_XDP sockets in the calling thread's network namespace (proc_net(5), `protocols`).
pub fn are_in_use() -> bool {
    let text = fs::read_to_string("/proc/thread-self/net/protocols").unwrap_or_default();
    in_use(&text)
}

fn in_use(text: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.split_ascii_whitespace();
        words.next() == Some("XDP") && words.nth(1).is_some_and(|sockets| sockets != "0")
    })
}

/// The AF_XDP sockets of a process by their numbers, and what they counted. Each descriptor is copied for a moment
/// (pidfd_getfd(2)).
///
/// # Errors
/// When the process is gone; without leave to trace it (CAP_SYS_PTRACE).
pub fn of_process(process: u32) -> io::Result<Vec<(u32, Statistics)>> {
    let pidfd = descriptor(libc::SYS_pidfd_open, process as libc::c_int, 0)?;
    let mut found = Vec::new();
    for (number, socket) in task::socket_descriptors(process) {
        match descriptor(libc::SYS_pidfd_getfd, pidfd.as_fd().as_raw_fd(), number) {
            // A socket of another family does not know the question.
            Ok(copy) => found.extend(Socket::from(copy).statistics().map(|told| (socket, told))),
            // Closed meanwhile.
            Err(error) if error.raw_os_error() == Some(libc::EBADF) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// The descriptor that a system call of three integers, the last of them 0, answers with.
fn descriptor(call: libc::c_long, first: libc::c_int, second: u32) -> io::Result<OwnedFd> {
    // SAFETY: pidfd_open(2) and pidfd_getfd(2) take integers and touch no memory of ours.
    let fd = unsafe { libc::syscall(call, first, second, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_in_use_are_counted_by_family() {
        let table =
            |sockets| format!("protocol  size sockets\nTCP 2000 5\nXDP 1408 {sockets} -1\n");
        assert!(in_use(&table(3)) && !in_use(&table(0)) && !in_use(""));
    }

    #[test]
    fn sockets_of_other_families_are_none() {
        let _socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(of_process(std::process::id()).unwrap(), []);
        assert!(of_process(i32::MAX as u32).is_err());
    }
}
