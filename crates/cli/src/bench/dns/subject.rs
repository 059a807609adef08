//! Who asks, and how it is started and understood.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::bench::behind::SPARE;
use crate::bench::peer::version;
use crate::output;

/// One who asks.
pub(super) struct Subject {
    pub(super) name: String,
    asker: Asker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asker {
    /// Ourselves, by a back end, writing some fields.
    Ours {
        backend: &'static str,
        fields: &'static str,
    },
    Massdns,
    Dnsperf,
    Kxdpgun,
}

/// Who is asked: somebody behind `b`.
const SERVER: &str = "10.64.0.53";

/// All there are; a peer that is not installed is told.
pub(super) fn all() -> Vec<Subject> {
    let ours = [
        ("linerate live", "live", "name,status,answers"),
        ("linerate ring", "ring", "name,status,answers"),
        // What others do who only count.
        ("linerate live, codes", "live", "status"),
    ];
    let ours = ours.map(|(name, backend, fields)| Subject {
        name: name.into(),
        asker: Asker::Ours { backend, fields },
    });
    let peers = [
        (Asker::Massdns, "massdns", "its own sources have it"),
        (Asker::Dnsperf, "dnsperf", "`apt install dnsperf` installs it"),
        (Asker::Kxdpgun, "kxdpgun", "`apt install knot-dnsutils` installs it"),
    ];
    let installed = peers.into_iter().filter_map(|(asker, program, way)| {
        let version = version(program);
        if version.is_none() {
            output::tell(format_args!("without {program}: {way}"));
        }
        Some(Subject { name: format!("{program} {}", version?), asker })
    });
    ours.into_iter().chain(installed).collect()
}

/// A folder with so many names, a list of them with types, and one of servers.
///
/// # Errors
/// When it cannot be made.
pub(super) fn folder(names: u64) -> Result<TempDir> {
    let folder = tempfile::tempdir().context("make a folder for a program's files")?;
    let mut bare = BufWriter::new(File::create(folder.path().join("names"))?);
    let mut typed = BufWriter::new(File::create(folder.path().join("questions"))?);
    for number in 0..names {
        writeln!(bare, "host{number}.bench.example")?;
        writeln!(typed, "host{number}.bench.example A")?;
    }
    bare.flush()?;
    typed.flush()?;
    fs::write(folder.path().join("servers"), format!("{SERVER}\n"))?;
    Ok(folder)
}

impl Subject {
    pub(super) fn is_ours(&self) -> bool {
        matches!(self.asker, Asker::Ours { .. })
    }

    /// Its command line, as one would type it. Those that ask for a time and not for a list take so many seconds.
    pub(super) fn line(&self, seconds: u64, folder: &Path) -> Vec<String> {
        let file = |name: &str| folder.join(name).display().to_string();
        let (names, questions, answers) = (file("names"), file("questions"), file("answers"));
        let text = match self.asker {
            Asker::Ours { backend, fields } => {
                let program = std::env::current_exe().unwrap_or_else(|_| "linerate".into());
                format!(
                    "{} dns -i wire0 --own {SPARE} -s {SERVER} --allow-reserved -f {names} -r max \
                     --per-server max --backend {backend} --window 4096 --udp-size 512 --timeout 1s \
                     --fields {fields} -o {answers}",
                    program.display()
                )
            }
            Asker::Massdns => format!(
                "massdns -r {} -t A -o S -s 20000 --processes 1 -w {answers} {names}",
                file("servers")
            ),
            Asker::Dnsperf => {
                format!("dnsperf -s {SERVER} -d {questions} -l {seconds} -c 16 -T 2 -q 20000")
            }
            Asker::Kxdpgun => format!(
                "kxdpgun -t {seconds} -Q 20000000 -I wire0 -l 10.0.0.1 -i {questions} {SERVER}"
            ),
        };
        text.split_whitespace().map(str::to_owned).collect()
    }

    /// The share of its queries that were answered, by what it said.
    pub(super) fn share(&self, said: &str, folder: &Path) -> Option<f64> {
        let (sent, answered) = match self.asker {
            Asker::Ours { .. } => (before(said, " queries sent")?, before(said, " answers")?),
            Asker::Dnsperf => (after(said, "Queries sent:")?, after(said, "Queries completed:")?),
            Asker::Kxdpgun => (after(said, "total queries:")?, after(said, "total replies:")?),
            Asker::Massdns => {
                let lines = |name| fs::read_to_string(folder.join(name)).map(|t| t.lines().count());
                (lines("names").ok()? as f64, lines("answers").ok()? as f64)
            }
        };
        (sent > 0.0).then(|| (answered / sent).min(1.0))
    }
}

/// The number before these words, its digits perhaps grouped by commas.
fn before(text: &str, words: &str) -> Option<f64> {
    number(text[..text.find(words)?].split_whitespace().last()?)
}

fn after(text: &str, words: &str) -> Option<f64> {
    number(text[text.find(words)? + words.len()..].split_whitespace().next()?)
}

fn number(text: &str) -> Option<f64> {
    text.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_found_in_what_the_programs_say() {
        let share =
            |asker, said: &str| Subject { name: String::new(), asker }.share(said, "".as_ref());
        let ours = "linerate: 2,000 questions done in 1.0 s: 2,000 queries sent, 1,000 answers, 0 over TCP";
        assert_eq!(share(Asker::Ours { backend: "live", fields: "status" }, ours), Some(0.5));
        let dnsperf =
            "Statistics:\n\n  Queries sent:         400\n  Queries completed:    100 (25.00%)\n";
        assert_eq!(share(Asker::Dnsperf, dnsperf), Some(0.25));
        let kxdpgun =
            "total queries:     1000 (1000 pps)\ntotal replies:     990 (990 pps) (99%)\n";
        assert_eq!(share(Asker::Kxdpgun, kxdpgun), Some(0.99));
        assert_eq!(share(Asker::Kxdpgun, "usage"), None);
    }
}
