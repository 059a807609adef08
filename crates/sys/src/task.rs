//! What other processes are doing at this moment: states, system calls, processor time.
//!
//! Sources: proc_pid_stat(5), proc_pid_syscall(5), proc_pid_fd(5).

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It runs, or waits for a processor.
    Running,
    /// It has been stopped, by a signal or a debugger.
    Stopped,
    /// It waits for this descriptor to take what it writes, or for storage.
    Writing(Option<u32>),
    /// It waits for something else, as for packets.
    Waiting,
}

/// What each thread of a process is doing. Threads that have just ended are left out.
///
/// # Errors
/// When the process is gone.
pub fn doing(process: u32) -> io::Result<Vec<Doing>> {
    let threads = fs::read_dir(format!("/proc/{process}/task"))?;
    let folders = threads.filter_map(|thread| Some(thread.ok()?.path()));
    let read = folders.filter_map(|folder| {
        let stat = fs::read_to_string(folder.join("stat")).ok()?;
        // Another user's is not shown, which counts as unknown.
        let call = fs::read_to_string(folder.join("syscall")).unwrap_or_default();
        interpret(&stat, &call)
    });
    Ok(read.collect())
}

/// Processor time that a process has used, in user mode and in the kernel, in whole ticks of the kernel's clock.
///
/// # Errors
/// When the process is gone.
pub fn used(process: u32) -> io::Result<(Duration, Duration)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let mut times = fields(&stat).unwrap_or_default().split_ascii_whitespace().skip(11);
    let mut next = || {
        let ticks = times.next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        Duration::from_millis(ticks * 1000 / ticks_per_second())
    };
    Ok((next(), next()))
}

/// Whether a process has ended, though nobody may have waited for it yet.
pub fn has_ended(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"));
    !stat.is_ok_and(|stat| fields(&stat).is_some_and(|fields| !fields.starts_with(['Z', 'X'])))
}

/// The calling thread's number.
///
/// # Errors
/// When there is no `/proc`.
pub fn this_thread() -> io::Result<u32> {
    let link = fs::read_link("/proc/thread-self")?;
    let number = link.file_name().and_then(|name| name.to_str()?.parse().ok());
    number.ok_or_else(|| io::Error::other("/proc/thread-self names no thread"))
}

/// What a process calls itself; empty when it is gone.
pub fn name(process: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

/// The path behind a descriptor of a process.
pub fn file(process: u32, descriptor: u32) -> Option<String> {
    let path = fs::read_link(format!("/proc/{process}/fd/{descriptor}")).ok()?;
    Some(path.to_string_lossy().into_owned())
}

/// Whether a process is in the calling thread's network namespace.
///
/// # Errors
/// When the process is gone, or may not be looked at.
pub fn is_in_this_namespace(process: u32) -> io::Result<bool> {
    is_in(process, network_namespace()?)
}

fn is_in(process: u32, namespace: u64) -> io::Result<bool> {
    fs::metadata(format!("/proc/{process}/ns/net")).map(|meta| meta.ino() == namespace)
}

/// The numbers of all processes of the calling thread's network namespace that this process may look at.
///
/// # Errors
/// When there is no `/proc`.
pub fn in_this_namespace() -> io::Result<Vec<u32>> {
    let own = network_namespace()?;
    let entries =
        fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let numbers = entries.filter_map(|name| name.parse::<u32>().ok());
    Ok(numbers.filter(|process| is_in(*process, own).unwrap_or(false)).collect())
}

/// The number of the calling thread's network namespace.
///
/// # Errors
/// When there is no `/proc`.
pub fn network_namespace() -> io::Result<u64> {
    fs::metadata("/proc/thread-self/ns/net").map(|meta| meta.ino())
}

/// The numbers of the sockets that a process has descriptors of; none when it is gone or another user's.
pub fn sockets(process: u32) -> Vec<u32> {
    socket_descriptors(process).into_iter().map(|(_, socket)| socket).collect()
}

/// A process's descriptors of sockets, and these sockets' numbers; none when it is gone or another user's.
pub fn socket_descriptors(process: u32) -> Vec<(u32, u32)> {
    let Ok(entries) = fs::read_dir(format!("/proc/{process}/fd")) else { return Vec::new() };
    let entries = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        let link = fs::read_link(&path).ok()?;
        let number = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        Some((path.file_name()?.to_str()?.parse().ok()?, number.parse().ok()?))
    });
    entries.collect()
}

fn interpret(stat: &str, call: &str) -> Option<Doing> {
    let state = fields(stat)?.chars().next()?;
    Some(match (state, writing(call)) {
        ('T' | 't', _) => Doing::Stopped,
        ('R', _) => Doing::Running,
        (_, Some(descriptor)) => Doing::Writing(Some(descriptor)),
        ('D', None) => Doing::Writing(None),
        _ => Doing::Waiting,
    })
}

/// What follows the name, which is in brackets and may hold any character.
fn fields(stat: &str) -> Option<&str> {
    stat.rsplit_once(") ").map(|(_, fields)| fields)
}

/// The descriptor of a system call that writes: its number, and its arguments in hexadecimal.
fn writing(call: &str) -> Option<u32> {
    const WRITING: [libc::c_long; 7] = [
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_pwrite64,
        libc::SYS_pwritev,
        libc::SYS_fsync,
        libc::SYS_fdatasync,
        libc::SYS_io_uring_enter,
    ];
    let mut words = call.split_ascii_whitespace();
    let number: libc::c_long = words.next()?.parse().ok()?;
    let descriptor = u32::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    WRITING.contains(&number).then_some(descriptor)
}

fn ticks_per_second() -> u64 {
    // SAFETY: sysconf(3) takes a number and touches no memory of ours.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).unwrap_or(100).max(1)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn states_and_calls_are_told_apart() {
        let stat = |state: char| format!("12 (a) b) {state} 1 12 12");
        let write = format!("{} 0x5 0x7f 0x10", libc::SYS_write);
        assert_eq!(interpret(&stat('T'), &write), Some(Doing::Stopped));
        assert_eq!(interpret(&stat('R'), "running"), Some(Doing::Running));
        assert_eq!(interpret(&stat('S'), &write), Some(Doing::Writing(Some(5))));
        assert_eq!(interpret(&stat('D'), ""), Some(Doing::Writing(None)));
        assert_eq!(interpret(&stat('S'), "-1 0x7ffc 0x7f"), Some(Doing::Waiting));
        assert_eq!(interpret("", ""), None);
    }

    #[test]
    fn this_process_is_found_and_has_used_something() {
        let own = std::process::id();
        assert!(in_this_namespace().unwrap().contains(&own));
        assert!(!doing(own).unwrap().is_empty());
        assert!(!name(own).is_empty());
        assert!(is_in_this_namespace(own).unwrap());
        let begun = used(own).unwrap();
        while used(own).unwrap() == begun {}
        assert!(doing(u32::MAX).is_err() && used(u32::MAX).is_err());
    }

    #[test]
    fn a_process_has_ended_before_somebody_waits_for_it() {
        let mut child = Command::new("sleep").arg("0.05").spawn().unwrap();
        assert!(!has_ended(std::process::id()) && has_ended(u32::MAX));
        while !has_ended(child.id()) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(child.wait().unwrap().success());
    }
}
