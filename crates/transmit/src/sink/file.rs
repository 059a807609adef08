//! A savefile: what would have been sent.

use std::fs::File;
use std::path::Path;

use linerate_base::{
    Direction, Error, Interface, LinkType, Packet, Result, Sink, SinkStats, Slots, Timestamp,
};
use linerate_savefile::{Compression, Format, Options, Output, Writer};

use super::buffer::Buffer;

/// Writes frames to a savefile, with the time at which they are due.
pub struct FileSink {
    writer: Writer<Output<File>>,
    buffer: Buffer,
    /// When each frame is due.
    dates: Vec<Timestamp>,
    stats: SinkStats,
}

impl FileSink {
    /// Makes the file `path`, whose ending says which format and compression it has. `slots` and `longest` are as
    /// in [`Config`](super::Config); `interface` is the name that packets are filed under.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: &Path, interface: &str, slots: usize, longest: usize) -> Result<Self> {
        let asked = || format!("write {}", path.display());
        let name = path.to_string_lossy();
        let file = File::create(path).map_err(|e| Error::system(asked(), e))?;
        let output = Output::new(file, Compression::of_name(&name)?);
        let output = output.map_err(|e| Error::system(asked(), e))?;
        let interface = Interface {
            name: interface.to_owned(),
            link_type: LinkType::ETHERNET,
            ..Interface::default()
        };
        let options = Options { format: Format::of_name(&name), ..Options::default() };
        let writer = Writer::new(output, &options, &[interface])?;
        let (buffer, stats) = (Buffer::new(slots, longest), SinkStats::default());
        Ok(Self { writer, buffer, dates: Vec::new(), stats })
    }

    fn write(&mut self) -> Result<()> {
        for (data, time) in self.buffer.frames().zip(&self.dates) {
            self.writer.write(&Packet {
                time: *time,
                data,
                length: data.len() as u32,
                interface: 0,
                link_type: LinkType::ETHERNET,
                direction: Direction::Out,
            })?;
            self.stats.sent += 1;
            self.stats.sent_bytes += data.len() as u64;
        }
        Ok(())
    }

    /// Completes the file.
    ///
    /// # Errors
    /// When the disk is full.
    pub fn finish(mut self) -> Result<()> {
        self.writer.finish()?;
        let finished = self.writer.into_output().finish();
        finished.map(drop).map_err(|e| Error::system("finish the savefile", e))
    }
}

impl Sink for FileSink {
    fn acquire(&mut self, most: usize) -> Result<Slots<'_>> {
        Ok(self.buffer.acquire(most).dated(&mut self.dates))
    }

    fn is_offline(&self) -> bool {
        true
    }

    fn submit(&mut self) -> Result<()> {
        self.stats.submitted += self.buffer.frames().len() as u64;
        let result = self.write();
        self.buffer.clear();
        self.stats.refused = self.stats.submitted - self.stats.sent;
        result
    }

    fn flush(&mut self, _: &mut dyn FnMut() -> bool) -> Result<()> {
        self.writer.flush()
    }

    fn stats(&self) -> SinkStats {
        self.stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_is_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.pcap");
        let mut sink = FileSink::create(&path, "eth0", 4, 100).unwrap();
        for length in [60, 61, 62] {
            sink.acquire(1).unwrap().push(|slot| {
                slot[..length].fill(7);
                length
            });
            sink.submit().unwrap();
        }
        let stats = sink.stats();
        assert_eq!((stats.sent, stats.sent_bytes, stats.balances()), (3, 183, true));
        sink.finish().unwrap();
        // A header of 24 bytes, and 16 in front of each packet.
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 24 + 3 * 16 + 183);
    }
}
