//! The writer of a row of savefiles.

use std::io::Write;
use std::mem;
use std::ops::ControlFlow;

use jiff::tz::TimeZone;
use linerate_base::{Batch, Error, ErrorKind, Interface, Packet, Result, Stats, Timestamp};

use super::name::Rotation;
use super::written::Written;
use crate::write::{Counters, Merged, Options, Records, Writer};

/// Makes the files that a [`Rotator`] writes to. A closure that opens is an opener that closes by dropping.
pub trait Opener {
    /// What a file is written through.
    type Output: Write;

    /// Opens the file `name`, empty.
    ///
    /// # Errors
    /// When that fails; the rotator stops with this error.
    fn open(&mut self, name: &str) -> Result<Self::Output>;

    /// Closes a file whose output has taken `records`. Gives what the file holds, and an error when that is
    /// less; further bytes in it are the beginning of a record that could not be written whole.
    fn close(
        &mut self,
        name: &str,
        output: Self::Output,
        records: &Records,
    ) -> (Counters, Result<()>);
}

impl<F: FnMut(&str) -> Result<W>, W: Write> Opener for F {
    type Output = W;

    fn open(&mut self, name: &str) -> Result<W> {
        self(name)
    }

    fn close(&mut self, _: &str, _: W, records: &Records) -> (Counters, Result<()>) {
        (records.counters(), Ok(()))
    }
}

/// What a [`Rotator`] has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Files begun.
    pub files: u64,
    /// Packets and bytes over all files, counted as by [`Writer::counters`].
    pub written: Counters,
    /// Packets that are counted in `written`, but were in files of a ring that have since been overwritten.
    pub overwritten: u64,
}

/// Writes a row of savefiles, each whole in itself: own header, own description of the interfaces, own
/// statistics. Every packet goes to exactly one of them.
///
/// It must be [finished](Self::finish). After an error nothing more can be written, and
/// [`totals`](Self::totals) tells what all files together hold.
pub struct Rotator<O: Opener> {
    opener: O,
    rotation: Rotation,
    options: Options,
    zone: TimeZone,
    interfaces: Merged,
    stats: Vec<Tracked>,
    stage: Stage<O::Output>,
    /// Start of the current period; before the first file it may not be known.
    start: Option<Timestamp>,
    /// Number of the current file in its period.
    index: u32,
    /// Periods for which there was a file, the first included.
    periods: u32,
    names: Written,
    /// Of files, those begun; of packets and bytes, those in closed files.
    closed: Totals,
}

enum Stage<W: Write> {
    /// The first file waits for the first packet.
    Waiting,
    Writing(Box<Current<W>>),
    /// All files are written, or one could not be opened or closed.
    Ended,
}

impl<W: Write> Stage<W> {
    fn current(&mut self) -> Option<&mut Current<W>> {
        match self {
            Self::Writing(current) => Some(current),
            Self::Waiting | Self::Ended => None,
        }
    }
}

struct Current<W: Write> {
    name: String,
    writer: Writer<W>,
}

/// Statistics of an interface of the files.
#[derive(Default)]
struct Tracked {
    interface: u32,
    /// As of now, over all sources.
    latest: Stats,
    /// As of the end of the previous file.
    previous: Stats,
    /// As of the end of the previous source.
    earlier: Stats,
}

impl<O: Opener> Rotator<O> {
    /// Opens the first file. Its period begins at `start`: now for a capture.
    ///
    /// With `None`, as for the packets of a savefile, it begins at the first packet's time. Where there is
    /// a period, the first file then is opened with that packet, or by [`finish`](Self::finish) without
    /// one: there is a savefile in any case, whose name then says 1970.
    ///
    /// # Errors
    /// When the limits make no sense, the name is no strftime pattern but has a period, or the file cannot
    /// be opened or written to.
    pub fn new(
        opener: O,
        rotation: Rotation,
        options: Options,
        interfaces: &[Interface],
        start: Option<Timestamp>,
    ) -> Result<Self> {
        rotation.check()?;
        let mut rotator = Self {
            opener,
            rotation,
            options,
            zone: TimeZone::system(),
            interfaces: Merged::new(interfaces),
            stats: Vec::new(),
            stage: Stage::Waiting,
            start,
            index: 0,
            periods: 1,
            names: Written::default(),
            closed: Totals::default(),
        };
        if rotator.start.is_some() || rotator.rotation.period.is_none() {
            rotator.open()?;
        }
        Ok(rotator)
    }

