//! The consumer that saves packets.

mod files;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use files::{FileId, Files, file_id};
use linerate::base::{Batch, Interface, Stats, Timestamp};
use linerate::capture::disk::{Disk, StallCounter, Stalls, Way};
use linerate::savefile::{Compression, Format, Options, Precision, Rotation, Rotator, Totals};

use crate::args::{FormatArg, SaveArgs};
use crate::exit::usage;
use crate::pump::Consumer;

/// What `-w` and its companions ask for.
pub(crate) struct SavePlan {
    rotation: Rotation,
    options: Options,
    compression: Compression,
    packet_buffered: bool,
    /// Files that must not be written over.
    inputs: Vec<FileId>,
    /// The packets are captured now: the source's counters belong into the file, and the disk must
    /// keep up.
    is_live: bool,
    /// All is done but writing.
    discards: bool,
}

impl SavePlan {
    /// The plan, or `None` when nothing is to be saved.
    ///
    /// # Errors
    /// When the file's name is not UTF-8 or asks for a compression that is not written, or standard output
    /// is to be rotated.
    pub(crate) fn new(args: &SaveArgs) -> Result<Option<Self>> {
        let Some(path) = &args.write else { return Ok(None) };
        let name = path.to_str().ok_or_else(|| usage("the savefile's name is not valid UTF-8"))?;
        let rotates = args.rotate_size.is_some() || args.rotate_time.is_some();
        if name == STDOUT && rotates {
            return Err(usage("standard output cannot be rotated: name a file with -w"));
        }
        if name == STDOUT && args.print {
            return Err(usage("--print and -w - both want standard output"));
        }
        if name == STDOUT && io::stdout().is_terminal() {
            return Err(usage(
                "standard output is a terminal: redirect it, or name a file with -w",
            ));
        }
        if args.rotate_files.is_some() && !rotates {
            return Err(usage("-W counts the files of -C or -G: give one of them"));
        }
        Ok(Some(Self {
            rotation: Rotation {
                name: name.into(),
                max_bytes: args.rotate_size,
                period: args.rotate_time,
                files: args.rotate_files,
            },
            options: options(args.format.map_or_else(|| Format::of_name(name), format)),
            compression: Compression::of_name(name)?,
            packet_buffered: args.packet_buffered,
            inputs: Vec::new(),
            is_live: true,
            discards: false,
        }))
    }

    /// The same plan for the packets of these files: it refuses to write over them, and how fast they
    /// were read is nothing that their copy records.
    pub(crate) fn of_files(mut self, inputs: &[PathBuf]) -> Self {
        self.inputs = inputs.iter().filter_map(|path| file_id(path)).collect();
        self.is_live = false;
        self
    }

    /// The same plan, but nothing is written.
    pub(crate) fn discarding(self) -> Self {
        Self { discards: true, ..self }
    }

    /// Opens the first file, for packets of `interfaces` from `start` on, or from the first packet on.
    ///
    /// # Errors
    /// When it cannot be opened or written.
    pub(crate) fn open(self, interfaces: &[Interface], start: Option<Timestamp>) -> Result<Saver> {
        let Self { compression, inputs, discards, packet_buffered, is_live, .. } = self;
        let flush = match (packet_buffered, is_live && compression == Compression::None) {
            (true, _) => Flush::Always,
            (false, true) => Flush::EverySecond(Instant::now()),
            (false, false) => Flush::WhenFull,
        };
        // Compressed or seen at once, packets come no faster than the page cache takes them.
        let is_direct = matches!(flush, Flush::EverySecond(_));
        let disk = Disk::new(if is_direct { Way::Direct } else { Way::Plain });
        let stalls = disk.stalls();
        let files = Files { compression, inputs, disk, discards };
        let rotator = Rotator::new(files, self.rotation, self.options, interfaces, start)?;
        Ok(Saver { rotator, flush, stalls, records_stats: is_live, full: false })
    }
}

/// When what is buffered goes to the file.
enum Flush {
    /// With every batch.
    Always,
    /// A second after the last time, so that the file of a slow capture grows visibly.
    EverySecond(Instant),
    /// When there is enough: compressed files grow larger with every flush.
    WhenFull,
}

impl Flush {
    fn is_due(&mut self) -> bool {
        match self {
            Self::Always => true,
            Self::EverySecond(last) if last.elapsed() >= Duration::from_secs(1) => {
                *last = Instant::now();
                true
            }
            Self::EverySecond(_) | Self::WhenFull => false,
        }
    }
}

const STDOUT: &str = "-";

fn options(format: Format) -> Options {
    Options {
        format,
        hardware: std::env::consts::ARCH.into(),
        os: format!("Linux {}", crate::machine::kernel()),
        application: concat!("linerate ", env!("CARGO_PKG_VERSION")).into(),
    }
}

fn format(argument: FormatArg) -> Format {
    match argument {
        FormatArg::Pcapng => Format::Pcapng,
        FormatArg::Pcap => Format::Pcap(Precision::Nanos),
        FormatArg::PcapMicro => Format::Pcap(Precision::Micros),
    }
}

/// Writes packets to savefiles.
pub(crate) struct Saver {
    rotator: Rotator<Files>,
    flush: Flush,
    stalls: StallCounter,
    records_stats: bool,
    full: bool,
}

impl Saver {
    /// From here on, packets are those of another source.
    ///
    /// # Errors
    /// When its interfaces have no place in the file, or the disk does not take them.
    pub(crate) fn next_source(&mut self, interfaces: &[Interface]) -> Result<()> {
        Ok(self.rotator.next_source(interfaces)?)
    }

    /// Records `stats` and ends the last file.
    ///
    /// # Errors
    /// When the disk does not take what is left.
    pub(crate) fn finish(&mut self, stats: Option<&Stats>) -> Result<()> {
        if let Some(stats) = stats {
            self.rotator.set_stats(0, *stats);
        }
        self.rotator.finish()?;
        Ok(())
    }

    /// What the files hold.
    pub(crate) fn totals(&self) -> Totals {
        self.rotator.totals()
    }
}

impl Consumer for Saver {
    fn batch(&mut self, batch: &Batch<'_>) -> Result<()> {
        self.full |= self.rotator.write_batch(batch)?.is_break();
        self.idle()
    }

    fn idle(&mut self) -> Result<()> {
        if self.flush.is_due() {
            self.rotator.flush()?;
        }
        Ok(())
    }

    fn stalls(&self) -> Stalls {
        self.stalls.read()
    }

    fn stats(&mut self, stats: &Stats) {
        if self.records_stats {
            self.rotator.set_stats(0, *stats);
        }
    }

    fn full(&self) -> bool {
        self.full
    }
}
