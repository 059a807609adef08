//! User namespaces: root over what one makes, without being root.

use std::fs;
use std::io;

use linerate_base::{Error, ErrorKind, Result};

use crate::process;

/// Makes an ordinary user root in a new user namespace, with a new and empty network namespace
/// for the whole process. Real files and interfaces stay out of reach.
///
/// # Errors
/// When a second thread is running already (user_namespaces(7) forbids it), and where the system
/// does not grant user namespaces to ordinary users; the advice names the setting then.
pub fn become_root() -> Result<()> {
    let (user, group) = (process::effective_user(), process::effective_group());
    unshare().map_err(refusal)?;
    // A group map may be written only once the process has given up setgroups(2).
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("0 {user} 1"))?;
    write("/proc/self/gid_map", &format!("0 {group} 1"))
}

fn unshare() -> io::Result<()> {
    // SAFETY: unshare(2) takes no pointer. It fails if the process has other threads.
    let result = unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Some systems let anyone make the namespace but nobody gain anything in it.
fn write(path: &str, text: &str) -> Result<()> {
    fs::write(path, text).map_err(refusal)
}

fn refusal(error: io::Error) -> Error {
    let asked = "become root in a user namespace";
    if error.raw_os_error() == Some(libc::EINVAL) {
        return Error::new(ErrorKind::Invalid, asked, "other threads are running already");
    }
    Error::system(asked, error).as_kind(ErrorKind::Permission).advise(advice())
}

/// The switches with which systems forbid it, and the value that means so.
const SWITCHES: [(&str, &str, &str); 3] = [
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ("user.max_user_namespaces", "0", "10000"),
];

fn advice() -> String {
    let closed = SWITCHES.iter().find(|(name, forbids, _)| {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        fs::read_to_string(path).is_ok_and(|value| value.trim() == *forbids)
    });
    match closed {
        Some((name, _, allows)) => format!("run as root, or allow it: sysctl -w {name}={allows}"),
        None => "run as root; this system gives no user namespaces to ordinary users".to_owned(),
    }
}
