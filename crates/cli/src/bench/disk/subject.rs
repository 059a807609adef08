//! Who captures to a file.

use std::path::Path;

use crate::bench::capture::subject::{self, Subject};

/// All there are, writing to `file`, each with the same buffer.
pub(super) fn all(file: &Path) -> Vec<Subject> {
    let file = file.to_string_lossy();
    // The lab's host has an address, and does without it.
    let exclusive = &["--exclusive", "--force"];
    let mut subjects = vec![
        subject::ours("linerate", &[], true, &file),
        subject::ours("linerate exclusive", exclusive, false, &file),
    ];
    let peers = [subject::tcpdump(&file), subject::dumpcap(&file), subject::netsniff(&file)];
    subjects.extend(peers.into_iter().flatten());
    subjects
}
