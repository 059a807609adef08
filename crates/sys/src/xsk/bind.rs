use std::io;
use std::thread;
use std::time::{Duration, Instant};

use linerate_base::{Error, ErrorKind, Result};

use super::socket::Socket;
use super::umem::refused;

/// How long a queue may be taken by a socket that was closed, and how often to try.
const PATIENCE: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(2);

/// Binds the socket to a queue of the interface with this index.
///
/// The kernel frees a queue only some time after its socket was closed (`xp_put_pool` in
/// net/xdp/xsk_buff_pool.c, Linux 6.18, leaves it to a worker).
pub(super) fn bind(socket: &Socket, interface: u32, queue: u32) -> Result<()> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        match socket.bind(interface, queue) {
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) && Instant::now() < give_up => {
                thread::sleep(PAUSE);
            }
            done => return done.map_err(|e| not_bound(queue, e)),
        }
    }
}

fn not_bound(queue: u32, error: io::Error) -> Error {
    let asked = format!("bind an AF_XDP socket to queue {queue}");
    match error.raw_os_error() {
        Some(libc::EBUSY) => {
            Error::new(ErrorKind::Busy, asked, "another AF_XDP socket is on that queue")
                .advise("end the other program, or use another back end")
        }
        Some(libc::EINVAL) => {
            Error::new(ErrorKind::Invalid, asked, "the interface has no such queue")
        }
        _ => refused(asked, error),
    }
}
