//! Warm-up, then the subjects in turn, several times over.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::progress::Progress;

/// The figures of one subject's runs; never empty.
#[derive(Clone, Debug)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// # Panics
    /// When there is no sample.
    pub(crate) fn new(mut samples: Vec<f64>) -> Self {
        assert!(!samples.is_empty(), "a figure needs at least one run");
        samples.sort_by(f64::total_cmp);
        Self(samples)
    }

    /// The middle one, or the mean of the two in the middle.
    pub(crate) fn median(&self) -> f64 {
        let middle = self.0.len() / 2;
        if self.0.len() % 2 == 1 {
            self.0[middle]
        } else {
            (self.0[middle - 1] + self.0[middle]) / 2.0
        }
    }

    /// The same in another unit, of which one of these has `factor`.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self::new(self.0.into_iter().map(|figure| figure * factor).collect())
    }

    /// The smallest and the largest.
    pub(crate) fn spread(&self) -> (f64, f64) {
        (self.0[0], self.0[self.0.len() - 1])
    }

    /// How sure it is that the true median lies between the smallest and the largest, 0 to 1: each run is below it
    /// or above it with the same chance, whatever the distribution. `None` of a single run.
    pub(crate) fn confidence(&self) -> Option<f64> {
        let runs = i32::try_from(self.0.len()).unwrap_or(i32::MAX);
        (runs > 1).then(|| 1.0 - 0.5_f64.powi(runs - 1))
    }
}

/// One contender: what it does once, giving its figure.
pub(crate) struct Subject<'a> {
    pub(crate) name: String,
    /// `None` when the peer is not installed.
    pub(crate) run: Option<Box<dyn FnMut() -> Result<f64> + 'a>>,
}

/// A subject whose one run took longer than this is not run again: its figure will not change
/// what the comparison says, and nobody waits for minutes more to learn it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Has all subjects take their turns, A B A B, `rounds` times; what each turn gave is told by subject. All turns of one
/// are a step of the progress.
///
/// # Errors
/// The first turn's that fails, with the subject's name.
pub(crate) fn in_turn<S, T>(
    subjects: &mut [S],
    rounds: usize,
    progress: &mut Progress,
    name: impl Fn(&S) -> String,
    mut turn: impl FnMut(usize, &mut S) -> Result<T>,
) -> Result<Vec<Vec<T>>> {
    let mut results: Vec<_> = subjects.iter().map(|_| Vec::with_capacity(rounds)).collect();
    for round in 0..rounds {
        for (subject, results) in subjects.iter_mut().zip(&mut results) {
            progress.next_of(&name(subject), 1.0 / rounds as f64);
            results.push(turn(round, subject).with_context(|| name(subject))?);
        }
    }
    Ok(results)
}

/// Runs each subject once to warm up, then all in turn `repeats` times. Each is a step of the progress.
///
/// # Errors
/// The first subject's that fails.
pub(crate) fn measure(
    case: &str,
    subjects: Vec<Subject<'_>>,
    repeats: usize,
    progress: &mut Progress,
) -> Result<Vec<(String, Option<Samples>)>> {
    let mut contenders: Vec<_> = subjects.into_iter().map(Contender::new).collect();
    let name = |contender: &Contender<'_>| format!("{case}, {}", contender.subject.name);
    let figures =
        in_turn(&mut contenders, 1 + repeats, progress, name, |round, c| c.take_turn(round))?;
    let samples = figures.into_iter().map(|figures| {
        let figures: Vec<_> = figures.into_iter().flatten().collect();
        (!figures.is_empty()).then(|| Samples::new(figures))
    });
    Ok(contenders.into_iter().map(|contender| contender.subject.name).zip(samples).collect())
}

struct Contender<'a> {
    subject: Subject<'a>,
    slow: bool,
}

impl<'a> Contender<'a> {
    fn new(subject: Subject<'a>) -> Self {
        Self { subject, slow: false }
    }

    /// Round 0 is the warm-up; it counts only for a subject too slow to be run again.
    fn take_turn(&mut self, round: usize) -> Result<Option<f64>> {
        let Some(run) = self.subject.run.as_mut().filter(|_| !self.slow) else { return Ok(None) };
        let began = Instant::now();
        let figure = run()?;
        self.slow = began.elapsed() > PATIENCE;
        Ok((round > 0 || self.slow).then_some(figure))
    }
}

/// The time that `work` takes, in seconds.
///
/// # Errors
/// The work's own.
pub(crate) fn seconds(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(Samples::new(vec![3.0, 1.0, 2.0]).median(), 2.0);
        assert_eq!(Samples::new(vec![4.0, 1.0]).median(), 2.5);
    }

    #[test]
    fn more_runs_make_surer() {
        let of = |runs: usize| Samples::new(vec![1.0; runs]).confidence();
        assert_eq!([of(1), of(2), of(3)], [None, Some(0.5), Some(0.75)]);
        assert!(of(6).unwrap() > 0.95 && of(10_000).unwrap() <= 1.0);
    }

    #[test]
    fn subjects_take_turns_and_the_warm_up_does_not_count() {
        let turns = RefCell::new(String::new());
        let subject = |name: &str| Subject {
            name: name.into(),
            run: Some(Box::new({
                let (turns, name) = (&turns, name.to_owned());
                move || {
                    turns.borrow_mut().push_str(&name);
                    Ok(turns.borrow().len() as f64)
                }
            })),
        };
        let absent = Subject { name: "absent".into(), run: None };
        let results =
            measure("case", vec![subject("a"), subject("b"), absent], 2, &mut Progress::new(3));
        let results = results.unwrap();
        assert_eq!(*turns.borrow(), "ababab");
        assert_eq!(results[0].1.as_ref().unwrap().spread(), (3.0, 5.0));
        assert!(results[2].1.is_none());
    }
}
