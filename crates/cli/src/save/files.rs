//! The files behind a savefile's names.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use linerate::base::{self, Error, ErrorKind};
use linerate::capture::disk::{self, Disk, DiskFile};
use linerate::savefile::{Compression, Counters, Opener, Output, Records};

use super::STDOUT;
use crate::output;

/// Device and inode: what tells files apart whatever their names.
pub(super) type FileId = (u64, u64);

pub(super) fn file_id(path: &Path) -> Option<FileId> {
    path.metadata().ok().map(|meta| (meta.dev(), meta.ino()))
}

/// Opens files by name.
pub(super) struct Files {
    pub(super) compression: Compression,
    /// Files that must not be written over.
    pub(super) inputs: Vec<FileId>,
    pub(super) disk: Disk,
    /// Nothing is to be written.
    pub(super) discards: bool,
}

impl Opener for Files {
    type Output = Output<DiskFile>;

    fn open(&mut self, name: &str) -> base::Result<Output<DiskFile>> {
        if file_id(Path::new(name)).is_some_and(|id| self.inputs.contains(&id)) {
            let answered = "the packets are read from this very file";
            return Err(Error::new(ErrorKind::Invalid, format!("create {name}"), answered)
                .advise("give the copy another name"));
        }
        let file = if self.discards { Ok(DiskFile::nowhere()) } else { self.create(name) };
        file.and_then(|file| Output::new(file, self.compression))
            .map_err(|error| Error::system(format!("create {name}"), error))
    }

    /// Cuts off a record that a full disk has cut short, so that the file stays valid.
    fn close(
        &mut self,
        name: &str,
        output: Output<DiskFile>,
        records: &Records,
    ) -> (Counters, base::Result<()>) {
        let failed = |error| Error::system(format!("write {name}"), error);
        let file = match output.finish() {
            Ok(file) => file,
            Err(error) => return (records.counters(), Err(failed(error))),
        };
        let closed = self.disk.close(file);
        let Some(file) = closed.file.filter(|_| self.compression == Compression::None) else {
            return (records.counters(), closed.result.map_err(failed));
        };
        let held = records.within(closed.kept, |range| disk::read_back(&file, range));
        let cut = cut_to(&file, held.bytes);
        (held, closed.result.and(cut).map_err(failed))
    }
}

impl Files {
    fn create(&mut self, name: &str) -> io::Result<DiskFile> {
        let file = match name {
            // Past the line buffer that text goes through; its position in the file is the shell's.
            STDOUT => self.disk.open_plain(io::stdout().as_fd().try_clone_to_owned()?.into()),
            name => self.disk.open(File::create(name)?),
        };
        if let Some(note) = self.disk.take_note() {
            output::tell(format_args!("{name}: {note}"));
        }
        Ok(file)
    }
}

/// Shortens a regular file.
fn cut_to(file: &File, bytes: u64) -> io::Result<()> {
    match file.metadata() {
        Ok(meta) if meta.is_file() && meta.len() > bytes => file.set_len(bytes),
        _ => Ok(()),
    }
}
