//! What is asked: names as they come from the command line and a file, each with all types.

use std::borrow::Cow;
use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

use anyhow::{Context, Result};
use linerate::dns::{Question, type_number};

use crate::args::DnsArgs;
use crate::exit::usage;
use crate::output;

/// Names that are handed over together, and how many such batches wait.
const BATCH: usize = 4_096;
const BATCHES: usize = 4;

/// The question for a name of the first type, or what is no name.
type Entry = (Place, Result<Question, String>);

/// Where a name stands in the file: nowhere on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    /// From 1.
    line: u64,
    /// Bytes to the end of the line.
    end: u64,
}
/// Some of them, or why there are none.
type Lines = io::Result<Vec<Entry>>;

/// Questions, numbered from 0.
pub(super) struct Questions {
    types: Vec<u16>,
    /// Those at hand.
    names: std::vec::IntoIter<Entry>,
    /// Those that a thread reads.
    file: Option<Receiver<Lines>>,
    source: String,
    /// Bytes of the file, where it is one, and those that were taken.
    size: Option<u64>,
    taken: u64,
    /// The name that has types left, from this one on.
    current: Option<(Option<Question>, usize)>,
    next: u64,
}

/// What comes next.
pub(super) enum Next {
    /// A question, and its number.
    Question(u64, Question),
    /// What is no question has a number, too.
    Nothing(u64),
    /// None yet.
    Wait,
    /// None any more.
    End,
}

impl Questions {
    /// # Errors
    /// When the file cannot be opened; of usage, for types that there are not, and for what is no name.
    pub(super) fn new(args: &DnsArgs) -> Result<Self> {
        let number = |name: &String| {
            type_number(name)
                .ok_or_else(|| usage(format!("--type: `{name}` is no type of records")))
        };
        let types = args.types.iter().map(number).collect::<Result<Vec<_>>>()?;
        let first = types[0];
        let named = |name: &String| {
            // What is no name on the command line is a slip.
            let question = entry(name, first).map_err(|text| usage(no_name(&text)))?;
            Ok((Place::default(), Ok(question)))
        };
        let names = args.names.iter().map(named).collect::<Result<Vec<_>>>()?;
        let file = args.names_file.as_deref();
        Ok(Self {
            types,
            names: names.into_iter(),
            file: file.map(|path| read(path, first)).transpose()?,
            size: file
                .and_then(|path| fs::metadata(path).ok())
                .filter(Metadata::is_file)
                .map(|it| it.len()),
            taken: 0,
            source: file.map_or_else(String::new, |file| file.display().to_string()),
            current: None,
            next: 0,
        })
    }

    /// About how many there are to come, where that can be told.
    pub(super) fn left(&self) -> Option<u64> {
        match (&self.file, self.size) {
            (None, _) => Some((self.names.len() * self.types.len()) as u64),
            (Some(_), Some(size)) => {
                let share = size.saturating_sub(self.taken) as f64 / self.taken.max(1) as f64;
                Some((self.next as f64 * share) as u64)
            }
            (Some(_), None) => None,
        }
    }

    /// The next one.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn next(&mut self) -> Result<Next> {
        let Some((question, index)) = self.current.take() else { return self.advance() };
        let number = self.next;
        self.next += 1;
        if let Some(rtype) = self.types.get(index + 1) {
            let other = question.as_ref().map(|question| question.of_type(*rtype));
            self.current = Some((other, index + 1));
        }
        Ok(question.map_or(Next::Nothing(number), |question| Next::Question(number, question)))
    }

    /// Finds another name.
    fn advance(&mut self) -> Result<Next> {
        if let Some((place, entry)) = self.names.next() {
            self.taken = self.taken.max(place.end);
            if let Err(text) = &entry {
                let (source, line, said) = (&self.source, place.line, no_name(text));
                output::tell(format_args!("{source}: line {line}: {said}: left out"));
            }
            self.current = Some((entry.ok(), 0));
            return self.next();
        }
        match self.file.as_ref().map(Receiver::try_recv) {
            None | Some(Err(TryRecvError::Disconnected)) => Ok(Next::End),
            Some(Err(TryRecvError::Empty)) => Ok(Next::Wait),
            Some(Ok(names)) => {
                let names = names.with_context(|| format!("read names from {}", self.source))?;
                self.names = names.into_iter();
                self.advance()
            }
        }
    }
}

