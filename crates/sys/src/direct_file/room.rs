//! Room on the disk, set aside before it is written.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use crate::filesystem;

/// A file that is shorter has nothing set aside: most captures are short.
const LEAST: u64 = 16 << 20;

/// Bytes set aside at a time, at the most.
const MOST: u64 = 1 << 30;

/// Room for a file that grows, as much again as the file has.
///
/// The file system then looks for free blocks once in many writes, not in the middle of each. The file
/// does not become longer by it (fallocate(2), `FALLOC_FL_KEEP_SIZE`), but takes more of the disk until
/// it is [given back](Self::give_back).
pub(super) struct Room {
    /// Bytes at the file's beginning for which there is room.
    end: u64,
    /// The file system has none, or knows nothing of the kind: writes find out for themselves.
    refused: bool,
}

impl Room {
    /// None yet, and none ever where files are in memory, which has better uses.
    pub(super) fn new(file: &File) -> Self {
        let on = filesystem::of(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())));
        Self { end: 0, refused: on.is_ok_and(|on| on.is_memory) }
    }

    /// Sets room aside for a write of the bytes from `from` to `to`, and for some that follow.
    pub(super) fn reach(&mut self, file: &File, from: u64, to: u64) {
        if self.refused || to <= self.end.max(LEAST) {
            return;
        }
        let (begin, end) = (self.end.max(from), to + to.min(MOST));
        match allocate(file, begin, end - begin) {
            Ok(()) => self.end = end,
            Err(error) => self.refused = error.kind() != io::ErrorKind::Interrupted,
        }
    }

    /// Leaves the file no room beyond its length.
    ///
    /// # Errors
    /// As for ftruncate(2): the room is the file's until it is removed.
    pub(super) fn give_back(self, file: &File) -> io::Result<()> {
        match self.end {
            0 => Ok(()),
            _ => file.set_len(file.metadata()?.len()),
        }
    }
}

fn allocate(file: &File, begin: u64, length: u64) -> io::Result<()> {
    let (fd, mode) = (file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE);
    // SAFETY: a call with numbers only.
    match unsafe { libc::fallocate64(fd, mode, begin as i64, length as i64) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt, MetadataExt};

    use super::*;

    #[test]
    fn a_growing_file_is_ahead_of_its_writes_and_keeps_its_length() {
        let file = tempfile::tempfile().unwrap();
        let mut room = Room::new(&file);
        room.reach(&file, 0, LEAST);
        assert_eq!(file.metadata().unwrap().blocks(), 0, "a short file");
        room.reach(&file, LEAST, LEAST + 10);
        file.write_all_at(b"0123456789", LEAST).unwrap();
        let before = file.metadata().unwrap();
        assert_eq!((before.len(), before.blocks() * 512 >= LEAST), (LEAST + 10, true));
        room.give_back(&file).unwrap();
        let after = file.metadata().unwrap();
        assert_eq!(after.len(), LEAST + 10);
        assert!(after.blocks() < 64, "{} blocks left", after.blocks());
    }

    #[test]
    fn memory_is_not_set_aside() {
        let file = tempfile::tempfile_in("/dev/shm").unwrap();
        let mut room = Room::new(&file);
        room.reach(&file, 0, 2 * LEAST);
        assert_eq!(file.metadata().unwrap().blocks(), 0);
    }

    #[test]
    fn what_takes_no_room_is_asked_once() {
        let null = File::options().write(true).open("/dev/null").unwrap();
        let mut room = Room::new(&null);
        room.reach(&null, 0, 2 * LEAST);
        assert!(room.refused);
        room.give_back(&null).unwrap();
    }
}
