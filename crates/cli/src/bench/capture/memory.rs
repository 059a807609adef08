//! The most memory that a process had, that of its BPF maps included.

use std::collections::BTreeMap;
use std::fs;

/// Bytes; `None` when the process has ended.
///
/// That is its largest resident set, mapped BPF maps included, and the maps that it has descriptors of,
/// which the kernel counts apart. One that is mapped and has a descriptor counts twice.
pub(super) fn peak(process: u32) -> Option<u64> {
    let folder = format!("/proc/{process}");
    let resident = kibibytes(&fs::read_to_string(format!("{folder}/status")).ok()?, "VmHWM:");
    Some((resident? << 10) + maps(&format!("{folder}/fdinfo")))
}

/// The number after a name, proc_pid_status(5).
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Bytes of the BPF maps that the process has descriptors of, each counted once
/// (`bpf_map_show_fdinfo` in `kernel/bpf/syscall.c`, Linux 6.18).
fn maps(folder: &str) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    let map = |text: String| Some((field(&text, "map_id:")?, field(&text, "memlock:")?));
    texts.filter_map(map).collect::<BTreeMap<_, _>>().values().sum()
}

fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory() {
        assert!(peak(std::process::id()).unwrap() > 100_000);
        assert_eq!(peak(u32::MAX), None);
    }
}
