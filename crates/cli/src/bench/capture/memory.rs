//! The most memory that a process had, that of its BPF maps included.

use std::collections::BTreeMap;
use std::fs;

/// Bytes; `None` when the process has ended.
///
/// That is its largest resident set, and all of its maps, which the kernel counts apart: as far as they
/// are mapped, too, they are counted once.
pub(super) fn peak(process: u32) -> Option<u64> {
    let folder = format!("/proc/{process}");
    let resident = kibibytes(&fs::read_to_string(format!("{folder}/status")).ok()?, "VmHWM:");
    let mapped = mapped(&fs::read_to_string(format!("{folder}/smaps")).ok()?);
    let maps = maps(&format!("{folder}/fdinfo"));
    Some((resident? << 10).saturating_sub(mapped) + maps)
}

/// The number after a name, proc_pid_status(5).
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Resident bytes of mapped BPF maps, proc_pid_smaps(5).
fn mapped(smaps: &str) -> u64 {
    let (mut is_map, mut sum) = (false, 0);
    for line in smaps.lines() {
        if let Some(size) = line.strip_prefix("Rss:").filter(|_| is_map) {
            sum += size.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0);
        } else if !line.split_whitespace().next().is_some_and(|word| word.ends_with(':')) {
            is_map = line.ends_with("anon_inode:bpf-map");
        }
    }
    sum << 10
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
    fn mapped_bpf_maps_are_told_from_other_memory() {
        let smaps = "\
            7f00-7f10 rw-s 00000000 00:0e 1 anon_inode:bpf-map\n\
            Size:                 64 kB\n\
            Rss:                  12 kB\n\
            7f20-7f30 rw-p 00000000 00:00 0 \n\
            Rss:                 100 kB\n";
        assert_eq!(mapped(smaps), 12 << 10);
    }

    #[test]
    fn this_process_has_memory() {
        assert!(peak(std::process::id()).unwrap() > 100_000);
        assert_eq!(peak(u32::MAX), None);
    }
}
