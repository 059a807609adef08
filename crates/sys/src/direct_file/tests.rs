use std::fs;
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::*;

/// An empty file on a disk, without a name.
fn file() -> File {
    tempfile::tempfile().unwrap()
}

fn open(file: File) -> DirectFile {
    DirectFile::new(file, Buffers::new().unwrap(), StallCounter::default())
}

fn content(mut file: &File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Bytes that differ from those a block, a page or a buffer further on.
fn pattern(length: usize) -> Vec<u8> {
    (0..length as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

#[test]
fn what_was_written_is_in_the_file_whatever_the_pieces() {
    let bytes = pattern(BUFFERS * BUFFER + BUFFER / 2 + 777);
    for (piece, flushes) in [(1 << 20, 1000), (99_999, 7), (BUFFER, 2), (bytes.len(), 1000)] {
        let mut target = open(file());
        for (number, part) in bytes.chunks(piece).enumerate() {
            target.write_all(part).unwrap();
            if number % flushes == flushes - 1 {
                target.flush().unwrap();
            }
        }
        let finished = target.finish();
        finished.result.unwrap();
        assert_eq!(finished.kept, bytes.len() as u64);
        assert!(content(&finished.file) == bytes, "pieces of {piece}");
    }
}

#[test]
fn short_files_are_exact_and_buffers_serve_again() {
    let mut buffers = Buffers::new().unwrap();
    for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, BUFFER - 1, BUFFER, BUFFER + 1] {
        let bytes = pattern(length);
        let mut target = DirectFile::new(file(), buffers, StallCounter::default());
        target.write_all(&bytes).unwrap();
        let finished = target.finish();
        finished.result.unwrap();
        assert!(content(&finished.file) == bytes, "{length} bytes");
        buffers = finished.buffers.unwrap();
    }
}

#[test]
fn a_flush_makes_the_file_grow() {
    let target = file();
    let seen = target.try_clone().unwrap();
    let mut target = open(target);
    let bytes = pattern(3 * BLOCK);
    let mut written = 0;
    for length in [10, 20, BLOCK, BLOCK - 30, 5, BLOCK / 2] {
        target.write_all(&bytes[written..written + length]).unwrap();
        written += length;
        target.flush().unwrap();
        while target.kept < written as u64 {
            target.wait().unwrap();
        }
        assert!(content(&seen) == bytes[..written], "{written} bytes");
    }
    target.finish().result.unwrap();
    assert!(content(&seen) == bytes[..written]);
}

#[test]
fn an_error_of_the_disk_is_told_until_the_end() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut target = open(full);
    target.write_all(b"some").unwrap();
    target.flush().unwrap();
    let finished = target.finish();
    assert_eq!(finished.result.unwrap_err().raw_os_error(), Some(libc::ENOSPC));
    assert_eq!(finished.kept, 0);
    assert!(finished.buffers.is_some());
}

#[test]
fn a_file_system_without_direct_writes_is_written_all_the_same() {
    // Files in /proc take no O_DIRECT; this one takes any bytes.
    let comm = OpenOptions::new().write(true).open("/proc/thread-self/comm").unwrap();
    let mut target = open(comm);
    assert!(!target.is_direct());
    target.write_all(b"renamed").unwrap();
    let finished = target.finish();
    finished.result.unwrap();
    assert_eq!(finished.kept, 7);
    assert_eq!(fs::read_to_string("/proc/thread-self/comm").unwrap(), "renamed\n");
}

#[test]
fn waits_for_the_disk_are_counted() {
    // A pipe that is read from late stands for a slow disk.
    let (mut reader, writer) = io::pipe().unwrap();
    let (begin, begun) = mpsc::channel::<()>();
    let reading = thread::spawn(move || {
        begun.recv().unwrap();
        thread::sleep(Duration::from_millis(100));
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map(|_| bytes)
    });
    let stalls = StallCounter::default();
    let file = File::from(OwnedFd::from(writer));
    let mut target = DirectFile::new(file, Buffers::new().unwrap(), stalls.clone());
    let bytes = pattern(BUFFERS * BUFFER + 1);
    target.write_all(&bytes[1..]).unwrap();
    assert_eq!(stalls.read(), Stalls::default());
    begin.send(()).unwrap();
    target.write_all(&bytes[..1]).unwrap();
    let waited = stalls.read();
    assert!(waited.count == 1 && !waited.time.is_zero(), "{waited:?}");
    target.finish().result.unwrap();
    let read = reading.join().unwrap().unwrap();
    assert!(read[..read.len() - 1] == bytes[1..] && read.last() == bytes.first());
}
