//! `linerate bench dns`: how many questions a second are asked and answered.
//!
//! - [`subject`]: who asks, and how it is started and understood
//!
//! `docs/benchmarks.md` says how each figure comes about.

mod subject;

use std::time::Duration;

use anyhow::{Context, Result};
use linerate::lab::traffic::Answers;

use super::behind::Ground;
use super::progress::Progress;
use super::row::{Row, compare};
use super::runner::{Samples, in_turn};
use crate::args::BenchArgs;
use subject::Subject;

const EXPERIMENT: &str = "dns";

/// No run takes longer than this, whatever goes wrong.
const LONGEST: Duration = Duration::from_secs(60);

/// What one run showed.
struct Trial {
    /// Queries that were answered, a second.
    rate: f64,
    /// Of the queries, in percent, those without an answer that the program took.
    unanswered: f64,
}

pub(super) fn run(args: &BenchArgs) -> Result<Vec<Row>> {
    let (repeats, names, seconds) = if args.quick { (1, 300_000, 1) } else { (5, 2_000_000, 3) };
    let mut subjects = subject::all();
    args.check_only(subjects.iter().map(|subject| &subject.name))?;
    let ground = Ground::new()?;
    subjects.retain(|subject| args.wants(&subject.name));
    let folder = subject::folder(names)?;
    let mut progress = Progress::new(subjects.len());
    let name = |subject: &Subject| subject.name.clone();
    let trials = in_turn(&mut subjects, repeats, &mut progress, name, |_, subject| {
        let answers = Answers::start(ground.server())?;
        let line = subject.line(seconds, folder.path());
        let running = ground.start(&line, folder.path())?;
        let (rate, said) = running.finish(LONGEST, || Ok(answers.count()?))?;
        let share = subject.share(&said, folder.path());
        let share = share.with_context(|| format!("it did not say how many: {said}"))?;
        Ok(Trial { rate: rate * share, unanswered: 100.0 * (1.0 - share) })
    })?;
    let figures = |figure: fn(&Trial) -> f64| -> Vec<_> {
        let named = subjects.iter().zip(&trials);
        named
            .map(|(subject, trials)| {
                (subject.name.clone(), Some(Samples::new(trials.iter().map(figure).collect())))
            })
            .collect()
    };
    let baseline = subjects.iter().find(|subject| !subject.is_ours());
    let baseline = baseline.map_or_else(String::new, |subject| subject.name.clone());
    let rates = figures(|trial| trial.rate);
    let mut rows = compare(EXPERIMENT, "A, one server", "answers/s", &baseline, &rates);
    let unanswered = figures(|trial| trial.unanswered);
    rows.extend(compare(EXPERIMENT, "A, one server, unanswered", "%", &baseline, &unanswered));
    for row in &mut rows {
        let subject = subjects.iter().find(|subject| subject.name == row.subject);
        row.settings = subject.map(|subject| subject.line(seconds, "".as_ref()).join(" "));
    }
    Ok(rows)
}
