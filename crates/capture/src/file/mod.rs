//! The `file` back end: a savefile, or one that comes through standard input.
//!
//! - [`thread`]: reading, decompressing and finding the packets on a thread of its own, a few batches ahead
//! - [`lanes`]: the same by several threads, for large files that are not compressed
//! - [`segment`]: what such a thread makes of a part of the file
//!
//! ```text
//! the file's beginning -> lanes, where that is worth it -> a thread: the rest, faults, the end
//! ```

mod lanes;
mod segment;
mod thread;

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::mem;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use linerate_base::{Batch, Descriptor, Error, Interface, Result, Source, Stats};
use linerate_savefile::{Detached, Warning};

use crate::sieve::{Compile, Sieve};
use lanes::{Lanes, Next};
use segment::{Cutting, Segment};
use thread::{FileReader, Message, Reading};

/// A savefile as a source of packets.
///
/// A wait for input that does not come, as from a silent pipe, ends in time. When the source is dropped
/// before the end, its threads end with their next batch.
pub struct FileSource {
    way: Way,
    /// So many read it beside the caller's, if that is possible; `None`: one, in order.
    threads: Option<usize>,
    /// What lanes have read last.
    segment: Option<Segment>,
    /// What one thread has read last, and those of its packets that the filter keeps.
    current: Detached,
    kept: Vec<Descriptor>,
    compile: Option<Compile>,
    sieve: Sieve,
    interfaces: Vec<Interface>,
    has_all_interfaces: bool,
    warnings: Vec<Warning>,
    delivered: u64,
    filtered: u64,
    progress: Arc<AtomicU64>,
}

/// How the file is read, at present.
enum Way {
    /// Its beginning was; nothing was asked for yet.
    Begun(Box<Begun>),
    Lanes(Box<Lanes>, Box<Begun>),
    Thread(Reading),
    Ended,
}

/// A file of which the beginning was read.
struct Begun {
    reader: FileReader,
    /// The reader's input, if that is a file.
    file: Option<File>,
}

impl Begun {
    /// Bytes of the file, if it is one.
    fn size(&self) -> Option<u64> {
        let found = self.file.as_ref()?.metadata().ok().filter(Metadata::is_file)?;
        Some(found.len())
    }
}

/// Opens the savefile at `path`, of any format and compression that is known; `-` is standard input.
///
/// # Errors
/// When it cannot be opened, or does not begin as a savefile does.
pub fn open_file(path: &Path) -> Result<FileSource> {
    let name = path.display().to_string();
    if path.as_os_str() == "-" {
        return FileSource::new(Box::new(io::stdin()), None, name);
    }
    let open = || File::open(path).and_then(|file| Ok((file.try_clone()?, file)));
    let (input, file) = open().map_err(|e| Error::system(format!("read {name}"), e))?;
    FileSource::new(Box::new(input), Some(file), name)
}

impl FileSource {
    /// A source of what `input` has, which stands where `file` stands if that is given.
    fn new(input: Box<dyn Read + Send>, file: Option<File>, name: String) -> Result<Self> {
        let begun = Box::new(Begun { reader: FileReader::new(input, name)?, file });
        let reader = &begun.reader.reader;
        Ok(Self {
            threads: begun.size().and_then(lanes::worth),
            segment: None,
            current: Detached::default(),
            kept: Vec::new(),
            compile: None,
            sieve: Sieve::default(),
            interfaces: reader.interfaces().to_vec(),
            has_all_interfaces: reader.has_all_interfaces(),
            warnings: Vec::new(),
            delivered: 0,
            filtered: 0,
            progress: Arc::default(),
            way: Way::Begun(begun),
        })
    }

    /// The same, but of each interface only the packets that the filter keeps which `compile` gives for
    /// it. It is asked once for each, when packets come.
    #[must_use]
    pub fn filtered(mut self, compile: Compile) -> Self {
        self.filter(compile);
        self
    }

    /// The same of a source that has lent nothing yet.
    pub fn filter(&mut self, compile: Compile) {
        self.compile = Some(compile);
    }

