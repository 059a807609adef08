use std::fs::{self, OpenOptions};
use std::io::{Read, Seek};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::*;

/// An empty file on a disk, without a name.
fn file() -> File {
    tempfile::tempfile().unwrap()
}

fn open(file: &File) -> DirectFile {
    DirectFile::new(file, Buffers::new().unwrap(), StallCounter::default()).unwrap()
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
        let file = file();
        let mut target = open(&file);
        for (number, part) in bytes.chunks(piece).enumerate() {
            target.write_all(part).unwrap();
            if number % flushes == flushes - 1 {
                target.flush().unwrap();
            }
        }
        let finished = target.finish();
        finished.result.unwrap();
        assert_eq!(finished.kept, bytes.len() as u64);
        assert!(content(&file) == bytes, "pieces of {piece}");
    }
}

#[test]
fn short_files_are_exact_and_buffers_serve_again() {
    let mut buffers = Buffers::new().unwrap();
    for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, BUFFER - 1, BUFFER, BUFFER + 1] {
        let bytes = pattern(length);
        let file = file();
        let mut target = DirectFile::new(&file, buffers, StallCounter::default()).unwrap();
        target.write_all(&bytes).unwrap();
        let finished = target.finish();
        finished.result.unwrap();
        assert!(content(&file) == bytes, "{length} bytes");
        buffers = finished.buffers;
    }
}

#[test]
fn a_flush_makes_the_file_grow() {
    let seen = file();
    let mut target = open(&seen);
    let bytes = pattern(3 * BLOCK);
    let mut written = 0;
    for length in [10, 20, BLOCK, BLOCK - 30, 5, BLOCK / 2] {
        target.write_all(&bytes[written..written + length]).unwrap();
        written += length;
        target.flush().unwrap();
        while target.free.len() + 1 < BUFFERS {
            let written = target.writer.wait();
            target.take_back(written);
        }
        assert_eq!(target.kept, written as u64);
        assert!(content(&seen) == bytes[..written], "{written} bytes");
    }
    target.finish().result.unwrap();
    assert!(content(&seen) == bytes[..written]);
}

#[test]
fn an_error_of_the_disk_is_told_until_the_end() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut target = open(&full);
    target.write_all(b"some").unwrap();
    target.flush().unwrap();
    let finished = target.finish();
    assert_eq!(finished.result.unwrap_err().raw_os_error(), Some(libc::ENOSPC));
    assert_eq!(finished.kept, 0);
}

#[test]
fn a_file_system_without_direct_writes_is_written_all_the_same() {
    // Files in /proc take no O_DIRECT; this one takes numbers, and offsets.
    const FILE: &str = "/proc/self/coredump_filter";
    let filter = OpenOptions::new().write(true).open(FILE).unwrap();
    let mut target = open(&filter);
    assert!(!target.is_direct());
    target.write_all(b"0x21").unwrap();
    let finished = target.finish();
    finished.result.unwrap();
    assert_eq!(finished.kept, 4);
    assert_eq!(fs::read_to_string(FILE).unwrap(), "00000021\n");
}

#[test]
fn waits_for_the_disk_are_counted() {
    // A thread that begins late stands for a slow disk.
    let (begin, begun) = mpsc::channel::<()>();
    let writer = Writer::served(true, move |orders, answers| {
        begun.recv().unwrap();
        thread::sleep(Duration::from_millis(100));
        for Piece { buffer, length, offset } in orders {
            let written = Written { buffer, kept: offset + length as u64, result: Ok(()) };
            let _ = answers.send(written);
        }
    });
    let stalls = StallCounter::default();
    let mut target = DirectFile::by(writer.unwrap(), Buffers::new().unwrap(), stalls.clone());
    let bytes = pattern(BUFFERS * BUFFER + 1);
    target.write_all(&bytes[1..]).unwrap();
    assert_eq!(stalls.read(), Stalls::default());
    begin.send(()).unwrap();
    target.write_all(&bytes[..1]).unwrap();
    let waited = stalls.read();
    assert!(waited.count == 1 && !waited.time.is_zero(), "{waited:?}");
    let finished = target.finish();
    finished.result.unwrap();
    assert_eq!(finished.kept, bytes.len() as u64);
}
