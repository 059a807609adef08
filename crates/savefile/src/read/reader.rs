//! The reader: a savefile as a source of batches.

use std::io::{self, Read};
use std::mem;
use std::time::Duration;

use linerate_base::{Batch, Error, ErrorKind, Interface, Result, Source, Stats};

use super::cutter::Cutter;
use super::detached::Detached;
use super::fault::Fault;
use super::format::Format;
use super::input::Input;
use super::table::{Recorded, Stop, Table};
use super::warning::Warning;
use super::window::Window;

/// Reads a savefile, whatever its format and compression, from any [`Read`].
///
/// Reading goes in steps of 256 KiB, so that the input needs no buffer of its own; from a pipe, each
/// batch is what has come in. A batch holds every whole record of its step. A record larger than a step
/// makes the buffer grow, up to 144 MiB for the largest blocks.
///
/// - The packet of a record that the end of the file cuts is not delivered; [`warnings`](Self::warnings)
///   then tells of the cut, as it does when compressed data end too early.
/// - A damaged record ends reading with an error that names its offset. Packets before it were delivered.
/// - A packet's `length` is what the file says, which in damaged files may be less than was captured.
/// - Of a file from a machine of the other byte order, pseudo-headers in that machine's order (PF's and netfilter's log,
///   USB, SocketCAN in cooked frames) come in this machine's, as if it had captured them.
/// - A Simple Packet Block has no time: its packet gets [`Timestamp::EPOCH`](linerate_base::Timestamp).
pub struct Reader<R: Read> {
    window: Window<Input<R>>,
    format: Format,
    table: Table,
    /// Bytes that the record at hand needs.
    need: usize,
    state: State,
    /// The table's packets were lent out and can be forgotten.
    lent: bool,
    delivered: u64,
}

enum State {
    Reading,
    /// Ended by an error that is not yet reported.
    Failed(Error),
    Ended,
}

impl<R: Read> Reader<R> {
    /// Reads the beginning of `input`: until the first interface is known, so that a filter can be
    /// compiled for its link type, or until the end of a file without one.
    ///
    /// # Errors
    /// When reading fails, or `input` does not begin as a savefile does.
    pub fn new(input: R) -> Result<Self> {
        let input = Input::detect(input).map_err(|e| Error::system("read the savefile", e))?;
        let mut reader = Self {
            window: Window::new(input),
            format: Format::Unknown,
            table: Table::default(),
            need: Format::HEADER,
            state: State::Reading,
            lent: false,
            delivered: 0,
        };
        while reader.table.interfaces.is_empty() && matches!(reader.state, State::Reading) {
            reader.advance();
        }
        match reader.state {
            State::Failed(error) if reader.table.descriptors.is_empty() => Err(error),
            _ => Ok(reader),
        }
    }

    /// True when no interface can follow those that are known: pcap has one, pcapng tells of them as it goes on.
    pub fn has_all_interfaces(&self) -> bool {
        matches!(self.format, Format::Pcap(_)) || !matches!(self.state, State::Reading)
    }

    /// What is odd about the file, as far as it was read.
    pub fn warnings(&self) -> &[Warning] {
        &self.table.warnings
    }

    /// The statistics that the file holds for each of its interfaces, as far as it was read; they stand
    /// at the end of most files.
    pub fn recorded(&self) -> &[Recorded] {
        &self.table.recorded
    }

    /// A cutter for the part of the input from [`offset`](Self::offset) on; `None` where that has to be
    /// read in order, as it is compressed, its packets have to be turned, or nothing is known of them yet.
    pub fn cutter(&self) -> Option<Cutter> {
        let time = self.table.descriptors.first()?.time;
        let can = !self.window.input().is_compressed()
            && !self.table.has_turns()
            && matches!(self.state, State::Reading);
        let table = Table { descriptors: Vec::new(), news: false, ..self.table.clone() };
        can.then(|| Cutter::new(self.format.clone(), table, time))
    }

    /// Offset in the (decompressed) input of the first record that was not taken so far.
    pub fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// Goes on at a record that begins at `offset` and has been cut off by somebody else up to there. The
    /// input must be at that place.
    pub fn go_on_at(&mut self, offset: u64) {
        self.window.restart(offset);
        self.parse();
    }