    /// How many bytes of the input, as compressed as it is, were read for the batches lent so far. It goes on while
    /// somebody else has the source.
    pub fn progress(&self) -> Arc<AtomicU64> {
        self.progress.clone()
    }

    /// True when no interface can follow those that are known: of a pcap file from the beginning, of others at the end.
    pub fn has_all_interfaces(&self) -> bool {
        self.has_all_interfaces || matches!(self.way, Way::Ended)
    }

    /// What is odd about the file, once it was read to its end or to a fault.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Has threads read on. True when the packets at the file's beginning can be lent.
    fn begin(&mut self, mut begun: Box<Begun>) -> Result<bool> {
        self.learn()?;
        let cutting = self.threads.and_then(|threads| Some((threads, self.cutting(&begun)?)));
        let Some((threads, cutting)) = cutting else {
            self.way = Way::Thread(Reading::start(begun.reader)?);
            return Ok(false);
        };
        begun.reader.reader.detach(&mut self.current, self.interfaces.len())?;
        let size = begun.size().unwrap_or_default();
        self.way = match Lanes::start(cutting, begun.reader.reader.offset(), size, threads) {
            Ok(lanes) => Way::Lanes(Box::new(lanes), begun),
            Err(_) => Way::Thread(Reading::start(begun.reader)?),
        };
        Ok(true)
    }

    /// What it takes to read a part of the file apart from the rest; `None` where that cannot be.
    fn cutting(&self, begun: &Begun) -> Option<Cutting> {
        Some(Cutting {
            file: Arc::new(begun.file.as_ref()?.try_clone().ok()?),
            cutter: begun.reader.reader.cutter()?,
            interfaces: self.interfaces.as_slice().into(),
            sieve: self.compile.as_ref().map(|_| self.sieve.clone()),
            kept: Vec::new(),
        })
    }

    /// Has one thread go on at offset `at`, up to which the lanes have come.
    fn go_on_at(&mut self, at: u64, begun: Begun) -> Result<()> {
        let Begun { mut reader, file } = begun;
        let seek = file.map_or(Ok(at), |mut file| file.seek(SeekFrom::Start(at)));
        seek.map_err(|e| Error::system(format!("read {}", reader.name), e))?;
        reader.go_on_at(at);
        self.way = Way::Thread(Reading::start(reader)?);
        Ok(())
    }

    /// Has the filters made for interfaces that are new.
    fn learn(&mut self) -> Result<()> {
        let Some(compile) = &mut self.compile else { return Ok(()) };
        self.sieve.learn(&self.interfaces, compile)
    }

    /// The next batch of a single thread.
    fn take(&mut self, thread: Reading, wait: Duration) -> Result<Option<Batch<'_>>> {
        match thread.receive(wait) {
            Some(Message::Packets(packets, bytes)) => {
                thread.give_back(mem::replace(&mut self.current, packets));
                self.way = Way::Thread(thread);
                self.progress.store(bytes, Ordering::Relaxed);
                self.lend().map(Some)
            }
            Some(Message::End(result, warnings)) => {
                self.warnings = warnings;
                result.map(|()| None)
            }
            None if thread.is_stopped() => Ok(None),
            None => {
                self.way = Way::Thread(thread);
                Ok(Some(Batch::empty(&self.interfaces)))
            }
        }
    }

    /// Lends out what a single thread has read.
    fn lend(&mut self) -> Result<Batch<'_>> {
        self.interfaces.extend_from_slice(self.current.new_interfaces());
        self.learn()?;
        let batch = self.current.batch(&self.interfaces);
        let seen = batch.len() as u64;
        let batch = match self.compile {
            Some(_) => {
                self.kept.clear();
                self.sieve.sift(&batch, &mut self.kept);
                Batch::new(batch.region(), &self.kept, &self.interfaces)
            }
            None => batch,
        };
        self.delivered += batch.len() as u64;
        self.filtered += seen - batch.len() as u64;
        Ok(batch)
    }

    /// Lends out what lanes have read.
    fn lend_segment(&mut self, segment: Segment) -> Batch<'_> {
        self.progress.store(segment.to, Ordering::Relaxed);
        let segment = self.segment.insert(segment);
        let batch = segment.batch(&self.interfaces);
        self.delivered += batch.len() as u64;
        self.filtered += (segment.seen - batch.len()) as u64;
        batch
    }
}