    /// Writes the packets of `batch`. Breaks when the last of the files asked for is complete: the packets
    /// from there on were not written, and none will be.
    ///
    /// # Errors
    /// As [`Writer::write_batch`], and those of the opener.
    pub fn write_batch(&mut self, batch: &Batch<'_>) -> Result<ControlFlow<()>> {
        self.declare(batch.interfaces())?;
        for packet in batch.iter() {
            if self.rotate(&packet)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            let Some(current) = self.stage.current() else { return Err(no_file()) };
            let written = self
                .interfaces
                .of(&packet)
                .and_then(|interface| current.writer.put(&packet, interface));
            written.map_err(|error| error.within(&current.name))?;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// As [`Writer::next_source`]: from here on, batches are those of another source with `interfaces`.
    /// Files begun later describe the interfaces of all sources so far.
    ///
    /// # Errors
    /// Where the current file has no room for the description of the interfaces, those of closing it and
    /// opening the next.
    pub fn next_source(&mut self, interfaces: &[Interface]) -> Result<()> {
        for tracked in &mut self.stats {
            tracked.earlier = tracked.latest;
        }
        self.interfaces.next_source();
        self.declare(interfaces)
    }

    /// Sets the statistics of `interface`, which the current source must have declared, since that source
    /// began. What is new since the previous file is recorded at the end of the current one, so that
    /// the files' statistics add up to those of all sources.
    pub fn set_stats(&mut self, interface: u32, stats: Stats) {
        let Some(interface) = self.interfaces.index(interface) else { return };
        match self.stats.iter_mut().find(|tracked| tracked.interface == interface) {
            Some(tracked) => {
                tracked.latest = tracked.earlier;
                tracked.latest += stats;
            }
            None => self.stats.push(Tracked { interface, latest: stats, ..Tracked::default() }),
        }
    }

    /// Hands everything to the current file's output and flushes that.
    ///
    /// # Errors
    /// Those of the output.
    pub fn flush(&mut self) -> Result<()> {
        let Some(current) = self.stage.current() else { return Ok(()) };
        current.writer.flush().map_err(|error| error.within(&current.name))
    }

    /// Ends the last file.
    ///
    /// # Errors
    /// Those of the output and the opener.
    pub fn finish(&mut self) -> Result<Totals> {
        if matches!(self.stage, Stage::Waiting) {
            self.open()?;
        }
        self.close()?;
        Ok(self.closed)
    }

    /// What all files together hold.
    pub fn totals(&self) -> Totals {
        let mut totals = self.closed;
        if let Stage::Writing(current) = &self.stage {
            totals.written += current.writer.counters();
        }
        totals
    }

    /// Describes what is new in `interfaces` in the current file, or in the next if they do not fit.
    fn declare(&mut self, interfaces: &[Interface]) -> Result<()> {
        let Stage::Writing(current) = &mut self.stage else {
            self.interfaces.declare(interfaces);
            return Ok(());
        };
        if !self.interfaces.declare(interfaces) {
            return Ok(());
        }
        let (writer, all) = (&mut current.writer, self.interfaces.all());
        if writer.packets() > 0 && self.rotation.exceeded_by(writer.size_declaring(all)) {
            return self.next_file();
        }
        writer.declare(all);
        Ok(())
    }

    /// Begins the file that `packet` belongs to, if it is not the current one.
    #[inline]
    fn rotate(&mut self, packet: &Packet<'_>) -> Result<ControlFlow<()>> {
        if matches!(self.stage, Stage::Waiting) {
            self.start = Some(packet.time);
            self.open()?;
        }
        let Stage::Writing(current) = &self.stage else { return self.past_the_end() };
        if let Some(start) = self.later_period(packet.time) {
            return self.next_period(start);
        }
        let writer = &current.writer;
        if writer.packets() > 0 && self.rotation.exceeded_by(writer.size_with(packet)) {
            self.next_file()?;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The start of the period of `time`, if that is after the current one.
    #[inline]
    fn later_period(&self, time: Timestamp) -> Option<Timestamp> {
        let period = i64::from(self.rotation.period?) * 1_000_000_000;
        let start = self.start?;
        let periods = time.nanos_since(start) / period;
        (periods > 0).then(|| Timestamp::from_nanos(start.nanos() + periods * period))
    }

    /// Begins the next file of the same period.
    fn next_file(&mut self) -> Result<()> {
        self.close()?;
        self.index = self.rotation.next_index(self.index);
        self.open()
    }

    fn next_period(&mut self, start: Timestamp) -> Result<ControlFlow<()>> {
        self.close()?;
        if self.rotation.ends_after(self.periods) {
            return Ok(ControlFlow::Break(()));
        }
        (self.start, self.index) = (Some(start), 0);
        self.periods += 1;
        self.open()?;
        Ok(ControlFlow::Continue(()))
    }

    /// Either all files were written or one could not be opened or closed.
    fn past_the_end(&self) -> Result<ControlFlow<()>> {
        match self.rotation.ends_after(self.periods) {
            true => Ok(ControlFlow::Break(())),
            false => Err(no_file()),
        }
    }

    fn open(&mut self) -> Result<()> {
        self.stage = Stage::Ended;
        let start = self.start.unwrap_or(Timestamp::EPOCH);
        let wanted = self.rotation.file_name(start, self.index, &self.zone)?;
        let name = self.names.choose(wanted, self.periods);
        let output = self.opener.open(&name)?;
        self.closed.files += 1;
        self.closed.overwritten += self.names.open(&name, self.periods);
        let writer = Writer::new(output, &self.options, self.interfaces.all())
            .map_err(|error| error.within(&name))?;
        self.stage = Stage::Writing(Box::new(Current { name, writer }));
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        let Stage::Writing(current) = mem::replace(&mut self.stage, Stage::Ended) else {
            return Ok(());
        };
        let Current { name, mut writer } = *current;
        for tracked in &mut self.stats {
            writer.set_stats(tracked.interface, since(&tracked.latest, &tracked.previous));
            tracked.previous = tracked.latest;
        }
        let finished = writer.finish().map_err(|error| error.within(&name));
        let (output, records) = writer.into_parts();
        let (counters, closed) = self.opener.close(&name, output, &records);
        self.closed.written += counters;
        self.names.close(&name, counters.packets);
        finished.and(closed)
    }
}

/// What `latest` counts beyond `earlier`.
fn since(latest: &Stats, earlier: &Stats) -> Stats {
    let dropped = |stats: &Stats| stats.interface_dropped.unwrap_or(0);
    Stats {
        seen: latest.seen.saturating_sub(earlier.seen),
        delivered: latest.delivered.saturating_sub(earlier.delivered),
        filtered: latest.filtered.saturating_sub(earlier.filtered),
        dropped: latest.dropped.saturating_sub(earlier.dropped),
        oversized: latest.oversized.saturating_sub(earlier.oversized),
        unstamped: latest.unstamped.saturating_sub(earlier.unstamped),
        interface_dropped: latest.interface_dropped.map(|now| now.saturating_sub(dropped(earlier))),
        ..*latest
    }
}

fn no_file() -> Error {
    Error::new(ErrorKind::Io, "write the savefile", "an earlier change of files failed")
}
