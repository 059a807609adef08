//! What is asked: names as they come from the command line and a file, each with all types.

use std::fs::File;
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

/// Names with the numbers of their lines, or why there are none.
type Lines = io::Result<Vec<(u64, String)>>;

/// Questions, numbered from 0.
pub(super) struct Questions {
    types: Vec<u16>,
    /// Those at hand, with the number of their lines; 0 from the command line.
    names: std::vec::IntoIter<(u64, String)>,
    /// Those that a thread reads.
    file: Option<Receiver<Lines>>,
    source: String,
    /// The name that has types left.
    current: Option<(String, usize)>,
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
    /// When the file cannot be opened; of usage, for types that there are not.
    pub(super) fn new(args: &DnsArgs) -> Result<Self> {
        let number = |name: &String| {
            type_number(name)
                .ok_or_else(|| usage(format!("--type: `{name}` is no type of records")))
        };
        let types = args.types.iter().map(number).collect::<Result<Vec<_>>>()?;
        let names: Vec<_> = args.names.iter().map(|name| (0, name.clone())).collect();
        let file = args.names_file.as_deref();
        Ok(Self {
            types,
            names: names.into_iter(),
            file: file.map(read).transpose()?,
            source: file.map_or_else(String::new, |file| file.display().to_string()),
            current: None,
            next: 0,
        })
    }

    /// The next one.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn next(&mut self) -> Result<Next> {
        let Some((name, index)) = self.current.take() else { return self.advance() };
        let number = self.next;
        self.next += 1;
        let question = Question::new(&name, self.types[index]);
        if index + 1 < self.types.len() {
            self.current = Some((name, index + 1));
        }
        Ok(question.map_or(Next::Nothing(number), |question| Next::Question(number, question)))
    }

    /// Finds another name.
    fn advance(&mut self) -> Result<Next> {
        if let Some((line, name)) = self.names.next() {
            if Question::new(&name, 1).is_none() {
                self.complain(line, &name)?;
            }
            self.current = Some((name, 0));
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

    /// What is no name on the command line is a slip; in a long list it is told and left out.
    fn complain(&self, line: u64, name: &str) -> Result<()> {
        if line == 0 {
            return Err(usage(format!("`{name}` is no name")));
        }
        output::tell(format_args!("{}: line {line}: `{name}` is no name: left out", self.source));
        Ok(())
    }
}

/// Has a thread read a file, or standard input, so that nobody waits for it.
fn read(path: &Path) -> Result<Receiver<Lines>> {
    let input: Box<dyn Read + Send> = match path.as_os_str() == "-" {
        true => Box::new(io::stdin()),
        false => {
            let asked = || format!("read names from {}", path.display());
            Box::new(File::open(path).with_context(asked)?)
        }
    };
    let (give, take) = sync_channel(BATCHES);
    let work = move || hand_over(BufReader::new(input), &give);
    thread::Builder::new().name("names".into()).spawn(work).context("start a thread")?;
    Ok(take)
}

/// Hands lines over until there are no more, or nobody takes them: those that are at hand together.
fn hand_over(mut input: BufReader<impl Read>, give: &SyncSender<Lines>) {
    let mut names = Vec::new();
    for number in 1.. {
        let mut line = Vec::new();
        match input.read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) => names.extend(name(&line).map(|name| (number, name))),
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
fn name(line: &[u8]) -> Option<String> {
    let line = String::from_utf8_lossy(line);
    let name = line.split('#').next().unwrap_or_default().trim();
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &'static str) -> Vec<(u64, String)> {
        let (give, take) = sync_channel(100);
        hand_over(BufReader::with_capacity(8, text.as_bytes()), &give);
        drop(give);
        take.iter().flat_map(|names| names.expect("text")).collect()
    }

    #[test]
    fn lines_are_names_with_their_numbers() {
        let expected = [(1, "a.example"), (3, "b.example"), (4, "c")];
        let found = all("a.example\n# none\n b.example # two\nc");
        assert_eq!(found, expected.map(|(line, name)| (line, name.to_owned())));
        assert_eq!(all(""), []);
    }
}