    /// Fills `packets` with the next batch, as [`next_batch`](Source::next_batch) would lend it out, and
    /// with the interfaces after the first `known`; takes over the memory that it had. False at the end.
    ///
    /// # Errors
    /// As for [`next_batch`](Source::next_batch).
    pub fn detach(&mut self, packets: &mut Detached, known: usize) -> Result<bool> {
        let more = self.next_batch(Duration::MAX)?.is_some();
        packets.new_interfaces = self.table.interfaces[known..].to_vec();
        packets.descriptors.clear();
        mem::swap(&mut packets.descriptors, &mut self.table.descriptors);
        packets.end = self.window.exchange(&mut packets.region);
        Ok(more)
    }

    /// Reads once and parses what came. Returns false when a signal interrupted the wait.
    fn advance(&mut self) -> bool {
        match self.window.fill(self.need) {
            Ok(0) => self.end(),
            Ok(_) => self.parse(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return false,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => self.end_early(),
            Err(error) => self.state = State::Failed(self.input_error(error)),
        }
        true
    }

    fn parse(&mut self) {
        let known = self.table.descriptors.len();
        let step = self.format.parse(self.window.region(), self.window.start(), &mut self.table);
        if self.table.has_turns() {
            self.table.turn(known, self.window.region_mut());
        }
        self.window.consume_to(step.at);
        match step.stop {
            Stop::Need(bytes) => self.need = bytes,
            Stop::Fault(fault) => self.fail(fault),
        }
    }

    /// The file has ended where files end, or inside a record.
    fn end(&mut self) {
        self.state = State::Ended;
        let found = self.window.len();
        match (&self.format, found) {
            (Format::Unknown, 0) => self.fail(Fault::Empty),
            (Format::Unknown, _) => self.fail(Fault::HeaderCut { found, expected: self.need }),
            (_, 0) => {}
            _ => self.table.warn(Warning::RecordCut {
                offset: self.window.offset(),
                found: found as u64,
                expected: self.need as u64,
            }),
        }
    }

    /// The compressed data have ended where they should not.
    fn end_early(&mut self) {
        let offset = self.window.offset() + self.window.len() as u64;
        self.table.warn(Warning::CompressedDataCut { offset });
        match self.format {
            Format::Unknown => self.fail(Fault::CompressedCut),
            _ => {
                self.window.consume_to(self.window.region().len());
                self.end();
            }
        }
    }

    fn fail(&mut self, fault: Fault) {
        self.state = State::Failed(fault.at(&self.place()));
    }

    /// How reading ended; an error is told once.
    fn outcome(&mut self) -> Result<()> {
        match mem::replace(&mut self.state, State::Ended) {
            State::Failed(error) => Err(error),
            State::Reading | State::Ended => Ok(()),
        }
    }

    fn place(&self) -> String {
        let offset = self.window.offset();
        match self.window.input().is_compressed() {
            true => format!("byte {offset} of its decompressed content"),
            false => format!("byte {offset}"),
        }
    }

    /// An error of the system, or of a decompressor that met damaged data.
    fn input_error(&self, error: io::Error) -> Error {
        let damaged = error.raw_os_error().is_none() && self.window.input().is_compressed();
        let error = Error::system(format!("read the savefile at {}", self.place()), error);
        if damaged { error.as_kind(ErrorKind::Malformed) } else { error }
    }
}

impl<R: Read> Source for Reader<R> {
    fn interfaces(&self) -> &[Interface] {
        &self.table.interfaces
    }

    /// As the trait says, but the wait is for as long as a read of the input takes; a signal that
    /// interrupts it makes an empty batch.
    fn next_batch(&mut self, _wait: Duration) -> Result<Option<Batch<'_>>> {
        if mem::take(&mut self.lent) {
            self.table.descriptors.clear();
        }
        while self.table.descriptors.is_empty() {
            if !matches!(self.state, State::Reading) {
                return self.outcome().map(|()| None);
            }
            if !self.advance() {
                return Ok(Some(Batch::empty(&self.table.interfaces)));
            }
        }
        self.lent = true;
        let Table { descriptors, interfaces, .. } = &self.table;
        self.delivered += descriptors.len() as u64;
        Ok(Some(Batch::new(self.window.region(), descriptors, interfaces)))
    }

    fn stats(&mut self) -> Result<Stats> {
        let pending = if self.lent { 0 } else { self.table.descriptors.len() as u64 };
        let delivered = self.delivered;
        Ok(Stats { seen: delivered + pending, delivered, pending, ..Stats::default() })
    }

    /// Reads no further; packets already parsed can still be fetched.
    fn stop(&mut self) -> Result<()> {
        self.state = State::Ended;
        Ok(())
    }
}