/// What is wrong with it.
fn no_name(text: &str) -> String {
    let hint = if text.is_ascii() { "" } else { ": write it in ASCII, as IDNA has it (xn--...)" };
    format!("`{text}` is no name{hint}")
}

fn entry(name: &str, rtype: u16) -> Result<Question, String> {
    Question::new(name, rtype).ok_or_else(|| name.to_owned())
}

/// Has a thread read a file, or standard input, so that nobody waits for it.
fn read(path: &Path, rtype: u16) -> Result<Receiver<Lines>> {
    let input: Box<dyn Read + Send> = match path.as_os_str() == "-" {
        true => Box::new(io::stdin()),
        false => {
            let asked = || format!("read names from {}", path.display());
            Box::new(File::open(path).with_context(asked)?)
        }
    };
    let (give, take) = sync_channel(BATCHES);
    let work = move || hand_over(BufReader::new(input), rtype, &give);
    thread::Builder::new().name("names".into()).spawn(work).context("start a thread")?;
    Ok(take)
}

/// Hands lines over until there are no more, or nobody takes them: those that are at hand together.
fn hand_over(mut input: BufReader<impl Read>, rtype: u16, give: &SyncSender<Lines>) {
    let (mut names, mut line, mut end) = (Vec::new(), Vec::new(), 0);
    for number in 1.. {
        line.clear();
        match input.read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(length) => {
                end += length as u64;
                let place = Place { line: number, end };
                names.extend(name(&line).map(|name| (place, entry(&name, rtype))));
            }
            // Whoever took them before has ended, or will hear of it.
            Err(error) => return drop(give.send(Err(error))),
        }
        if names.len() >= BATCH || input.buffer().is_empty() {
            let batch = std::mem::take(&mut names);
            if !batch.is_empty() && give.send(Ok(batch)).is_err() {
                return;
            }
        }
    }
    // The same.
    let _ = give.send(Ok(names));
}

/// What a line says, without a comment.
fn name(line: &[u8]) -> Option<Cow<'_, str>> {
    let end = line.iter().position(|byte| *byte == b'#').unwrap_or(line.len());
    let name = String::from_utf8_lossy(line[..end].trim_ascii());
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn all(text: &'static str) -> Vec<(u64, String)> {
        let (give, take) = sync_channel(100);
        hand_over(BufReader::with_capacity(8, text.as_bytes()), 1, &give);
        drop(give);
        let entries = take.iter().flat_map(|names| names.expect("text"));
        let name =
            |entry: Result<Question, _>| entry.map_or_else(|text| text, |q| q.name().to_string());
        entries.map(|(place, entry)| (place.line, name(entry))).collect()
    }

    #[test]
    fn lines_are_names_with_their_numbers() {
        let expected = [(1, "a.example"), (3, "b.example"), (4, "b..c"), (5, "c")];
        let found = all("a.example\n# none\n b.example # two\nb..c\nc");
        assert_eq!(found, expected.map(|(line, name)| (line, name.to_owned())));
        assert_eq!(all(""), []);
    }

    #[test]
    fn how_many_are_to_come_is_told_of_a_file() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        (0..100).for_each(|n| writeln!(file, "n{n:03}.example").unwrap());
        let path = file.path().to_owned();
        let mut questions = Questions {
            types: vec![1, 28],
            names: Vec::new().into_iter(),
            file: Some(read(&path, 1).unwrap()),
            source: String::new(),
            size: Some(fs::metadata(&path).unwrap().len()),
            taken: 0,
            current: None,
            next: 0,
        };
        let mut left = Vec::new();
        loop {
            match questions.next().unwrap() {
                Next::Question(..) => left.push(questions.left().unwrap()),
                Next::End => break,
                _ => {}
            }
        }
        assert_eq!((left.len(), left[99], left[199]), (200, 100, 0));
        questions.size = None;
        assert_eq!(questions.left(), None);
    }
}
