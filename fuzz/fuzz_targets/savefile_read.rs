//! Any bytes as a savefile: no panic, sums that balance, and packets that survive being written.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use linerate_base::{Source, Timestamp};
use linerate_savefile::{Options, Reader, Writer};

/// A compressed input may stand for very much content; more than this teaches nothing new.
const ENOUGH: u64 = 16 << 20;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut reader) = Reader::new(bytes) else { return };
    let mut writer = Writer::new(Vec::new(), &Options::default(), &[]).expect("memory takes all");
    let (mut seen, mut written) = (0, 0);
    while let Ok(Some(batch)) = reader.next_batch(Duration::MAX) {
        seen += batch.len() as u64;
        writer.declare(batch.interfaces());
        for packet in batch.iter() {
            let outcome = writer.write(&packet);
            assert_eq!(outcome.is_ok(), packet.time >= Timestamp::EPOCH);
            written += u64::from(outcome.is_ok());
        }
        if writer.size() > ENOUGH {
            break;
        }
    }
    let stats = reader.stats().expect("counted in memory");
    assert!(stats.balances() && stats.delivered == seen);
    assert_eq!(writer.finish().expect("memory takes all").packets, written);
    assert_eq!(count(&writer.into_output()), written);
});

/// Packets in a savefile that must be without fault.
fn count(savefile: &[u8]) -> u64 {
    let mut reader = Reader::new(savefile).expect("what we write is a savefile");
    while reader.next_batch(Duration::MAX).expect("what we write is whole").is_some() {}
    assert!(reader.warnings().is_empty());
    reader.stats().expect("counted in memory").delivered
}
