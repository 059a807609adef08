//! `linerate read`: savefiles to lines, a count, or another savefile.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::Result;
use linerate::base::Source;
use linerate::capture::{self, FileSource, Interrupt};

use crate::args::{LanguageArgs, ReadArgs};
use crate::exit::{Outcome, usage};
use crate::live::LiveLine;
use crate::pump::{Consumer, Pump};
use crate::save::{SavePlan, Saver};
use crate::show::Printer;
use crate::signals::Requests;
use crate::summary::Form;
use crate::{compile, expression, output};

pub(super) fn run(args: &ReadArgs) -> Result<Outcome> {
    let plan = Plan::new(args)?;
    let mut reading = Reading {
        pump: Pump {
            requests: Requests::default(),
            interrupt: Interrupt::new()?,
            limit: args.limit,
            deadline: None,
            live: LiveLine::new(!plan.prints),
            form: Form::Text { threads: false },
        },
        printer: plan.prints.then(|| Printer::new(&args.print, false)),
        save: plan.save.map(|save| save.of_files(&plan.files)),
        saver: None,
        filter: plan.filter,
        language: args.language,
        watching: false,
        packets: 0,
    };
    let result = plan.files.iter().try_for_each(|file| reading.file(file));
    let finished = reading.finish();
    if args.count {
        let packets = if reading.packets == 1 { "packet" } else { "packets" };
        output::line(format_args!("{} {packets}", reading.packets))?;
    }
    result.and(finished).map(|()| Outcome::Success)
}

/// What the flags mean together.
struct Plan {
    files: Vec<PathBuf>,
    filter: String,
    prints: bool,
    save: Option<SavePlan>,
}

impl Plan {
    fn new(args: &ReadArgs) -> Result<Self> {
        let (files, words) = files(args)?;
        check_stdin(&files)?;
        let save = SavePlan::new(&args.save)?;
        let prints = if save.is_some() { args.save.print } else { !args.count };
        let filter = expression::text(words, args.filter_file.as_deref())?;
        Ok(Self { files, filter, prints, save })
    }
}

/// The files, and the words that are left for the filter.
fn files(args: &ReadArgs) -> Result<(Vec<PathBuf>, &[OsString])> {
    match args.words.split_first() {
        _ if !args.files.is_empty() => Ok((args.files.clone(), &args.words)),
        Some((file, filter)) => Ok((vec![file.into()], filter)),
        None => Err(usage("no savefile named; `-` reads standard input")),
    }
}

/// Nobody types a savefile.
///
/// # Errors
/// Of usage, where standard input is one of the files and a terminal.
pub(super) fn check_stdin(files: &[PathBuf]) -> Result<()> {
    if files.iter().any(|file| file.as_os_str() == "-") && io::stdin().is_terminal() {
        return Err(usage("standard input is a terminal: redirect it, or name a savefile"));
    }
    Ok(())
}

struct Reading {
    pump: Pump,
    printer: Option<Printer>,
    save: Option<SavePlan>,
    saver: Option<Saver>,
    filter: String,
    language: LanguageArgs,
    /// Signals are noted, and no longer end the process by themselves.
    watching: bool,
    packets: u64,
}

impl Reading {
    fn file(&mut self, path: &Path) -> Result<()> {
        if self.pump.requests.stop() || self.pump.limit == Some(0) {
            return Ok(());
        }
        let mut source = self.open(path)?;
        self.watch()?;
        match (&mut self.saver, self.save.take()) {
            (Some(saver), _) => saver.next_source(source.interfaces())?,
            (None, Some(plan)) => self.saver = Some(plan.open(source.interfaces(), None)?),
            (None, None) => {}
        }
        let result = self.drain(&mut source);
        for warning in source.warnings() {
            output::tell(format_args!("{}: {warning}", path.display()));
        }
        result
    }

    /// Before the first file is open there is nothing to end cleanly, and opening may wait for a silent
    /// pipe: signals then end the process, as they end any other.
    fn watch(&mut self) -> Result<()> {
        if !self.watching {
            self.pump.requests.watch(self.pump.interrupt.clone())?;
            self.watching = true;
        }
        Ok(())
    }

    /// Filters are compiled before the first packet for the interfaces known by then, so that a mistake
    /// in one is told as such.
    fn open(&self, path: &Path) -> Result<FileSource> {
        let source = capture::open_file(path)?;
        let compile = compile::for_savefile(&self.filter, self.language, source.interfaces())?;
        Ok(source.filtered(compile))
    }

    fn drain(&mut self, source: &mut FileSource) -> Result<()> {
        let mut consumers: Vec<&mut dyn Consumer> = Vec::new();
        consumers.extend(self.printer.as_mut().map(|printer| printer as _));
        consumers.extend(self.saver.as_mut().map(|saver| saver as _));
        let (taken, result) = self.pump.run(source, consumers);
        self.packets += taken;
        self.pump.limit = self.pump.limit.map(|limit| limit - taken);
        result
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(printer) = &mut self.printer {
            printer.idle()?;
        }
        self.saver.as_mut().map_or(Ok(()), |saver| saver.finish(None))
    }
}
