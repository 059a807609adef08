//! Which cores a thread runs on.

use std::fs;
use std::io;
use std::mem::{size_of, zeroed};

use linerate_base::{Error, ErrorKind, Result};

/// The cores that the calling thread may run on, in order.
///
/// # Errors
/// On a machine with more than 1,024 cores.
pub fn allowed() -> Result<Vec<usize>> {
    // SAFETY: a cpu_set_t is plain bits; all zeroes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    // SAFETY: 0 is the calling thread, and the set is valid for its size during the call.
    let result = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    if result != 0 {
        return Err(Error::system("list the allowed cores", io::Error::last_os_error()));
    }
    // SAFETY: CPU_ISSET reads a bit of the set; every index asked lies within it.
    let is_set = |core: &usize| unsafe { libc::CPU_ISSET(*core, &set) };
    Ok((0..libc::CPU_SETSIZE as usize).filter(is_set).collect())
}

/// Keeps the calling thread on `core` from now on.
///
/// # Errors
/// When there is no such core, or the process may not use it.
pub fn pin(core: usize) -> Result<()> {
    keep_on(&[core])
}

/// Keeps the calling thread, and those that it starts, on these cores from now on.
///
/// # Errors
/// When one of them is no core, or the process may use none of them.
pub fn keep_on(cores: &[usize]) -> Result<()> {
    let asked = || format!("keep a thread on the cores {cores:?}");
    if cores.iter().any(|core| *core >= libc::CPU_SETSIZE as usize) {
        return Err(Error::new(ErrorKind::Invalid, asked(), "no such core"));
    }
    // SAFETY: a cpu_set_t is plain bits; all zeroes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    for core in cores {
        // SAFETY: `core` is an index within the set, as checked above.
        unsafe { libc::CPU_SET(*core, &mut set) };
    }
    // SAFETY: 0 is the calling thread, and the set is valid for its size during the call.
    let result = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) };
    if result == 0 { Ok(()) } else { Err(Error::system(asked(), io::Error::last_os_error())) }
}

/// Whether the kernel is a real-time one, in which even the work of interrupts is interrupted
/// (`PREEMPT_RT`; it has this file then).
pub fn is_realtime() -> bool {
    fs::read_to_string("/sys/kernel/realtime").is_ok_and(|flag| flag.trim() == "1")
}

/// The cores near the device behind `interface`: those of its node, where the machine has several nodes
/// of memory and the device stands at one of them. `None` elsewhere.
///
/// Of the interfaces that the process's `/sys` shows
/// (Documentation/ABI/stable/sysfs-devices-node, testing/sysfs-bus-pci, Linux 6.18).
pub fn near(interface: &str) -> Option<Vec<usize>> {
    let node = fs::read_to_string(format!("/sys/class/net/{interface}/device/numa_node")).ok()?;
    // A device that stands at no node in particular has -1.
    let node: u32 = node.trim().parse().ok()?;
    cores(&fs::read_to_string(format!("/sys/devices/system/node/node{node}/cpulist")).ok()?)
}

/// The numbers of the cores that are switched on; they may have gaps.
///
/// # Errors
/// When the process has neither `/sys` nor `/proc`.
pub fn online() -> Result<Vec<usize>> {
    let asked = || "ask which cores there are";
    if let Ok(list) = fs::read_to_string("/sys/devices/system/cpu/online") {
        return cores(&list).ok_or_else(|| Error::new(ErrorKind::Malformed, asked(), list));
    }
    let table = fs::read_to_string("/proc/stat").map_err(|e| Error::system(asked(), e))?;
    Ok(counted(&table))
}

/// The cores that have a line in `/proc/stat`: those that are switched on (proc_stat(5)).
fn counted(table: &str) -> Vec<usize> {
    let number = |line: &str| line.strip_prefix("cpu")?.split(' ').next()?.parse().ok();
    table.lines().filter_map(number).collect()
}

/// The numbers in a list such as `0-3,8,10-11`; `None` when it is no such list, or empty.
fn cores(list: &str) -> Option<Vec<usize>> {
    let mut cores = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cores.extend(first.parse().ok()?..=last.parse::<usize>().ok()?);
    }
    Some(cores)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn lists_of_cores_are_read() {
        assert_eq!(cores("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(cores("5"), Some(vec![5]));
        assert_eq!(cores("\n"), None);
        assert_eq!(cores("a-b"), None);
    }

    #[test]
    fn a_core_that_may_be_used_is_online() {
        let online = online().unwrap();
        assert!(allowed().unwrap().iter().all(|core| online.contains(core)));
    }

    #[test]
    fn cores_are_those_of_which_there_is_a_count() {
        let table = "cpu  9 0 1\ncpu0 4 0 1\ncpu3 5 0 0\nintr 7 8\nctxt 9\n";
        assert_eq!(counted(table), [0, 3]);
        assert!(!counted(&fs::read_to_string("/proc/stat").unwrap()).is_empty());
    }

    #[test]
    fn an_interface_without_device_is_near_no_core() {
        assert_eq!(near("lo"), None);
        assert_eq!(near("no-such-link"), None);
    }

    #[test]
    fn a_pinned_thread_is_allowed_one_core() {
        let last = *allowed().unwrap().last().unwrap();
        let pinned = thread::spawn(move || {
            pin(last).unwrap();
            allowed().unwrap()
        });
        assert_eq!(pinned.join().unwrap(), [last]);
    }

    #[test]
    fn a_core_that_is_not_there_is_refused() {
        assert_eq!(pin(1023).unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(pin(usize::MAX).unwrap_err().kind(), ErrorKind::Invalid);
    }
}
