//! Where savefiles go: past the page cache where that can be, else through it, or nowhere.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use linerate_sys::direct_file::{Buffers, DirectFile};

pub use linerate_sys::direct_file::{StallCounter, Stalls};

/// How files are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// Regular files past the page cache, in large buffers, while the capture goes on: nothing else
    /// keeps up with a fast disk. Pipes and devices as [`Plain`](Self::Plain).
    #[default]
    Direct,
    /// As every program writes. What was written can be read at once.
    Plain,
}

/// Writes files, one after another or some at a time, and counts the waits for their disk.
///
/// [`Way::Direct`] takes 16 MiB of memory for each file that is open at a time.
#[derive(Default)]
pub struct Disk {
    way: Way,
    /// Those of a file that was closed.
    buffers: Option<Buffers>,
    stalls: StallCounter,
    note: Option<String>,
}

/// A write through the page cache that takes longer has been made to wait for the disk; a copy of the
/// buffers in use here takes less than a millisecond.
const PATIENCE: Duration = Duration::from_millis(10);

impl Disk {
    /// A disk that no file was opened on yet.
    pub fn new(way: Way) -> Self {
        Self { way, ..Self::default() }
    }

    /// Takes over an empty file that was opened for writing, and that nobody else writes.
    pub fn open(&mut self, file: File) -> DiskFile {
        let is_regular = file.metadata().is_ok_and(|meta| meta.is_file());
        match self.way == Way::Direct && is_regular {
            true => self.open_direct(file),
            false => self.open_plain(file),
        }
    }

    /// Takes over a file to which bytes are to be appended, whoever else writes it.
    pub fn open_plain(&mut self, file: File) -> DiskFile {
        DiskFile(Kind::Plain(file, self.stalls.clone()))
    }

    fn open_direct(&mut self, file: File) -> DiskFile {
        let buffers = self.buffers.take().map_or_else(Buffers::new, Ok);
        match buffers.and_then(|buffers| DirectFile::new(&file, buffers, self.stalls.clone())) {
            Ok(direct) => {
                if !direct.is_direct() {
                    self.remark("the file system refuses O_DIRECT");
                }
                DiskFile(Kind::Direct(Box::new(direct), file))
            }
            Err(error) => {
                self.remark(&error.to_string());
                self.open_plain(file)
            }
        }
    }

    fn remark(&mut self, reason: &str) {
        self.note = Some(format!("writing through the page cache, which is slower: {reason}"));
    }

    /// What is other than asked for, for the user to read; once for all files.
    pub fn take_note(&mut self) -> Option<String> {
        self.note.take()
    }

    /// Writes what `file` still holds and closes it.
    pub fn close(&mut self, file: DiskFile) -> Closed {
        match file.0 {
            Kind::Direct(direct, file) => {
                let finished = direct.finish();
                self.buffers = Some(finished.buffers);
                Closed { file: Some(file), kept: finished.kept, result: finished.result }
            }
            Kind::Plain(file, _) => Closed { file: Some(file), kept: u64::MAX, result: Ok(()) },
            Kind::Nowhere => Closed { file: None, kept: u64::MAX, result: Ok(()) },
        }
    }

    /// The counter of waits for the disk, over all files.
    pub fn stalls(&self) -> StallCounter {
        self.stalls.clone()
    }
}

/// A file on a [`Disk`], to be [closed](Disk::close) there.
pub struct DiskFile(Kind);

enum Kind {
    Direct(Box<DirectFile>, File),
    Plain(File, StallCounter),
    Nowhere,
}

impl DiskFile {
    /// What is written to it is thrown away: to learn what a capture sustains without a disk.
    pub fn nowhere() -> Self {
        Self(Kind::Nowhere)
    }
}

impl Write for DiskFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Kind::Direct(direct, _) => direct.write(bytes),
            Kind::Plain(file, stalls) => {
                let began = Instant::now();
                let result = file.write(bytes);
                let took = began.elapsed();
                if took > PATIENCE {
                    stalls.add(took);
                }
                result
            }
            Kind::Nowhere => Ok(bytes.len()),
        }
    }

    /// Sends out what is there, without waiting for the disk.
    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Kind::Direct(direct, _) => direct.flush(),
            Kind::Plain(file, _) => file.flush(),
            Kind::Nowhere => Ok(()),
        }
    }
}

/// What is left of a [`DiskFile`].
#[derive(Debug)]
pub struct Closed {
    /// The file, where there is one. After an error it may have more bytes than `kept`.
    pub file: Option<File>,
    /// Of the bytes taken, how many at the beginning are in the file; `u64::MAX` for all.
    pub kept: u64,
    /// The error that kept others out of it.
    pub result: io::Result<()>,
}

/// The bytes of a range of `file`, which may have been opened for writing only.
///
/// # Errors
/// When it cannot be read, or does not reach so far.
pub fn read_back(file: &File, range: Range<u64>) -> io::Result<Vec<u8>> {
    let readable = File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let mut bytes = vec![0; (range.end - range.start) as usize];
    readable.read_exact_at(&mut bytes, range.start)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_writes_the_same_file_and_buffers_are_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..10_000_u32).flat_map(u32::to_be_bytes).collect();
        for way in [Way::Direct, Way::Plain] {
            let mut disk = Disk::new(way);
            for name in ["first", "second"] {
                let mut file = disk.open(File::create(folder.path().join(name)).unwrap());
                file.write_all(&bytes).unwrap();
                let closed = disk.close(file);
                closed.result.unwrap();
                assert!(closed.kept >= bytes.len() as u64, "{way:?}");
                let file = closed.file.unwrap();
                assert_eq!(file.metadata().unwrap().len(), bytes.len() as u64);
                assert_eq!(read_back(&file, 4..12).unwrap(), bytes[4..12], "{way:?}");
            }
            assert_eq!(disk.buffers.is_some(), way == Way::Direct);
            assert_eq!(disk.take_note(), None);
        }
    }

    #[test]
    fn devices_are_written_plainly() {
        let mut disk = Disk::new(Way::Direct);
        let mut file = disk.open(File::create("/dev/full").unwrap());
        assert_eq!(file.write(b"x").unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(disk.close(file).file.is_some() && disk.buffers.is_none());
    }

    #[test]
    fn nowhere_takes_everything() {
        let mut file = DiskFile::nowhere();
        file.write_all(&[0; 1000]).unwrap();
        let closed = Disk::new(Way::Direct).close(file);
        assert!(closed.file.is_none() && closed.result.is_ok() && closed.kept == u64::MAX);
    }
}
