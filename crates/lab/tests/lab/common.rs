//! What several of these tests look for.

use std::fs;
use std::net::{ToSocketAddrs, UdpSocket};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Looks again and again until `condition` holds; the kernel takes things down in the background.
///
/// # Panics
/// When it does not within a time that is ample on the busiest machine.
pub(crate) fn wait_until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..3000 {
        if condition() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("never came true: {what}");
}

/// A socket on which waiting for a packet that was lost ends in an error.
pub(crate) fn bind(address: impl ToSocketAddrs) -> UdpSocket {
    let socket = UdpSocket::bind(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    socket
}

/// True while a thread is in the network namespace `id`, or a process has a descriptor of it.
pub(crate) fn is_held(id: u64) -> bool {
    let link = format!("net:[{id}]");
    let is_link = |path: &Path| fs::read_link(path).is_ok_and(|target| target == Path::new(&link));
    processes().any(|process| {
        entries(&process.join("task")).any(|task| is_link(&task.join("ns/net")))
            || entries(&process.join("fd")).any(|fd| is_link(&fd))
    })
}

fn processes() -> impl Iterator<Item = PathBuf> {
    entries(Path::new("/proc")).filter(|path| path.join("fd").exists())
}

/// Nothing for a folder that has gone, as processes do.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}
