//! What is in a savefile, whatever its writer says.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use linerate::base::{Packet, Source};
use linerate::capture;
use linerate::lab::traffic;

/// How many of the frames numbered from 0 to `sent` the file has, each counted once, with `size` bytes of each.
///
/// # Errors
/// When the file is no savefile, or damaged before its end.
pub(super) fn frames(file: &Path, size: usize, sent: u64) -> Result<u64> {
    let mut source = capture::open_file(file)?;
    let mut seen = Seen::new(sent);
    while let Some(batch) = source.next_batch(Duration::MAX)? {
        batch.iter().filter_map(|packet| number(&packet, size)).for_each(|n| seen.note(n));
    }
    Ok(seen.count)
}

/// Where a UDP payload begins, in Ethernet and IPv4.
const PAYLOAD: usize = 14 + 20 + 8;

/// The number of a frame of the load, if `packet` is one and has so many bytes of it.
fn number(packet: &Packet<'_>, size: usize) -> Option<u64> {
    let (headers, payload) = packet.data.split_at_checked(PAYLOAD)?;
    let is_ours = headers.starts_with(&traffic::live::MIRRORED) && packet.data.len() == size;
    let number = payload.first_chunk().filter(|_| is_ours)?;
    Some(u64::from_be_bytes(*number))
}

/// A bit for each number.
struct Seen {
    bits: Vec<u64>,
    limit: u64,
    count: u64,
}

impl Seen {
    fn new(limit: u64) -> Self {
        Self { bits: vec![0; limit.div_ceil(64) as usize], limit, count: 0 }
    }

    fn note(&mut self, number: u64) {
        if number >= self.limit {
            return;
        }
        let (word, bit) = (&mut self.bits[(number / 64) as usize], 1 << (number % 64));
        self.count += u64::from(*word & bit == 0);
        *word |= bit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_once_and_only_below_the_limit() {
        let mut seen = Seen::new(65);
        for number in [0, 64, 63, 64, 65, u64::MAX, 0] {
            seen.note(number);
        }
        assert_eq!(seen.count, 3);
    }
}
