//! The writer of one savefile.

use std::io::{self, Write};
use std::ops::AddAssign;

use linerate_base::{Batch, Error, ErrorKind, Interface, Packet, Result, Stats};

use super::merged::Merged;
use super::name::{ending, uncompressed};
use super::pcap::Pcap;
use super::pcapng::Pcapng;
use super::records::Records;

/// Bytes collected before they are handed on: one system call for some hundred full frames.
const BUFFER: usize = 512 << 10;

/// The format of a savefile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// pcap: one link type, no names, no statistics; read by everything.
    Pcap(Precision),
    /// pcapng, in nanoseconds.
    #[default]
    Pcapng,
}

impl Format {
    /// The format that the ending of a file's name, in any case and before that of a compression, asks
    /// for: pcap in nanoseconds for `.pcap` and `.cap`, else pcapng.
    pub fn of_name(name: &str) -> Self {
        match ending(uncompressed(name)).as_deref() {
            Some("pcap" | "cap") => Self::Pcap(Precision::Nanos),
            _ => Self::Pcapng,
        }
    }
}

/// The unit of a pcap file's time stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Microseconds; nanoseconds are cut off.
    Micros,
    /// Nanoseconds, for readers since 2013.
    #[default]
    Nanos,
}

/// What a savefile says about itself. Texts that are empty are left out, and pcap has no place for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The format.
    pub format: Format,
    /// The machine that captures (`shb_hardware`).
    pub hardware: String,
    /// Its operating system (`shb_os`).
    pub os: String,
    /// The program that captures (`shb_userappl`).
    pub application: String,
}

/// What a writer's output has taken as whole records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets.
    pub packets: u64,
    /// Bytes, headers included. A file cut to this length is valid.
    pub bytes: u64,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

/// Writes one savefile.
///
/// Records collect in a buffer of 512 KiB, so that `output` needs none. A writer must be
/// [finished](Self::finish); one that is dropped has written what it had flushed.
///
/// After an error of the output nothing more can be written: the file may end inside a record, and
/// [`counters`](Self::counters) tells what it holds before that. A packet that the format has no place for
/// is refused with an error as well, but writing can go on after it.
///
/// Interfaces are told by their indexes in the source's table. Packets of several sources can follow one
/// another, with [`next_source`](Self::next_source) between them.
#[derive(Debug)]
pub struct Writer<W: Write> {
    output: W,
    encoder: Encoder,
    interfaces: Merged,
    buffer: Vec<u8>,
    /// Packets in the buffer.
    buffered: u64,
    records: Records,
    stats: Vec<(u32, Stats)>,
    failed: bool,
}

#[derive(Debug)]
enum Encoder {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

impl<W: Write> Writer<W> {
    /// Begins a savefile for packets of `interfaces`, to which more can be [declared](Self::declare), and
    /// hands its header to `output`: a capture that is killed before its first packet leaves a valid file.
    ///
    /// The header of a pcap file names the link type of the first interface; without an interface it waits
    /// for one.
    ///
    /// # Errors
    /// Those of `output`.
    pub fn new(output: W, options: &Options, interfaces: &[Interface]) -> Result<Self> {
        let mut buffer = Vec::with_capacity(BUFFER + BUFFER / 8);
        let encoder = match options.format {
            Format::Pcap(precision) => Encoder::Pcap(Pcap::new(precision)),
            Format::Pcapng => {
                Pcapng::begin(&mut buffer, options);
                Encoder::Pcapng(Pcapng::default())
            }
        };
        let mut writer = Self {
            output,
            encoder,
            interfaces: Merged::default(),
            buffer,
            buffered: 0,
            records: Records::new(options.format),
            stats: Vec::new(),
            failed: false,
        };
        writer.declare(interfaces);
        writer.flush()?;
        Ok(writer)
    }

    /// Adds those of `interfaces`, the source's whole table, that were not declared before.
    pub fn declare(&mut self, interfaces: &[Interface]) {
        if self.interfaces.declare(interfaces) {
            let all = self.interfaces.all();
            match &mut self.encoder {
                Encoder::Pcap(pcap) => pcap.declare(&mut self.buffer, all),
                Encoder::Pcapng(pcapng) => pcapng.declare(&mut self.buffer, all),
            }
        }
    }

