//! The `file` back end: a savefile, or one that comes through standard input.
//!
//! Reading, decompressing and finding the packets go on a thread of their own, a few batches ahead:
//!
//! ```text
//! thread: Reader -> Detached ----full----> FileSource -> Batch
//!                      ^------empty---------'
//! ```

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use linerate_base::{Batch, Error, ErrorKind, Interface, Result, Source, Stats};
use linerate_savefile::{Detached, Reader, Warning};

/// Batches between the thread and the source: enough to even out their speeds, few enough to stay in
/// the cache.
const BATCHES: usize = 4;

/// A savefile as a source of packets.
///
/// A wait for input that does not come, as from a silent pipe, ends in time. When the source is dropped
/// before the end, the thread ends with its next batch.
pub struct FileSource {
    full: Receiver<Message>,
    /// `None` once the source is stopped.
    empty: Option<Sender<Detached>>,
    current: Detached,
    interfaces: Vec<Interface>,
    has_all_interfaces: bool,
    warnings: Vec<Warning>,
    delivered: u64,
    progress: Arc<AtomicU64>,
    ended: bool,
}

enum Message {
    /// A batch, and how many bytes of the input were read for it and those before it.
    Packets(Detached, u64),
    End(Result<()>, Vec<Warning>),
}

/// Opens the savefile at `path`, of any format and compression that is known; `-` is standard input.
///
/// # Errors
/// When it cannot be opened, or does not begin as a savefile does.
pub fn open_file(path: &Path) -> Result<FileSource> {
    let input: Box<dyn Read + Send> = match path.as_os_str() == "-" {
        true => Box::new(io::stdin()),
        false => Box::new(open(path)?),
    };
    FileSource::new(input, path.display().to_string())
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|e| Error::system(format!("read {}", path.display()), e))
}

impl FileSource {
    fn new<R: Read + Send + 'static>(input: R, name: String) -> Result<Self> {
        let bytes = Arc::new(AtomicU64::new(0));
        let input = Counted { input, bytes: bytes.clone() };
        let reader = Reader::new(input).map_err(|error| error.within(&name))?;
        let interfaces = reader.interfaces().to_vec();
        let has_all_interfaces = reader.has_all_interfaces();
        let (to_source, full) = mpsc::channel();
        let (empty, to_thread) = mpsc::channel();
        for _ in 0..BATCHES {
            empty.send(Detached::default()).expect("the receiver is here");
        }
        thread::Builder::new()
            .name("read".into())
            .spawn(move || read(reader, &name, &bytes, &to_thread, &to_source))
            .map_err(|e| Error::system("start a thread that reads the savefile", e))?;
        let (current, warnings) = (Detached::default(), Vec::new());
        let (empty, progress) = (Some(empty), Arc::default());
        let delivered = 0;
        Ok(Self {
            full,
            empty,
            current,
            interfaces,
            has_all_interfaces,
            warnings,
            delivered,
            progress,
            ended: false,
        })
    }

    /// How many bytes of the input, as compressed as it is, were read for the batches lent so far. It goes on while
    /// somebody else has the source.
    pub fn progress(&self) -> Arc<AtomicU64> {
        self.progress.clone()
    }

    /// True when no interface can follow those that are known: of a pcap file from the beginning, of others at the end.
    pub fn has_all_interfaces(&self) -> bool {
        self.has_all_interfaces || self.ended
    }

    /// What is odd about the file, once it was read to its end or to a fault.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The next message; `None` when it does not come in time.
    fn receive(&self, wait: Duration) -> Option<Message> {
        // What a stopped source has not got by now, it does not wait for.
        let wait = if self.empty.is_some() { wait } else { Duration::ZERO };
        match self.full.recv_timeout(wait) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Message::End(Err(panicked()), Vec::new())),
        }
    }

    fn lend(&mut self, packets: Detached) -> Batch<'_> {
        let used = std::mem::replace(&mut self.current, packets);
        if let Some(empty) = &self.empty {
            // The thread has gone when it has sent the last batch.
            let _ = empty.send(used);
        }
        self.interfaces.extend_from_slice(self.current.new_interfaces());
        let batch = self.current.batch(&self.interfaces);
        self.delivered += batch.len() as u64;
        batch
    }
}

