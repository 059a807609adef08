//! Packets of savefiles, and tcpdump's word on them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use linerate_base::{Packet, Source};
use linerate_savefile::read::Reader;

/// Calls `each` with every packet of `file` up to the first fault; savefile's own tests judge
/// the faults.
pub(crate) fn packets(file: &Path, mut each: impl FnMut(&Packet<'_>)) {
    let opened = File::open(file).expect("captures can be opened");
    let Ok(mut reader) = Reader::new(opened) else { return };
    while let Ok(Some(batch)) = reader.next_batch(Duration::ZERO) {
        batch.iter().for_each(|packet| each(&packet));
    }
}

/// What tcpdump prints about `file` with these `flags`.
pub(crate) fn tcpdump(file: &Path, flags: &[&str]) -> String {
    let mut command = Command::new("tcpdump");
    command.args(flags).arg("-r").arg(file);
    let output = command.output().expect("tcpdump runs").stdout;
    String::from_utf8_lossy(&output).into_owned()
}

/// Every file of captures in `folder`, in the order of names.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "pcap" || e == "pcapng"));
    files.sort();
    files
}