    /// From here on, packets are those of another source with `interfaces`, and indexes of interfaces are
    /// those of its table. An interface that is equal in everything to one of an earlier source shares its
    /// description in the file, where the sources have such interfaces in the same order.
    ///
    /// A pcap file takes packets of the other source only if they have the link type of the first.
    pub fn next_source(&mut self, interfaces: &[Interface]) {
        self.interfaces.next_source();
        self.declare(interfaces);
    }

    /// Writes every packet of `batch`, whose interfaces are declared on the way.
    ///
    /// # Errors
    /// As [`write`](Self::write); the packets before the one at fault have been taken.
    pub fn write_batch(&mut self, batch: &Batch<'_>) -> Result<()> {
        self.declare(batch.interfaces());
        batch.iter().try_for_each(|packet| self.write(&packet))
    }

    /// Writes a packet.
    ///
    /// # Errors
    /// When the output refuses bytes, when the packet's interface was not declared or has another link
    /// type, or when the format has no place for the packet: in pcap a second link type, or a time before
    /// 1970 or after 2106; in pcapng a time before 1970.
    #[inline]
    pub fn write(&mut self, packet: &Packet<'_>) -> Result<()> {
        let interface = self.interfaces.of(packet)?;
        self.put(packet, interface)
    }

    /// Writes a packet of the file's interface `interface`.
    #[inline]
    pub(crate) fn put(&mut self, packet: &Packet<'_>, interface: u32) -> Result<()> {
        if self.buffer.len() >= BUFFER {
            self.drain()?;
        }
        let captured = u32::try_from(packet.data.len()).map_err(|_| too_long(packet))?;
        match &mut self.encoder {
            Encoder::Pcap(pcap) => pcap.packet(&mut self.buffer, packet, captured)?,
            Encoder::Pcapng(pcapng) => {
                pcapng.packet(&mut self.buffer, packet, interface, captured)?;
            }
        }
        self.buffered += 1;
        Ok(())
    }

    /// Sets what [`finish`](Self::finish) will record as the statistics of the current source's
    /// `interface`, which must be declared; later calls replace earlier ones, also where the interface
    /// shares its description with one of an earlier source. pcap has no place for them.
    pub fn set_stats(&mut self, interface: u32, stats: Stats) {
        let Some(interface) = self.interfaces.index(interface) else { return };
        self.stats.retain(|(other, _)| *other != interface);
        self.stats.push((interface, stats));
    }

    /// What the output has taken as whole records. Where the output compresses, that is what the
    /// compressor has taken; where it holds bytes back, [`Records::within`] tells what became of them.
    pub fn counters(&self) -> Counters {
        self.records.counters()
    }

    /// Bytes of the file so far, those in the buffer included.
    pub fn size(&self) -> u64 {
        self.counters().bytes + self.buffer.len() as u64
    }

    /// Packets taken, those in the buffer included.
    #[inline]
    pub(crate) fn packets(&self) -> u64 {
        self.counters().packets + self.buffered
    }

    /// Bytes that the finished file has at most if `packet` is its last.
    #[inline]
    pub(crate) fn size_with(&self, packet: &Packet<'_>) -> u64 {
        self.size()
            + match &self.encoder {
                Encoder::Pcap(_) => Pcap::packet_size(packet),
                Encoder::Pcapng(pcapng) => Pcapng::packet_size(packet) + pcapng.statistics_size(),
            }
    }

    /// Bytes that the finished file has at most if `interfaces` are declared and no packet is added.
    pub(crate) fn size_declaring(&self, interfaces: &[Interface]) -> u64 {
        self.size()
            + match &self.encoder {
                Encoder::Pcap(_) => 0,
                Encoder::Pcapng(pcapng) => {
                    pcapng.declaration_size(interfaces) + pcapng.statistics_size()
                }
            }
    }

