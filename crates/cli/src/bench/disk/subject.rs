//! Who captures to a file.

use std::path::Path;

use crate::bench::capture::subject::{self, BUFFER, Subject};

/// A buffer that outlasts the pauses that disks make, in MiB.
const LARGE: u64 = 512;

/// All there are, writing to `file`: each with the same buffer, and two of them with a large one, too.
pub(super) fn all(file: &Path) -> Vec<Subject> {
    let file = file.to_string_lossy();
    // The lab's host has an address, and does without it.
    let exclusive = &["--exclusive", "--force"];
    let mut subjects = vec![
        subject::ours("linerate", &[], true, BUFFER, &file),
        subject::ours("linerate exclusive", exclusive, false, BUFFER, &file),
        subject::ours(&with_large("linerate exclusive"), exclusive, false, LARGE, &file),
    ];
    let large = |tcpdump: Subject| Subject { name: with_large(&tcpdump.name), ..tcpdump };
    let peers = [
        subject::tcpdump(BUFFER, &file),
        subject::tcpdump(LARGE, &file).map(large),
        subject::dumpcap(&file),
        subject::netsniff(&file),
    ];
    subjects.extend(peers.into_iter().flatten());
    subjects
}

fn with_large(name: &str) -> String {
    format!("{name}, {LARGE} MiB")
}
