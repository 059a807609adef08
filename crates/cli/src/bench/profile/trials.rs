//! Ways to capture, in turn, and how far apart they are.

use anyhow::Result;

use crate::bench::capture::can_begin;
use crate::bench::capture::measure::{Effort, Overload, overload};
use crate::bench::capture::stage::Stage;
use crate::bench::capture::subject::{BUFFER, Kind, STACK, Subject, ours};
use crate::bench::progress::Progress;
use crate::bench::runner::{Samples, in_turn};

/// Trials by the names of those who captured, made in turn.
pub(in crate::bench) struct Trials(Vec<(String, Vec<Overload>)>);

impl Trials {
    /// At the sender's maximum. Who cannot begin here is left out, and a line says why.
    ///
    /// # Errors
    /// A subject's that fails later.
    pub(in crate::bench) fn make(
        stage: &Stage,
        mut subjects: Vec<Subject>,
        size: usize,
        effort: &Effort,
        progress: &mut Progress,
    ) -> Result<Self> {
        subjects.retain(|subject| can_begin(stage, subject));
        let name = |subject: &Subject| format!("{size} bytes, {}", subject.name);
        let trials = in_turn(&mut subjects, effort.repeats, progress, name, |_, subject| {
            overload(stage, subject, size, effort)
        })?;
        Ok(Self::of(subjects.into_iter().map(|subject| subject.name).zip(trials)))
    }

    /// Those that were made.
    pub(in crate::bench) fn of(trials: impl IntoIterator<Item = (String, Vec<Overload>)>) -> Self {
        Self(trials.into_iter().collect())
    }

    fn named(&self, name: &str) -> Option<&[Overload]> {
        let found = self.0.iter().find(|(found, _)| found == name);
        found.map(|(_, trials)| trials.as_slice())
    }

    /// How much larger a figure is of one than of another, turn by turn, so that a machine whose speed drifts
    /// treats both alike; each difference divided by `per`.
    pub(in crate::bench) fn beyond(
        &self,
        more: &str,
        less: &str,
        per: f64,
        figure: impl Fn(&Overload) -> f64,
    ) -> Option<Samples> {
        let pairs = self.named(more)?.iter().zip(self.named(less)?);
        Some(Samples::new(pairs.map(|(a, b)| (figure(a) - figure(b)) / per).collect()))
    }
}

/// Nobody.
pub(in crate::bench) fn nobody() -> Subject {
    Subject { name: STACK.into(), kind: Kind::Stack }
}

/// Ourselves by a back end that lets packets pass, with further arguments.
pub(in crate::bench) fn by(backend: &str, name: &str, arguments: &[&str]) -> Subject {
    let flags = [&["--backend", backend], arguments].concat();
    ours(&format!("{backend}, {name}"), &flags, true, BUFFER, "/dev/null")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::search::Trial;

    fn trial(sender: f64, consumer: f64, lost: u64) -> Overload {
        let trial = Trial { rate: 1e6, sent: 100, lost };
        Overload { trial, sender, consumer: Some(consumer), memory: None }
    }

    #[test]
    fn differences_are_of_the_same_turn() {
        let trials = Trials::of([
            ("a".to_owned(), vec![trial(100.0, 10.0, 0), trial(200.0, 10.0, 50)]),
            ("b".to_owned(), vec![trial(150.0, 20.0, 0), trial(240.0, 20.0, 50)]),
        ]);
        let beyond = trials.beyond("b", "a", 5.0, Overload::whole).unwrap();
        assert_eq!(beyond.spread(), (9.0, 12.0));
        assert!(trials.beyond("b", "c", 1.0, Overload::whole).is_none());
    }
}