    /// Hands everything to the output and flushes that.
    ///
    /// # Errors
    /// Those of the output.
    pub fn flush(&mut self) -> Result<()> {
        self.drain()?;
        self.output.flush().map_err(|error| {
            self.failed = true;
            Error::system("write the savefile", error)
        })
    }

    /// Writes the statistics, hands everything to the output and flushes it. Where the output is a
    /// compressor, that must be finished after this.
    ///
    /// # Errors
    /// Those of the output; [`counters`](Self::counters) then tells what the file holds.
    pub fn finish(&mut self) -> Result<Counters> {
        if let Encoder::Pcapng(pcapng) = &self.encoder {
            for (interface, stats) in self.stats.drain(..) {
                pcapng.statistics(&mut self.buffer, interface, &stats);
            }
        }
        self.flush()?;
        Ok(self.counters())
    }

    /// Gives the output back.
    pub fn into_output(self) -> W {
        self.output
    }

    /// Gives the output back, and what it has taken.
    pub fn into_parts(self) -> (W, Records) {
        (self.output, self.records)
    }

    /// Hands the buffer to the output.
    fn drain(&mut self) -> Result<()> {
        if self.failed {
            return Err(Error::new(ErrorKind::Io, "write the savefile", "an earlier write failed"));
        }
        let (written, outcome) = write_all(&mut self.output, &self.buffer);
        let taken = match outcome {
            Ok(()) => Counters { packets: self.buffered, bytes: written as u64 },
            Err(_) => self.records.whole(&self.buffer[..written], self.counters().bytes == 0),
        };
        self.records.add(taken);
        self.buffer.clear();
        self.buffered = 0;
        outcome.map_err(|error| {
            self.failed = true;
            Error::system("write the savefile", error)
        })
    }
}

/// As [`Write::write_all`], but tells how much was written before an error.
fn write_all(output: &mut impl Write, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut written = 0;
    while written < bytes.len() {
        match output.write(&bytes[written..]) {
            Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (written, Err(error)),
        }
    }
    (written, Ok(()))
}

fn too_long(packet: &Packet<'_>) -> Error {
    let asked = format!("write a packet of {} bytes", packet.data.len());
    Error::new(ErrorKind::Unsupported, asked, "savefiles count a packet's bytes in 32 bits")
}

#[cfg(test)]
mod tests {
    use linerate_base::{Direction, LinkType, Timestamp};

    use super::*;

    fn interface(name: &str) -> Interface {
        Interface { name: name.to_owned(), ..Interface::default() }
    }

    fn packet(data: &[u8], direction: Direction) -> Packet<'_> {
        let length = data.len() as u32;
        let (time, link_type) = (Timestamp::EPOCH, LinkType::default());
        Packet { time, data, length, interface: 0, link_type, direction }
    }

    /// A writer with one packet and, later, a second interface.
    fn writer(format: Format) -> Writer<Vec<u8>> {
        let options = Options { format, ..Options::default() };
        let mut writer = Writer::new(Vec::new(), &options, &[interface("a")]).unwrap();
        writer.write(&packet(b"first", Direction::Unknown)).unwrap();
        writer
    }

    fn finished_size(mut writer: Writer<Vec<u8>>) -> u64 {
        for interface in 0..2 {
            writer.set_stats(interface, Stats { interface_dropped: Some(1), ..Stats::default() });
        }
        writer.finish().unwrap().bytes
    }

    #[test]
    fn sizes_are_told_beforehand() {
        let interfaces = [interface("a"), interface("second")];
        for format in [Format::Pcapng, Format::Pcap(Precision::Nanos)] {
            let mut declaring = writer(format);
            let expected = declaring.size_declaring(&interfaces);
            declaring.declare(&interfaces);
            assert_eq!(finished_size(declaring), expected, "{format:?}");
            for (direction, length) in [Direction::Unknown, Direction::In].iter().zip(5..) {
                let (mut writer, data) = (writer(format), vec![1; length]);
                let packet = packet(&data, *direction);
                let expected = writer.size_with(&packet);
                writer.write(&packet).unwrap();
                assert_eq!(writer.packets(), 2);
                assert_eq!(finished_size(writer), expected, "{format:?} {direction:?}");
            }
        }
    }
}
