//! `linerate bench scan`: how fast SYN probes leave, and how many of the answers are seen.
//!
//! - [`subject`]: who scans, and how it is started
//!
//! `docs/benchmarks.md` says how each figure comes about.

mod subject;

use std::cell::Cell;
use std::collections::HashSet;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use linerate::lab::traffic::{Answers, send_frames};

use super::behind::{Ground, Seen};
use super::progress::Progress;
use super::row::{Row, compare};
use super::runner::{Samples, in_turn};
use super::wire;
use crate::args::BenchArgs;
use subject::{Pace, Subject, ZMAP};

const EXPERIMENT: &str = "scan";

/// Rates at which the answers are counted, probes a second.
const RATES: [u64; 3] = [100_000, 200_000, 500_000];

/// Parts that `--only` takes by their names.
const PARTS: [&str; 2] = [SENDING, ANSWERS];
const SENDING: &str = "sending";
const ANSWERS: &str = "answers";

/// How much is measured.
struct Effort {
    repeats: usize,
    /// For how long sending is watched.
    watched: Duration,
    /// Seconds that a scan with answers takes, at the least.
    seconds: u64,
}

/// No scan takes longer than this, whatever goes wrong.
const LONGEST: Duration = Duration::from_secs(60);

pub(super) fn run(args: &BenchArgs) -> Result<Vec<Row>> {
    let effort = match args.quick {
        true => Effort { repeats: 1, watched: Duration::from_millis(300), seconds: 1 },
        false => Effort { repeats: 5, watched: Duration::from_secs(1), seconds: 3 },
    };
    let is_part = |text: &&String| PARTS.contains(&&text[..]);
    let (parts, names): (Vec<_>, Vec<_>) = args.only.iter().partition(is_part);
    let wants_part = |part: &str| parts.is_empty() || parts.iter().any(|text| *text == part);
    let mut subjects = subject::all();
    args.check_only(PARTS.into_iter().chain(subjects.iter().map(|subject| &subject.name[..])))?;
    let ground = Ground::new()?;
    subjects.retain(|subject| {
        let is_named = names.iter().any(|text| subject.name.contains(&text[..]));
        names.is_empty() || is_named || subject.name.starts_with(ZMAP)
    });
    let rates = if wants_part(ANSWERS) { &RATES[..] } else { &[] };
    let steps = rates.len() + usize::from(wants_part(SENDING));
    let mut progress = Progress::new(subjects.len() * steps);
    let mut rows = Vec::new();
    if wants_part(SENDING) {
        rows.extend(sending(&ground, &mut subjects, &effort, &mut progress)?);
    }
    for rate in rates {
        rows.extend(answers(&ground, &mut subjects, &effort, *rate, &mut progress)?);
    }
    Ok(rows)
}

/// Rates and costs of everybody, as fast as he can, to a host that drops what comes.
fn sending(
    ground: &Ground,
    subjects: &mut [Subject],
    effort: &Effort,
    progress: &mut Progress,
) -> Result<Vec<Row>> {
    let name = |subject: &Subject| format!("sending, {}", subject.name);
    let seen = in_turn(subjects, effort.repeats, progress, name, |_, subject| {
        let _drop = wire::drop_all(ground.server())?;
        let folder = subject::folder()?;
        let line = subject.line(Pace::Fastest, 10, folder.path());
        ground.start(&line, folder.path())?.watch(effort.watched)
    })?;
    let rate = figures(subjects, &seen, |seen: &Seen| seen.rate);
    let nanos = figures(subjects, &seen, |seen: &Seen| seen.nanos);
    let baseline = baseline(subjects);
    let mut rows = compare(EXPERIMENT, "SYN, nobody answers", "packets/s", &baseline, &rate);
    rows.extend(compare(EXPERIMENT, "SYN, nobody answers, all cores", "ns", &baseline, &nanos));
    subject::add_settings(&mut rows, subjects);
    Ok(rows)
}

/// What a scan with answers showed.
struct Scan {
    /// Probes that were answered, a second.
    rate: f64,
    /// Of the answers that were sent, in percent, those that are not in the output.
    missed: f64,
}

