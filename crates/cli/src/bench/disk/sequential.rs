//! What the disk itself takes, one write after another.

use std::fs::File;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use linerate::capture::disk::{Disk, Way};

use super::scratch::Scratch;

/// Bytes handed over at a time.
const PIECE: usize = 1 << 20;

/// Bytes a second, what the page cache then holds included.
///
/// # Errors
/// When the disk does not take them.
pub(super) fn rate(scratch: &Scratch, time: Duration, way: Way) -> Result<f64> {
    let rate = write(scratch, time, way).context("write to the disk");
    scratch.clear();
    rate
}

fn write(scratch: &Scratch, time: Duration, way: Way) -> io::Result<f64> {
    let mut disk = Disk::new(way);
    let mut file = disk.open(File::create(scratch.file())?);
    let piece = vec![0x5a; PIECE];
    let (began, mut written) = (Instant::now(), 0);
    while began.elapsed() < time && written < scratch.room - PIECE as u64 {
        file.write_all(&piece)?;
        written += PIECE as u64;
    }
    let closed = disk.close(file);
    closed.result?;
    closed.file.map_or(Ok(()), |file| file.sync_data())?;
    Ok(written as f64 / began.elapsed().as_secs_f64())
}
