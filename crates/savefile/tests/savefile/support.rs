//! Reading a whole savefile into something that can be compared.

use std::fmt;
use std::io::{self, Read};
use std::time::Duration;

use linerate_base::{Batch, Direction, Error, Interface, LinkType, Packet, Source, Timestamp};
use linerate_savefile::{Format, Options, Precision, Reader, Recorded, Warning, Writer};

/// A packet with its own bytes.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Owned {
    pub(crate) time: Timestamp,
    pub(crate) data: Vec<u8>,
    pub(crate) length: u32,
    pub(crate) interface: u32,
    pub(crate) link_type: LinkType,
    pub(crate) direction: Direction,
}

/// In few words: a failed comparison shows many packets.
impl fmt::Debug for Owned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = &self.data[..self.data.len().min(4)];
        write!(f, "{}ns:{}/{}{start:x?}", self.time.nanos(), self.data.len(), self.length)
    }
}

impl From<Packet<'_>> for Owned {
    fn from(packet: Packet<'_>) -> Self {
        Self {
            time: packet.time,
            data: packet.data.to_vec(),
            length: packet.length,
            interface: packet.interface,
            link_type: packet.link_type,
            direction: packet.direction,
        }
    }
}

impl Owned {
    pub(crate) fn borrow(&self) -> Packet<'_> {
        Packet {
            time: self.time,
            data: &self.data,
            length: self.length,
            interface: self.interface,
            link_type: self.link_type,
            direction: self.direction,
        }
    }
}

/// A packet of `data` on the first interface, `nanos` after the epoch.
pub(crate) fn packet(nanos: i64, data: &[u8]) -> Owned {
    Owned {
        time: Timestamp::from_nanos(nanos),
        data: data.to_vec(),
        length: data.len() as u32,
        interface: 0,
        link_type: LinkType::ETHERNET,
        direction: Direction::Unknown,
    }
}

pub(crate) fn ethernet(name: &str) -> Interface {
    let link_type = LinkType::ETHERNET;
    Interface { name: name.to_owned(), link_type, snaplen: 65535, ..Interface::default() }
}

/// Everything that a file gave.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) packets: Vec<Owned>,
    pub(crate) interfaces: Vec<Interface>,
    pub(crate) recorded: Vec<Recorded>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) error: Option<Error>,
}

impl Outcome {
    /// The packets of a file in which nothing was odd.
    #[track_caller]
    pub(crate) fn clean(self) -> Vec<Owned> {
        assert!(self.error.is_none(), "{}", self.error.unwrap());
        assert_eq!(self.warnings, []);
        self.packets
    }

    #[track_caller]
    pub(crate) fn error_text(&self) -> String {
        self.error.as_ref().expect("an error").to_string()
    }
}

/// Reads `input` to its end, checking what the source promises on the way.
pub(crate) fn read(input: impl Read) -> Outcome {
    let mut outcome = Outcome::default();
    let mut reader = match Reader::new(input) {
        Ok(reader) => reader,
        Err(error) => return Outcome { error: Some(error), ..outcome },
    };
    loop {
        match reader.next_batch(Duration::MAX) {
            Ok(Some(batch)) => outcome.packets.extend(batch.iter().map(Owned::from)),
            Ok(None) => break,
            Err(error) => outcome.error = Some(error),
        }
    }
    let stats = reader.stats().unwrap();
    assert!(stats.balances());
    assert_eq!(stats.delivered, outcome.packets.len() as u64);
    outcome.interfaces = reader.interfaces().to_vec();
    outcome.recorded = reader.recorded().to_vec();
    outcome.warnings = reader.warnings().to_vec();
    outcome
}

pub(crate) const NANOS: Format = Format::Pcap(Precision::Nanos);
pub(crate) const MICROS: Format = Format::Pcap(Precision::Micros);

/// The savefile with `packets`.
pub(crate) fn write(format: Format, interfaces: &[Interface], packets: &[Owned]) -> Vec<u8> {
    let options = Options { format, ..Options::default() };
    let mut writer = Writer::new(Vec::new(), &options, interfaces).unwrap();
    for packet in packets {
        writer.write(&packet.borrow()).unwrap();
    }
    let counters = writer.finish().unwrap();
    let file = writer.into_output();
    assert_eq!((counters.packets, counters.bytes), (packets.len() as u64, file.len() as u64));
    file
}

/// Lends `packets` out as one batch.
pub(crate) fn with_batch<T>(
    interfaces: &[Interface],
    packets: &[Owned],
    use_it: impl FnOnce(&Batch<'_>) -> T,
) -> T {
    let mut region = Vec::new();
    let mut table = Vec::new();
    for packet in packets {
        table.push(linerate_base::Descriptor {
            time: packet.time,
            offset: region.len() as u32,
            captured: packet.data.len() as u32,
            length: packet.length,
            interface: packet.interface,
            direction: packet.direction,
        });
        region.extend(&packet.data);
    }
    use_it(&Batch::new(&region, &table, interfaces))
}

/// A reader that gives at most `step` bytes at a time, and is interrupted before each of them.
pub(crate) struct Dribble<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) step: usize,
    pub(crate) interrupt: bool,
}

impl<'a> Dribble<'a> {
    pub(crate) fn new(bytes: &'a [u8], step: usize) -> Self {
        Self { bytes, step, interrupt: true }
    }
}

impl Read for Dribble<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupt = !self.interrupt;
        if !self.interrupt {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let count = self.step.min(buffer.len());
        self.bytes.read(&mut buffer[..count])
    }
}