/// Every address answers: how many answers are in the outputs.
fn answers(
    ground: &Ground,
    subjects: &mut [Subject],
    effort: &Effort,
    rate: u64,
    progress: &mut Progress,
) -> Result<Vec<Row>> {
    let case = format!("all answer, {rate} packets/s");
    let name = |subject: &Subject| format!("{case}, {}", subject.name);
    let scans = in_turn(subjects, effort.repeats, progress, name, |_, subject| {
        scan(ground, subject, rate, rate * effort.seconds)
    })?;
    let (missed, reached) = (
        figures(subjects, &scans, |scan: &Scan| scan.missed),
        figures(subjects, &scans, |scan: &Scan| scan.rate),
    );
    let baseline = baseline(subjects);
    let mut rows =
        compare(EXPERIMENT, &format!("{case}, reached"), "packets/s", &baseline, &reached);
    rows.extend(compare(EXPERIMENT, &format!("{case}, missed"), "%", &baseline, &missed));
    Ok(rows)
}

/// Probes as many addresses as a power of two, and at least `count`.
fn scan(ground: &Ground, subject: &Subject, rate: u64, count: u64) -> Result<Scan> {
    let answers = Answers::start(ground.server())?;
    let folder = subject::folder()?;
    let bits = 32 - count.next_power_of_two().trailing_zeros();
    let line = subject.line(Pace::Rate(rate), bits, folder.path());
    let running = ground.start(&line, folder.path())?;
    let last = Cell::new(0);
    let count = || {
        let now = answers.count()?;
        if last.replace(now) == now {
            send_frames(ground.server(), &[stray()])?;
        }
        Ok(now)
    };
    let (rate, _) = running.finish(LONGEST, count)?;
    let answered = answers.count()?;
    let found = found(&subject::output(folder.path()))?;
    let missed = 100.0 * answered.saturating_sub(found) as f64 / answered.max(1) as f64;
    Ok(Scan { rate, missed })
}

/// A frame to everybody that nobody knows the protocol of. masscan looks whether it is to end when a frame comes, and
/// where no answers are left it would wait for ever.
fn stray() -> Vec<u8> {
    /// IEEE 802: for local experiments.
    const ETHERTYPE: [u8; 2] = [0x88, 0xb5];
    [&[0xff; 6], &[2, 0, 0, 0, 0, 9], &ETHERTYPE[..], &[0; 46]].concat()
}

/// How many addresses an output names, each once.
fn found(output: &Path) -> Result<u64> {
    let text = fs::read_to_string(output).with_context(|| format!("read {}", output.display()))?;
    let words = text.split(|c: char| c == ',' || c.is_whitespace());
    let addresses: HashSet<Ipv4Addr> = words.filter_map(|word| word.parse().ok()).collect();
    Ok(addresses.len() as u64)
}

fn figures<T>(
    subjects: &[Subject],
    trials: &[Vec<T>],
    figure: impl Fn(&T) -> f64,
) -> Vec<(String, Option<Samples>)> {
    let named = subjects.iter().zip(trials);
    named
        .map(|(subject, trials)| {
            (subject.name.clone(), Some(Samples::new(trials.iter().map(&figure).collect())))
        })
        .collect()
}

fn baseline(subjects: &[Subject]) -> String {
    let zmap = subjects.iter().find(|subject| subject.name.starts_with(ZMAP));
    zmap.map_or_else(String::new, |subject| subject.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_everybodys_output() {
        let folder = subject::folder().unwrap();
        let output = subject::output(folder.path());
        for text in [
            "address\n10.64.0.1\n10.64.0.2\n10.64.0.1\n",
            "#masscan\nopen tcp 80 10.64.0.1 1700000000\nopen tcp 80 10.64.0.2 1700000000\n# end\n",
            "10.64.0.1,80\n10.64.0.2,80\n",
        ] {
            fs::write(&output, text).unwrap();
            assert_eq!(found(&output).unwrap(), 2, "{text}");
        }
    }
}