impl Source for FileSource {
    fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    fn next_batch(&mut self, wait: Duration) -> Result<Option<Batch<'_>>> {
        match mem::replace(&mut self.way, Way::Ended) {
            Way::Begun(begun) => match self.begin(begun)? {
                true => self.lend().map(Some),
                false => self.next_batch(wait),
            },
            Way::Lanes(mut lanes, begun) => match lanes.next(self.segment.take(), wait) {
                Next::End(at) => {
                    self.go_on_at(at, *begun)?;
                    self.next_batch(wait)
                }
                next => {
                    self.way = Way::Lanes(lanes, begun);
                    Ok(Some(match next {
                        Next::Segment(segment) => self.lend_segment(segment),
                        _ => Batch::empty(&self.interfaces),
                    }))
                }
            },
            Way::Thread(thread) => self.take(thread, wait),
            Way::Ended => Ok(None),
        }
    }

    fn stats(&mut self) -> Result<Stats> {
        let (delivered, filtered) = (self.delivered, self.filtered);
        Ok(Stats { seen: delivered + filtered, delivered, filtered, ..Stats::default() })
    }

    fn stop(&mut self) -> Result<()> {
        match &mut self.way {
            Way::Thread(thread) => thread.stop(),
            way => *way = Way::Ended,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use linerate_base::{ErrorKind, LinkType, Matches, Packet, Select, Timestamp};
    use linerate_savefile::{Format, Options, Precision, Writer};

    use super::*;
    use crate::UserFilter;

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
        FileSource::new(Box::new(bytes), None, "f".into()).unwrap()
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

    /// A filter for packets that end with an even byte.
    #[derive(Debug)]
    struct Even;

    impl Select for Even {
        fn select(&self, batch: &Batch<'_>, _: Option<u32>, matches: &mut Matches) {
            matches.reset(batch.len());
            for (at, packet) in batch.iter().enumerate() {
                if packet.data.last().is_some_and(|byte| byte.is_multiple_of(2)) {
                    matches.insert(at);
                }
            }
        }
    }

    fn even() -> Option<UserFilter> {
        Some(Arc::new(Even))
    }

    #[test]
    fn each_interface_has_its_own_filter() {
        let mut asked = 0;
        let compile: Compile = Box::new(move |_| {
            asked += 1;
            Ok(even().filter(|_| asked <= 3))
        });
        let mut source = source(io::Cursor::new(savefile(5))).filtered(compile);
        let (numbers, end) = drain(&mut source);
        end.unwrap();
        assert_eq!(numbers, [0, 2, 3, 4]);
        assert_eq!(source.stats().unwrap().filtered, 1);
    }

    #[test]
    fn a_filter_that_does_not_compile_is_an_error() {
        let fault = || Error::new(ErrorKind::Invalid, "a", "b");
        let compile: Compile = Box::new(move |_| Err(fault()));
        let mut source = source(io::Cursor::new(savefile(1))).filtered(compile);
        assert!(source.next_batch(FOREVER).is_err());
    }

    /// Packets, and how it ended: with an error or with warnings.
    type Content = (Vec<(Timestamp, u32, Vec<u8>)>, String, Stats);

    /// Everything in the file at `path`, read by so many threads or by one in order.
    fn content(path: &Path, threads: Option<usize>, filter: bool) -> Content {
        let mut source = open_file(path).unwrap();
        source.threads = threads;
        if filter {
            source = source.filtered(Box::new(|_| Ok(even())));
        }
        let mut packets = Vec::new();
        let end = loop {
            match source.next_batch(FOREVER) {
                Ok(Some(batch)) => {
                    packets.extend(batch.iter().map(|p| (p.time, p.interface, p.data.to_vec())));
                }
                Ok(None) => break format!("{:?}", source.warnings()),
                Err(error) => break error.to_string(),
            }
        };
        (packets, end, source.stats().unwrap())
    }

    /// Checks that several threads read `bytes` as one does; gives the packets and the end.
    fn compare(bytes: &[u8]) -> (usize, String) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        io::Write::write_all(&mut file, bytes).unwrap();
        for filter in [false, true] {
            let expected = content(file.path(), None, filter);
            assert!(expected.2.balances());
            for threads in [1, 2, 5] {
                let found = content(file.path(), Some(threads), filter);
                assert_eq!((&found.1, &found.2), (&expected.1, &expected.2), "{threads} threads");
                assert!(found.0 == expected.0, "{threads} threads");
            }
        }
        let (packets, end, _) = content(file.path(), None, false);
        (packets.len(), end)
    }

    /// A savefile of some megabytes: packets of all sizes, with savefiles in them.
    fn large(format: Format) -> Vec<u8> {
        let interface = Interface { link_type: LinkType::ETHERNET, ..Interface::default() };
        let options = Options { format, ..Options::default() };
        let mut writer = Writer::new(Vec::new(), &options, &[interface]).unwrap();
        let mut state = 1u32;
        let mut random = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 8
        };
        let inner = savefile(500);
        for number in 0..3000 {
            let mut data = match random() % 50 {
                0 => inner.clone(),
                1 => vec![0; 200_000],
                _ => vec![random() as u8; random() as usize % 1500 + 1],
            };
            *data.last_mut().unwrap() = number as u8;
            let packet = Packet {
                time: Timestamp::from_parts(1_700_000_000 + number, 0),
                data: &data,
                length: data.len() as u32,
                interface: 0,
                link_type: LinkType::ETHERNET,
                direction: linerate_base::Direction::Unknown,
            };
            writer.write(&packet).unwrap();
        }
        writer.finish().unwrap();
        writer.into_output()
    }

    const FORMATS: [Format; 2] = [Format::Pcap(Precision::Micros), Format::Pcapng];

    #[test]
    fn several_threads_read_what_one_reads() {
        for format in FORMATS {
            let bytes = large(format);
            assert!(bytes.len() as u64 > 10 * segment::SIZE);
            assert_eq!(compare(&bytes), (3000, "[]".into()));
        }
    }

    #[test]
    fn several_threads_end_as_one_does() {
        for format in FORMATS {
            let bytes = large(format);
            let (packets, end) = compare(&bytes[..bytes.len() * 3 / 4]);
            assert!(packets > 1000 && end.contains("RecordCut"), "{packets} packets, {end}");
            let mut damaged = bytes.clone();
            damaged[bytes.len() / 2..][..4000].fill(0xff);
            compare(&damaged);
            let mut twice = bytes.clone();
            twice.extend(&bytes);
            compare(&twice);
        }
    }

    #[test]
    fn records_longer_than_a_segment_hold_nobody_up() {
        let interface = Interface { link_type: LinkType::USB_LINUX, ..Interface::default() };
        let options = Options { format: Format::Pcapng, ..Options::default() };
        let mut writer = Writer::new(Vec::new(), &options, &[interface]).unwrap();
        for number in 0..8u32 {
            let data = vec![number as u8; (number as usize % 3) << 20 | 100];
            let packet = Packet {
                time: Timestamp::EPOCH,
                data: &data,
                length: data.len() as u32,
                interface: 0,
                link_type: LinkType::USB_LINUX,
                direction: linerate_base::Direction::Unknown,
            };
            writer.write(&packet).unwrap();
        }
        writer.finish().unwrap();
        assert_eq!(compare(&writer.into_output()), (8, "[]".into()));
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = open_file(Path::new("/no/such/file")).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().starts_with("read /no/such/file: "), "{error}");
    }
}
