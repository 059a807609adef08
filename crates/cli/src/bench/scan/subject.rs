//! Who scans, and how it is started.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::bench::behind::{NETWORK, ROUTER, SPARE};
use crate::bench::peer::version;
use crate::bench::row::Row;
use crate::output;

/// One who scans.
pub(super) struct Subject {
    pub(super) name: String,
    scanner: Scanner,
}

#[derive(Clone, Copy)]
enum Scanner {
    /// Ourselves, by this back end.
    Ours(&'static str),
    Zmap,
    Masscan,
}

/// How fast probes are to leave.
#[derive(Clone, Copy)]
pub(super) enum Pace {
    Fastest,
    /// Probes a second.
    Rate(u64),
}

/// What everybody else is compared with.
pub(super) const ZMAP: &str = "zmap";

/// All there are; a peer that is not installed is told.
pub(super) fn all() -> Vec<Subject> {
    let ours = ["live", "ring"].map(|backend| Subject {
        name: format!("linerate {backend}"),
        scanner: Scanner::Ours(backend),
    });
    let peers = [(ZMAP, Scanner::Zmap), ("masscan", Scanner::Masscan)];
    let installed = peers.into_iter().filter_map(|(program, scanner)| {
        let version = version(program);
        if version.is_none() {
            output::tell(format_args!("without {program}: `apt install {program}` installs it"));
        }
        Some(Subject { name: format!("{program} {}", version?), scanner })
    });
    ours.into_iter().chain(installed).collect()
}

/// A folder with what they read: a list of what is not to be probed, none of which is among the targets.
///
/// # Errors
/// When it cannot be made.
pub(super) fn folder() -> Result<TempDir> {
    let folder = tempfile::tempdir().context("make a folder for a program's files")?;
    fs::write(blocklist(folder.path()), BLOCKED)?;
    Ok(folder)
}

const BLOCKED: &str = "\
0.0.0.0/8
10.0.0.0/16
100.64.0.0/10
127.0.0.0/8
169.254.0.0/16
172.16.0.0/12
192.168.0.0/16
198.18.0.0/15
224.0.0.0/3
";

fn blocklist(folder: &Path) -> PathBuf {
    folder.join("blocklist")
}

/// The file for answers.
pub(super) fn output(folder: &Path) -> PathBuf {
    folder.join("answers")
}

impl Subject {
    /// Its command line, as one would type it, to probe a network of so many bits.
    pub(super) fn line(&self, pace: Pace, bits: u32, folder: &Path) -> Vec<String> {
        let (blocked, answers) = (blocklist(folder), output(folder));
        let (blocked, answers) = (blocked.display(), answers.display());
        let rate = |fastest: &str, flag: &str| match pace {
            Pace::Fastest => fastest.to_owned(),
            Pace::Rate(rate) => format!("{flag} {rate}"),
        };
        let text = match self.scanner {
            Scanner::Ours(backend) => format!(
                "scan -i wire0 -p 80 --allow-reserved --blocklist {blocked} --own {SPARE} \
                 --backend {backend} {} --cooldown 2s --fields address -o {answers} \
                 {NETWORK}/{bits}",
                rate("-r max", "-r")
            ),
            Scanner::Zmap => format!(
                "zmap {NETWORK}/{bits} -M tcp_synscan -p 80 -i wire0 -S {SPARE} -G {ROUTER} {} -T 1 \
                 -c 2 -b {blocked} -o {answers} -q --disable-syslog",
                rate("-B 100G", "-r")
            ),
            Scanner::Masscan => format!(
                "masscan {NETWORK}/{bits} -p80 -e wire0 --source-ip {SPARE} --source-port 61000 \
                 --router-mac {} {} --wait 2 --excludefile {blocked} -oL {answers}",
                ROUTER.replace(':', "-"),
                rate("--rate 100000000", "--rate")
            ),
        };
        let words = text.split_whitespace().map(str::to_owned);
        match self.scanner {
            Scanner::Ours(_) => {
                let program = std::env::current_exe().unwrap_or_else(|_| "linerate".into());
                std::iter::once(program.to_string_lossy().into_owned()).chain(words).collect()
            }
            Scanner::Zmap | Scanner::Masscan => words.collect(),
        }
    }
}

/// Says in the rows how the subjects were started.
pub(super) fn add_settings(rows: &mut [Row], subjects: &[Subject]) {
    for row in rows {
        let subject = subjects.iter().find(|subject| subject.name == row.subject);
        let line = subject.map(|subject| subject.line(Pace::Fastest, 10, "".as_ref()));
        row.settings = line.map(|line| line.join(" "));
    }
}
