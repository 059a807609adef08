//! A network of ten bits, walked as a permutation: which of its addresses came.

use std::time::Duration;

use anyhow::Result;
use linerate::transmit::pacing::{Pace, Rate};
use linerate::transmit::{Backend, Plan, Sender};

use super::ground::{Device, Ground};
use super::observe::observe;
use super::packets::{Packets, Protocol};
use super::subject::TEMPLATE;
use super::tables::EXPERIMENT;
use crate::bench::row::{Row, compare};
use crate::bench::runner::Samples;

/// Addresses of the network.
const ADDRESSES: usize = 1 << 22;

/// Packets a second: not too many for the receiving host to look at each.
const RATE: u64 = 2_000_000;

/// Where the destination lies in a frame: behind the Ethernet header and in that of IPv4.
const DESTINATION: usize = 14 + 16;

/// Rows that say how many different addresses came, and how many frames.
pub(super) fn rows(ground: &Ground) -> Result<Vec<Row>> {
    let mut seen = Seen { bits: vec![0; ADDRESSES / 64], unique: 0, frames: 0 };
    observe(
        ground,
        |packet| seen.note(packet.data),
        || {
            let sending = ground.sender().spawn_on(ground.sender_core, send);
            sending.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        },
    )?;
    let row = |case: &str, count: u64| {
        let figures = [(TEMPLATE.to_owned(), Some(Samples::new(vec![count as f64])))];
        compare(EXPERIMENT, &format!("/10 permuted, {case}"), "packets", "", &figures)
    };
    let mut rows = row("unique destinations seen", seen.unique);
    rows.extend(row("frames seen", seen.frames));
    Ok(rows)
}

fn send() -> Result<()> {
    let packets = Packets { protocol: Protocol::Syn, unique: true };
    let template = packets.template(Device::Veth)?;
    let pace = Pace::new(Rate::Frames(RATE * 1000));
    let (count, duration) = (Some(ADDRESSES as u64), Some(Duration::from_secs(60)));
    let plan = Plan { template: &template, pace, count, duration, threads: 1 };
    let mut sender = Sender::open(&plan, Device::Veth.name(), Some(Backend::Live), 0)?;
    Ok(sender.run(&plan, &|_| false).1?)
}

struct Seen {
    bits: Vec<u64>,
    unique: u64,
    frames: u64,
}

impl Seen {
    fn note(&mut self, frame: &[u8]) {
        let address = frame.get(DESTINATION..DESTINATION + 4).map(|b| b.try_into().expect("four"));
        let Some(address) = address.map(u32::from_be_bytes) else { return };
        let at = (address ^ Device::Veth.network().to_bits()) as usize;
        if at >= ADDRESSES {
            return;
        }
        self.frames += 1;
        let (word, bit) = (&mut self.bits[at / 64], 1 << (at % 64));
        self.unique += u64::from(*word & bit == 0);
        *word |= bit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_counts_once_and_strangers_not_at_all() {
        let mut seen = Seen { bits: vec![0; ADDRESSES / 64], unique: 0, frames: 0 };
        for address in [[10, 64, 0, 0], [10, 127, 255, 255], [10, 64, 0, 0], [10, 128, 0, 0]] {
            let mut frame = [0; 60];
            frame[DESTINATION..DESTINATION + 4].copy_from_slice(&address);
            seen.note(&frame);
        }
        seen.note(&[0; 20]);
        assert_eq!((seen.unique, seen.frames), (2, 3));
    }
}
