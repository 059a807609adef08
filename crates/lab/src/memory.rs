//! Control groups with little memory.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{self, Command};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Host, need};

/// A control group whose processes may take so much memory and no more. It is gone once this is dropped, and
/// its processes have ended.
#[derive(Debug)]
pub struct MemoryGroup {
    folder: PathBuf,
}

impl MemoryGroup {
    /// A new group with `bytes` of memory; `None`, said aloud, where nobody can make one: it takes root and the
    /// memory controller, of either version (the kernel's `admin-guide/cgroup-v2.rst` and
    /// `cgroup-v1/memory.rst`).
    ///
    /// # Errors
    /// When the kernel refuses it.
    ///
    /// # Panics
    /// With the environment variable `CI` set, instead of answering `None`.
    pub fn new(bytes: u64) -> io::Result<Option<Self>> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let Some((parent, limit)) = controlled() else {
            need::skip(
                "a control group with memory.max",
                "mount cgroup2 with the memory controller",
            );
            return Ok(None);
        };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("linerate-test-{}-{number}", process::id()));
        fs::create_dir(&folder)?;
        let group = Self { folder };
        fs::write(group.folder.join(limit), bytes.to_string())?;
        Ok(Some(group))
    }

    /// A command that runs `program` inside `host` and this group.
    pub fn command(&self, host: &Host, program: &str) -> Command {
        let mut command = host.command("sh");
        command.args(["-c", r#"echo $$ >"$0" && exec "$@""#]);
        command.arg(self.folder.join("cgroup.procs")).arg(program);
        command
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // Processes that have not ended keep it, and so it stays behind.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// The group in which groups with a limit can be made, and the limit's file: of version 2 the root, as no other
/// may have both processes and such groups; of version 1 our own.
fn controlled() -> Option<(PathBuf, &'static str)> {
    let root = PathBuf::from("/sys/fs/cgroup");
    let enabled = fs::read_to_string(root.join("cgroup.subtree_control")).unwrap_or_default();
    if enabled.split_whitespace().any(|name| name == "memory") {
        return Some((root, "memory.max"));
    }
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.split_once(":memory:/"))?.1;
    let own = root.join("memory").join(path);
    own.join("memory.limit_in_bytes").exists().then_some((own, "memory.limit_in_bytes"))
}
