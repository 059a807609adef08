//! The savefiles, one after another and again.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use linerate::base::{Error, ErrorKind, Interface, Source};
use linerate::capture::{self, FileSource};
use linerate::transmit::End;
use linerate::transmit::replay::{Kept, Replayer, carries};

use super::super::read;
use super::super::sending::Progress;
use super::portion::Portion;
use crate::args::{LanguageArgs, ReplayArgs};
use crate::exit::usage;
use crate::signals::Requests;
use crate::{compile, expression, output};

/// The most memory for packets that are sent several times; of more, files are read again.
const KEEP: usize = 64 << 20;

/// All savefiles, and how often they are sent.
pub(super) struct Files<'a> {
    files: Vec<Savefile<'a>>,
    loops: u64,
    filtered: u64,
}

struct Savefile<'a> {
    path: &'a Path,
    way: Way,
    source: Option<Kept<FileSource>>,
}

/// How a file is opened.
#[derive(Clone)]
struct Way {
    filter: String,
    language: LanguageArgs,
    /// Packets without an Ethernet header can be given one.
    has_addresses: bool,
    /// Bytes of its packets to keep.
    keep: usize,
}

impl<'a> Files<'a> {
    /// The files that the user named. They are looked at, so that a mistake is told before the first packet leaves.
    ///
    /// # Errors
    /// When one cannot be read, has only packets that cannot be sent, or the filter does not compile.
    pub(super) fn new(args: &'a ReplayArgs, has_addresses: bool) -> Result<Self> {
        read::check_stdin(&args.files)?;
        if args.loops > 1 && args.files.iter().any(|file| is_stream(file)) {
            return Err(usage("a pipe can be read only once: --loop needs files"));
        }
        let text = args.filter.clone().unwrap_or_default();
        let filter = expression::text(&[text.into()], args.filter_file.as_deref())?;
        let keep = if args.loops > 1 { KEEP / args.files.len() } else { 0 };
        let way = Way { filter, language: args.language, has_addresses, keep };
        let savefile = |path: &'a PathBuf| Savefile { path, way: way.clone(), source: None };
        let files: Vec<_> = args.files.iter().map(savefile).collect();
        for file in files.iter().filter(|file| !is_stream(file.path)) {
            file.open()?;
        }
        Ok(Self { files, loops: args.loops, filtered: 0 })
    }

    /// Sends all of them, as often as the user wants.
    ///
    /// # Errors
    /// Those of the first file that cannot be read to its end, and of the sink.
    pub(super) fn play(&mut self, replayer: &mut Replayer<'_>, requests: &Requests) -> Result<End> {
        let mut progress = Progress::new();
        let mut portion = Portion::new(self.files.iter().map(|file| file.path), self.loops);
        for _ in 0..self.loops {
            for file in &mut self.files {
                let played = file.play(replayer, requests, (&mut progress, &mut portion));
                self.filtered += file.filtered()?;
                if let Some(end) = played? {
                    return Ok(end);
                }
            }
        }
        Ok(End::Complete)
    }

    /// Packets that the filter turned away.
    pub(super) fn filtered(&self) -> u64 {
        self.filtered
    }
}

impl Savefile<'_> {
    fn open(&self) -> Result<FileSource> {
        let source = capture::open_file(self.path)?;
        if source.has_all_interfaces() {
            self.check_link_types(source.interfaces())?;
        }
        let compile =
            compile::for_savefile(&self.way.filter, self.way.language, source.interfaces())?;
        Ok(source.filtered(compile))
    }

    fn play(
        &mut self,
        replayer: &mut Replayer<'_>,
        requests: &Requests,
        (progress, portion): (&mut Progress, &mut Portion),
    ) -> Result<Option<End>> {
        let is_kept = self.source.as_mut().is_some_and(Kept::rewind);
        if !is_kept {
            self.source = Some(Kept::new(self.open()?, self.way.keep));
        }
        let source = self.source.as_mut().expect("just opened, or kept");
        portion.begin(self.path, source.get_ref().progress(), is_kept);
        let played = replayer.play(source, &mut |counts| {
            portion.at(counts.batch);
            progress.at(counts.submitted, counts.early, || portion.percent());
            requests.stop()
        });
        progress.clear();
        let warnings = source.get_ref().warnings().iter().filter(|_| !is_kept);
        warnings
            .for_each(|warning| output::tell(format_args!("{}: {warning}", self.path.display())));
        let interfaces = source.get_ref().interfaces().to_vec();
        match played? {
            // Of some files only their end tells that there was nothing in them.
            None => self.check_link_types(&interfaces).map(|()| None),
            end => Ok(end),
        }
    }

    fn check_link_types(&self, known: &[Interface]) -> Result<()> {
        check_link_types(self.path, known, self.way.has_addresses)
    }

    /// Packets that the filter turned away when it was played last.
    fn filtered(&mut self) -> Result<u64> {
        let source = self.source.as_mut();
        Ok(source.map(Source::stats).transpose()?.map_or(0, |stats| stats.filtered))
    }
}

/// What can be read only once: standard input, a named pipe.
fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-" || path.metadata().is_ok_and(|found| found.file_type().is_fifo())
}

/// Refuses a file of whose interfaces none has packets that can be sent.
fn check_link_types(path: &Path, known: &[Interface], has_addresses: bool) -> Result<()> {
    let fits = |link_type| carries(link_type).is_some_and(|needs| has_addresses || !needs);
    let Some(first) = known.first() else { return Ok(()) };
    if known.iter().any(|interface| fits(interface.link_type)) {
        return Ok(());
    }
    let could = known.iter().any(|interface| carries(interface.link_type).is_some());
    let name =
        first.link_type.description().map_or_else(|| first.link_type.to_string(), Into::into);
    let answered = format!("its packets are of link type {name}, and the interface sends Ethernet");
    let advice = match could {
        true => {
            "with --mac-dst, the hardware address of whom they go to, they get an Ethernet header"
        }
        false => {
            "what can be sent is recorded on Ethernet, or raw IP, Linux cooked and BSD loopback with --mac-dst"
        }
    };
    let asked = format!("replay {}", path.display());
    Err(Error::new(ErrorKind::Unsupported, asked, answered).advise(advice).into())
}