/// Counts the bytes that are read.
struct Counted<R> {
    input: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Runs on the thread: fills batches until the end, or until nobody wants them.
fn read<R: Read>(
    mut reader: Reader<R>,
    name: &str,
    bytes: &AtomicU64,
    empty: &Receiver<Detached>,
    full: &Sender<Message>,
) {
    let mut known = reader.interfaces().len();
    let mut end = Ok(());
    for mut packets in empty {
        match reader.detach(&mut packets, known) {
            Ok(true) => known += packets.new_interfaces().len(),
            Ok(false) => break,
            Err(error) => {
                end = Err(error.within(name));
                break;
            }
        }
        let bytes = bytes.load(Ordering::Relaxed);
        if full.send(Message::Packets(packets, bytes)).is_err() {
            return;
        }
    }
    // Whoever dropped the source does not want to know.
    let _ = full.send(Message::End(end, reader.warnings().to_vec()));
}

fn panicked() -> Error {
    Error::new(ErrorKind::Io, "read the savefile", "the thread that reads has panicked")
}

impl Source for FileSource {
    fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    fn next_batch(&mut self, wait: Duration) -> Result<Option<Batch<'_>>> {
        if self.ended {
            return Ok(None);
        }
        match self.receive(wait) {
            Some(Message::Packets(packets, bytes)) => {
                self.progress.store(bytes, Ordering::Relaxed);
                Ok(Some(self.lend(packets)))
            }
            Some(Message::End(result, warnings)) => {
                (self.ended, self.warnings) = (true, warnings);
                result.map(|()| None)
            }
            None if self.empty.is_none() => Ok(None),
            None => Ok(Some(Batch::empty(&self.interfaces))),
        }
    }

    fn stats(&mut self) -> Result<Stats> {
        Ok(Stats { seen: self.delivered, delivered: self.delivered, ..Stats::default() })
    }

    fn stop(&mut self) -> Result<()> {
        self.empty = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use linerate_base::{LinkType, Packet, Timestamp};
    use linerate_savefile::{Options, Writer};

    use super::*;

    const FOREVER: Duration = Duration::from_secs(3600);

    /// A pcapng file of `count` packets, each on an interface of its own.
    fn savefile(count: u32) -> Vec<u8> {
        let interface = Interface { link_type: LinkType::ETHERNET, ..Interface::default() };
        let mut writer = Writer::new(Vec::new(), &Options::default(), &[]).unwrap();
        for number in 0..count {
            writer.declare(&vec![interface.clone(); number as usize + 1]);
            let data = number.to_be_bytes();
            let packet = Packet {
                time: Timestamp::EPOCH,
                data: &data,
                length: 4,
                interface: number,
                link_type: LinkType::ETHERNET,
                direction: linerate_base::Direction::Unknown,
            };
            writer.write(&packet).unwrap();
        }
        writer.finish().unwrap();
        writer.into_output()
    }

    fn source(bytes: impl Read + Send + 'static) -> FileSource {
        FileSource::new(bytes, "f".into()).unwrap()
    }

    /// Reads to the end; gives the packets' numbers and how it ended.
    fn drain(source: &mut FileSource) -> (Vec<u32>, Result<()>) {
        let mut numbers = Vec::new();
        loop {
            match source.next_batch(FOREVER) {
                Ok(Some(batch)) => numbers.extend(batch.iter().map(|p| p.interface)),
                Ok(None) => return (numbers, Ok(())),
                Err(error) => return (numbers, Err(error)),
            }
        }
    }

    #[test]
    fn every_packet_comes_once_and_in_order_with_its_interface() {
        let file = savefile(5000);
        let (size, mut source) = (file.len() as u64, source(io::Cursor::new(file)));
        let progress = source.progress();
        assert_eq!(progress.load(Ordering::Relaxed), 0);
        let (numbers, end) = drain(&mut source);
        end.unwrap();
        assert_eq!(progress.load(Ordering::Relaxed), size);
        assert!(numbers.iter().copied().eq(0..5000));
        assert_eq!(source.interfaces().len(), 5000);
        assert!(source.next_batch(FOREVER).unwrap().is_none(), "an end is an end");
        assert_eq!(source.stats().unwrap().delivered, 5000);
    }

    #[test]
    fn packets_come_before_the_fault_and_the_fault_names_the_file() {
        let mut bytes = savefile(100);
        let at = bytes.len() - 30;
        bytes[at..].fill(0xff);
        let (numbers, end) = drain(&mut source(io::Cursor::new(bytes)));
        assert!(numbers.len() >= 98);
        assert!(end.unwrap_err().to_string().starts_with("f: "));
    }

    #[test]
    fn a_cut_is_a_warning() {
        let mut bytes = savefile(100);
        bytes.truncate(bytes.len() - 3);
        let mut source = source(io::Cursor::new(bytes));
        drain(&mut source).1.unwrap();
        assert_eq!(source.warnings().len(), 1);
    }

    #[test]
    fn silent_input_holds_nobody_up() {
        let (mut near, far) = UnixStream::pair().unwrap();
        io::Write::write_all(&mut near, &savefile(3)).unwrap();
        let mut source = source(far);
        assert_eq!(source.next_batch(FOREVER).unwrap().unwrap().len(), 3);
        assert!(source.next_batch(Duration::ZERO).unwrap().unwrap().is_empty());
        source.stop().unwrap();
        assert!(source.next_batch(FOREVER).unwrap().is_none());
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = open_file(Path::new("/no/such/file")).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().starts_with("read /no/such/file: "), "{error}");
    }
}
