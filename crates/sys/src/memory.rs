//! The machine's memory.

use std::io;

/// Bytes that can be allocated without swapping, by the kernel's estimate (`MemAvailable`, proc(5)).
///
/// # Errors
/// When `/proc` is not mounted, or does not tell (before Linux 3.14).
pub fn available() -> io::Result<u64> {
    parse(&std::fs::read_to_string("/proc/meminfo")?).ok_or(io::ErrorKind::InvalidData.into())
}

fn parse(meminfo: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
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
}
