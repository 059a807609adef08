//! The consumer that saves packets.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use linerate::base::{self, Batch, Error, ErrorKind, Interface, Stats, Timestamp};
use linerate::savefile::{
    Compression, Counters, Format, Opener, Options, Output, Precision, Rotation, Rotator, Totals,
};

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
    /// The source's counters are those of a capture, and belong into the file.
    records_stats: bool,
}

/// Device and inode: what tells files apart whatever their names.
type FileId = (u64, u64);

fn file_id(path: &Path) -> Option<FileId> {
    path.metadata().ok().map(|meta| (meta.dev(), meta.ino()))
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
            records_stats: true,
        }))
    }

    /// The same plan for the packets of these files: it refuses to write over them, and how fast they
    /// were read is nothing that their copy records.
    pub(crate) fn of_files(mut self, inputs: &[PathBuf]) -> Self {
        self.inputs = inputs.iter().filter_map(|path| file_id(path)).collect();
        self.records_stats = false;
        self
    }

    /// Opens the first file, for packets of `interfaces` from `start` on, or from the first packet on.
    ///
    /// # Errors
    /// When it cannot be opened or written.
    pub(crate) fn open(self, interfaces: &[Interface], start: Option<Timestamp>) -> Result<Saver> {
        let files = Files { compression: self.compression, inputs: self.inputs };
        let Self { packet_buffered, records_stats, .. } = self;
        let rotator = Rotator::new(files, self.rotation, self.options, interfaces, start)?;
        Ok(Saver { rotator, packet_buffered, records_stats, full: false })
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
    packet_buffered: bool,
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
        if self.packet_buffered {
            self.rotator.flush()?;
        }
        Ok(())
    }

    fn idle(&mut self) -> Result<()> {
        Ok(())
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

/// Opens files by name.
struct Files {
    compression: Compression,
    inputs: Vec<FileId>,
}

impl Opener for Files {
    type Output = Output<File>;

    fn open(&mut self, name: &str) -> base::Result<Output<File>> {
        if file_id(Path::new(name)).is_some_and(|id| self.inputs.contains(&id)) {
            let answered = "the packets are read from this very file";
            return Err(Error::new(ErrorKind::Invalid, format!("create {name}"), answered)
                .advise("give the copy another name"));
        }
        create(name)
            .and_then(|file| Output::new(file, self.compression))
            .map_err(|error| Error::system(format!("create {name}"), error))
    }

    /// Cuts off a record that a full disk has cut short, so that the file stays valid.
    fn close(&mut self, name: &str, output: Output<File>, counters: Counters) -> base::Result<()> {
        let asked = || format!("write {name}");
        let file = output.finish().map_err(|error| Error::system(asked(), error))?;
        let compressed = self.compression != Compression::None;
        match file.metadata() {
            Ok(meta) if meta.is_file() && !compressed && meta.len() > counters.bytes => {
                file.set_len(counters.bytes).map_err(|error| Error::system(asked(), error))
            }
            _ => Ok(()),
        }
    }
}

/// Standard output is taken as the file that it is, past the line buffer that text goes through.
fn create(name: &str) -> io::Result<File> {
    match name {
        STDOUT => Ok(io::stdout().as_fd().try_clone_to_owned()?.into()),
        name => File::create(name),
    }
}
