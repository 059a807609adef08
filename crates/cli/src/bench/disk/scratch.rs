//! A folder on a disk that is removed whatever happens, short of SIGKILL.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use linerate::sys::filesystem;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tempfile::TempDir;

/// Bytes that the folder has at the most at a time.
const MOST: u64 = 60_000_000_000;
/// Bytes that are left to others who write to the disk meanwhile.
const LEFT: u64 = 5_000_000_000;

/// How long a file system goes on for each gigabyte after it has said that it is done, and at the most: one that is
/// mounted with `discard` tells the disk which blocks are free again.
const SETTLING: Duration = Duration::from_millis(100);
const SETTLED: Duration = Duration::from_secs(2);

/// The folder.
pub(in crate::bench) struct Scratch {
    folder: TempDir,
    is_memory: bool,
    /// Bytes that it may have at a time.
    pub(in crate::bench) room: u64,
}

impl Scratch {
    /// A new folder with room for `least` bytes in `parent`, or where temporary files are.
    ///
    /// # Errors
    /// When the disk has no room; when nobody named `parent` and temporary files are in memory.
    pub(in crate::bench) fn new(parent: Option<&Path>, least: u64) -> Result<Self> {
        let place = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        let asked = || format!("measure the disk of {}", place.display());
        let found = filesystem::of(&place).with_context(asked)?;
        if found.is_memory && parent.is_none() {
            bail!("{}: that is in memory: name a folder on a disk with --dir", asked());
        }
        let room = found.available.saturating_sub(LEFT).min(MOST);
        let [has, needs] = [found.available, least + LEFT].map(|bytes| bytes / 1_000_000_000);
        ensure!(room >= least, "{}: {needs} GB are needed, {has} are free", asked());
        let folder = tempfile::Builder::new().prefix("linerate-bench-").tempdir_in(&place);
        let folder = folder.with_context(asked)?;
        remove_on_signals(folder.path().to_owned()).with_context(asked)?;
        Ok(Self { folder, is_memory: found.is_memory, room })
    }

    /// The one file that is in the folder.
    pub(in crate::bench) fn file(&self) -> PathBuf {
        self.folder.path().join("f.pcap")
    }

    /// Gives the file's room back, and waits until the file system has: otherwise it would do so in the middle of the
    /// next trial, and the disk would pause for it.
    pub(super) fn clear(&self) {
        // One that nobody has written is not there.
        let Ok(file) = fs::metadata(self.file()) else { return };
        // Where one of these fails, the next write will tell.
        let _ = fs::remove_file(self.file());
        if self.is_memory {
            return;
        }
        let _ = File::open(self.folder.path()).and_then(|folder| folder.sync_all());
        thread::sleep(SETTLING.mul_f64(file.len() as f64 / 1e9).min(SETTLED));
    }
}

/// A signal would end the process without running what removes the folder.
fn remove_on_signals(folder: PathBuf) -> Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // Who still writes has an unlinked file, and ends with this process.
            let _ = fs::remove_dir_all(&folder);
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })?;
    Ok(())
}
