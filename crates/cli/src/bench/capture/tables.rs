//! Results as rows.

use super::measure::{Overload, Results};
use super::subject::{Capture, FLOOR, RING, STACK, Subject, TCPDUMP};
use crate::bench::row::{Row, compare};
use crate::bench::runner::Samples;

const EXPERIMENT: &str = "capture";

type Figures = Vec<(String, Option<Samples>)>;

/// The rows of one size of frames.
pub(super) fn of_size(size: usize, subjects: &[Subject], results: &[Results]) -> Vec<Row> {
    let table = Table { size, subjects, results };
    let tcpdump = table.full_name(TCPDUMP);
    let mut rows = table.limits(&tcpdump);
    rows.extend(table.figures("lost at maximum", "%", &tcpdump, |o, captures| {
        captures.then(|| o.trial.loss() * 100.0)
    }));
    rows.extend(table.figures("sending core", "ns", &tcpdump, |o, _| Some(o.sender)));
    rows.extend(table.net("above XDP_DROP", FLOOR, |_| true));
    rows.extend(table.net("above no capture", STACK, Subject::passes));
    rows.extend(table.figures("consumer's core", "ns", &tcpdump, |o, _| o.consumer));
    rows.extend(table.figures("memory", "MiB", &tcpdump, |o, _| {
        o.memory.map(|bytes| bytes as f64 / f64::from(1 << 20))
    }));
    rows
}

/// Says in each row how its subject was started.
pub(in crate::bench) fn add_settings(rows: &mut [Row], subjects: &[Subject]) {
    for row in rows {
        let subject = subjects.iter().find(|subject| subject.name == row.subject);
        row.settings = subject.and_then(|subject| subject.capture().map(Capture::text));
    }
}

struct Table<'a> {
    size: usize,
    subjects: &'a [Subject],
    results: &'a [Results],
}

impl Table<'_> {
    fn case(&self, figure: &str) -> String {
        format!("{} B, {figure}", self.size)
    }

    /// The name with the version.
    fn full_name(&self, start: &str) -> String {
        let found = self.subjects.iter().find(|subject| subject.name.starts_with(start));
        found.map_or(start, |subject| &subject.name).to_owned()
    }

    /// The median is the highest rate that passed; the spread ends with the lowest that failed.
    fn limits(&self, baseline: &str) -> Vec<Row> {
        let captures = self.subjects.iter().zip(self.results);
        let captures = captures.filter_map(|(subject, results)| Some((subject, results.limit?)));
        let figures = captures
            .clone()
            .map(|(subject, limit)| (subject.name.clone(), Some(Samples::new(vec![limit.passed]))));
        let figures: Figures = figures.collect();
        let case = self.case("no loss up to");
        let mut rows = compare(EXPERIMENT, &case, "packets/s", baseline, &figures);
        for (row, (_, limit)) in rows.iter_mut().zip(captures) {
            row.spread = Some((limit.passed, limit.failed.unwrap_or(limit.passed)));
        }
        rows
    }

    /// One figure of each trial at the sender's maximum.
    fn figures(
        &self,
        figure: &str,
        unit: &'static str,
        baseline: &str,
        of: impl Fn(&Overload, bool) -> Option<f64>,
    ) -> Vec<Row> {
        let figures = self.subjects.iter().zip(self.results).filter_map(|(subject, results)| {
            let captures = subject.capture().is_some();
            let samples = results.overloads.iter().map(|o| of(o, captures));
            let samples: Option<Vec<_>> = samples.collect();
            Some((subject.name.clone(), Some(Samples::new(samples?))))
        });
        compare(EXPERIMENT, &self.case(figure), unit, baseline, &figures.collect::<Figures>())
    }

    /// What a subject costs the sending core beyond `floor`, trial by trial, against our ring.
    fn net(&self, figure: &str, floor: &str, wanted: fn(&Subject) -> bool) -> Vec<Row> {
        let at = self.subjects.iter().position(|subject| subject.name == floor);
        let Some(floors) = at.map(|at| &self.results[at].overloads) else { return Vec::new() };
        let captures = self
            .subjects
            .iter()
            .zip(self.results)
            .filter(|(subject, _)| subject.capture().is_some() && wanted(subject));
        let figures = captures.map(|(subject, results)| {
            let net =
                results.overloads.iter().zip(floors).map(|(o, floor)| o.sender - floor.sender);
            (subject.name.clone(), Some(Samples::new(net.collect())))
        });
        compare(EXPERIMENT, &self.case(figure), "ns", RING, &figures.collect::<Figures>())
    }
}

#[cfg(test)]
mod tests {
    use super::super::subject;
    use super::*;
    use crate::bench::search::{Bracket, Trial};

    /// Two trials, the second slower by a nanosecond.
    fn results(sender: f64, limit: Option<Bracket>) -> Results {
        let trial = Trial { rate: 1e9 / sender, sent: 100, lost: 25 };
        let overload = |sender| Overload { trial, sender, consumer: None, memory: None };
        Results { overloads: vec![overload(sender), overload(sender + 1.0)], limit }
    }

    fn subjects(names: &[&str]) -> Vec<Subject> {
        let mut all = subject::all();
        all.retain(|subject| names.contains(&subject.name.as_str()));
        all
    }

    fn value(rows: &[Row], case: &str, subject: &str) -> (Option<f64>, Option<f64>) {
        let row = rows.iter().find(|row| row.case == case && row.subject == subject);
        row.map_or((None, None), |row| (row.value, row.ratio))
    }

    #[test]
    fn costs_are_told_net_of_the_sender_and_of_the_stack() {
        let subjects = subjects(&[FLOOR, STACK, "linerate tap", RING]);
        let limit = Some(Bracket { passed: 1e6, failed: None });
        let results = [
            results(100.0, None),
            results(300.0, None),
            results(350.0, limit),
            results(500.0, limit),
        ];
        let rows = of_size(60, &subjects, &results);
        let tap = |case| value(&rows, case, "linerate tap");
        assert_eq!(tap("60 B, sending core").0, Some(350.5));
        assert_eq!(tap("60 B, above XDP_DROP"), (Some(250.0), Some(1.6)));
        assert_eq!(tap("60 B, above no capture"), (Some(50.0), Some(4.0)));
        assert_eq!(tap("60 B, lost at maximum").0, Some(25.0));
        assert_eq!(tap("60 B, no loss up to").0, Some(1e6));
        assert_eq!(value(&rows, "60 B, lost at maximum", FLOOR), (None, None));
    }
}
