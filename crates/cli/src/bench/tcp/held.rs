//! Memory of many open connections.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use linerate::base::{Batch, Descriptor, Interface, LinkType, Slots, Timestamp};
use linerate::tcp::mirror::{Answer, Behaviour, Ending, Mirror};
use linerate::tcp::{Application, Client, Config, End, Flow, Local, Next, Refusal};

use super::EXPERIMENT;
use crate::bench::progress::Progress;
use crate::bench::row::{Row, compare};
use crate::bench::runner::Samples;

pub(super) const NAME: &str = "connections held open";

/// SYNs that are answered together.
const BATCH: usize = 256;
/// Bytes from one frame to the next.
const STRIDE: usize = 1_536;

/// Opens so many, one to each address, with a mirror in this process, and sees how much more memory was in use at the most.
pub(super) fn rows(count: usize, progress: &mut Progress) -> Result<Vec<Row>> {
    let case = format!("{} million {NAME}", count / 1_000_000);
    progress.next(&case);
    forget_peak()?;
    let before = peak()?;
    let mut client = client(count)?;
    let mirror = Mirror::new(Behaviour {
        mac: [4; 6],
        ports: vec![],
        answer: Answer::Bytes(vec![]),
        ending: Ending::None,
        one_of: 1,
    });
    let mut wire = Memory::default();
    for first in (0..count).step_by(BATCH) {
        wire.open(&mut client, &mirror, first..count.min(first + BATCH));
    }
    ensure!(client.connections() == count, "{} connections are open", client.connections());
    let bytes = peak()?.saturating_sub(before);
    let figure = [("linerate".to_owned(), Some(Samples::new(vec![bytes as f64 / 1e6])))];
    Ok(compare(EXPERIMENT, &case, "MB", "linerate", &figure))
}

fn client(count: usize) -> Result<Client> {
    let local =
        Local { address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), ports: 1..=u16::MAX, mac: [2; 6] };
    let config = Config {
        connections: count,
        lifetime: Duration::from_secs(3_600),
        ..Config::new(vec![local], [7; 16])
    };
    Ok(Client::new(config, Timestamp::EPOCH)?)
}

/// The most memory that this process has had in use, in bytes (proc_pid_status(5)).
fn peak() -> Result<u64> {
    let text = fs::read_to_string("/proc/self/status").context("read what memory is in use")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    Ok(kilobytes.context("find what memory is in use")? << 10)
}

/// From now on the most is what is in use now (proc_pid_clear_refs(5)).
fn forget_peak() -> Result<()> {
    fs::write("/proc/self/clear_refs", "5").context("forget the most memory in use")
}

/// A wire that has no length.
#[derive(Default)]
struct Memory {
    asked: Frames,
    answered: Frames,
}

#[derive(Default)]
struct Frames {
    bytes: Vec<u8>,
    lengths: Vec<u32>,
}

impl Frames {
    fn slots(&mut self) -> Slots<'_> {
        self.bytes.resize(BATCH * STRIDE, 0);
        Slots::new(&mut self.bytes, STRIDE, 0, &mut self.lengths)
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let slots = self.bytes.chunks(STRIDE).zip(&self.lengths);
        slots.map(|(slot, length)| &slot[..*length as usize])
    }
}

impl Memory {
    /// Opens the connections of these numbers.
    fn open(&mut self, client: &mut Client, mirror: &Mirror, numbers: std::ops::Range<usize>) {
        let mut slots = self.asked.slots();
        for number in numbers {
            let address = Ipv4Addr::from_bits(0x0b00_0000 + number as u32);
            let remote = (address, 80).into();
            slots.push(|slot| client.syn(slot, 0, 1, remote, [4; 6], Timestamp::EPOCH));
        }
        let mut answers = self.answered.slots();
        self.asked.iter().for_each(|frame| mirror.answer(frame, &mut answers));
        let frame = |(number, length): (usize, &u32)| Descriptor {
            offset: (number * STRIDE) as u32,
            captured: *length,
            length: *length,
            ..Descriptor::default()
        };
        let frames: Vec<_> = self.answered.lengths.iter().enumerate().map(frame).collect();
        let interfaces = [Interface { link_type: LinkType::ETHERNET, ..Interface::default() }];
        let batch = Batch::new(&self.answered.bytes, &frames, &interfaces);
        client.receive(&batch, Timestamp::EPOCH, &mut Idle);
        // To the last acknowledgement of the handshake a mirror has nothing to say.
        client.fill(&mut self.asked.slots(), &|_| Some([4; 6]), &mut Idle);
    }
}

/// One who opens, and waits.
struct Idle;

impl Application for Idle {
    fn opened(&mut self, _: u32, _: &Flow, _: Option<Duration>) -> Next {
        Next::Wait
    }

    fn write(&mut self, _: u32, _: &Flow, _: u32, _: &mut [u8]) {}

    fn received(&mut self, _: u32, _: &[u8]) -> Next {
        Next::Wait
    }

    fn ended(&mut self, _: u32, _: &Flow, _: End) {}

    fn refused(&mut self, _: &Flow, _: Refusal) {}
}
