//! The memory that this process may still take.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Bytes that can be allocated without swapping: the kernel's estimate for the machine (`MemAvailable`,
/// proc(5)), or what the process's control groups leave of their limits where that is less.
///
/// # Errors
/// When `/proc` is not mounted, or does not tell (before Linux 3.14).
pub fn available() -> io::Result<u64> {
    let machine = parse(&fs::read_to_string("/proc/meminfo")?).ok_or(io::ErrorKind::InvalidData)?;
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let left = groups.lines().filter_map(group).flat_map(|group| group.left());
    Ok(left.fold(machine, u64::min))
}

fn parse(meminfo: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

/// A control group that may limit memory, and the names of its files (cgroups(7); the kernel's
/// `admin-guide/cgroup-v2.rst` and `cgroup-v1/memory.rst`, Linux 6.18).
struct Group {
    mount: &'static str,
    path: PathBuf,
    limit: &'static str,
    usage: &'static str,
    /// In `memory.stat`: pages of files, which the kernel takes back when memory is short.
    reclaimable: [&'static str; 2],
}

/// The group of a line of `/proc/self/cgroup`.
fn group(line: &str) -> Option<Group> {
    let (_, named) = line.split_once(':')?;
    let (controllers, path) = named.split_once(':')?;
    let path = PathBuf::from(path.trim_start_matches('/'));
    match controllers {
        "" => Some(Group {
            mount: "/sys/fs/cgroup",
            path,
            limit: "memory.max",
            usage: "memory.current",
            reclaimable: ["inactive_file ", "active_file "],
        }),
        _ if controllers.split(',').any(|name| name == "memory") => Some(Group {
            mount: "/sys/fs/cgroup/memory",
            path,
            limit: "memory.limit_in_bytes",
            usage: "memory.usage_in_bytes",
            reclaimable: ["total_inactive_file ", "total_active_file "],
        }),
        _ => None,
    }
}

impl Group {
    /// What the group and those around it leave, where they have limits.
    fn left(&self) -> Vec<u64> {
        self.path
            .ancestors()
            .filter_map(|path| self.left_of(&Path::new(self.mount).join(path)))
            .collect()
    }

    fn left_of(&self, folder: &Path) -> Option<u64> {
        let number = |name| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
        // A group of version 2 without a limit says "max".
        let (limit, used) = (number(self.limit)?, number(self.usage)?);
        let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let used = used.saturating_sub(sum(&stat, &self.reclaimable));
        Some(limit.saturating_sub(used))
    }
}

/// The sum of the lines of `stat` that begin with these names.
fn sum(stat: &str, names: &[&str]) -> u64 {
    let value =
        |line: &str| names.iter().find_map(|name| line.strip_prefix(name)?.parse::<u64>().ok());
    stat.lines().filter_map(value).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_found_among_the_others() {
        assert_eq!(parse("MemTotal: 9 kB\nMemAvailable:     23 kB\n"), Some(23 << 10));
        assert_eq!(parse("MemTotal: 9 kB\n"), None);
        assert!(available().unwrap() > 0);
    }

    #[test]
    fn groups_of_both_versions_are_found() {
        let path = |line| group(line).map(|group| Path::new(group.mount).join(group.path));
        assert_eq!(path("0::/a/b"), Some("/sys/fs/cgroup/a/b".into()));
        assert_eq!(path("4:cpu,memory:/a"), Some("/sys/fs/cgroup/memory/a".into()));
        assert_eq!(path("3:cpuset:/a"), None);
        assert_eq!(path("nonsense"), None);
    }

    #[test]
    fn the_tightest_group_counts_and_pages_of_files_are_free() {
        let mount = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = mount.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("memory.max", "max\n");
        write("memory.current", "1\n");
        write("a/memory.max", "1000\n");
        write("a/memory.current", "900\n");
        write("a/memory.stat", "anon 5\ninactive_file 50\nactive_file 20\n");
        write("a/b/memory.max", "5000\n");
        write("a/b/memory.current", "6000\n");
        let group = group(&format!("0::{}/a/b", mount.path().display())).unwrap();
        let left = Group { mount: "/", ..group }.left();
        assert_eq!(left, [0, 170]);
    }
}
