//! What `--only` leaves: parts of the bench by their names, subjects by a piece of theirs.

use super::subject::{RAW_IP, RING, Subject, TRAFGEN};

/// A part of the bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Rates,
    Batches,
    Queues,
    Pacing,
    Coverage,
}

impl Part {
    const ALL: [Self; 5] = [Self::Rates, Self::Batches, Self::Queues, Self::Pacing, Self::Coverage];
    pub(super) const NAMES: [&str; 5] = ["rates", "batches", "queues", "pacing", "coverage"];

    fn named(text: &str) -> Option<Self> {
        let mut named = Self::NAMES.into_iter().zip(Self::ALL);
        named.find_map(|(name, part)| (name == text).then_some(part))
    }
}

/// What is asked for: all parts where nothing is named; where subjects are, their rates.
pub(super) struct Choice<'a> {
    parts: Vec<Part>,
    names: Vec<&'a str>,
}

impl<'a> Choice<'a> {
    pub(super) fn new(only: &'a [String]) -> Self {
        let parts = only.iter().filter_map(|text| Part::named(text)).collect();
        let names = only.iter().map(String::as_str).filter(|text| Part::named(text).is_none());
        Self { parts, names: names.collect() }
    }

    pub(super) fn has(&self, part: Part) -> bool {
        match self.parts.is_empty() {
            true => self.names.is_empty() || part == Part::Rates,
            false => self.parts.contains(&part),
        }
    }

    /// Those that are asked for, and those that others are compared with.
    pub(super) fn subjects(&self, mut all: Vec<Subject>) -> Vec<Subject> {
        let is_reference = |name: &str| [RAW_IP, RING].contains(&name) || name.starts_with(TRAFGEN);
        all.retain(|subject| is_reference(&subject.name) || self.wants(&subject.name));
        all
    }

    /// Those that are asked for.
    pub(super) fn own(&self, mut all: Vec<Subject>) -> Vec<Subject> {
        all.retain(|subject| self.wants(&subject.name));
        all
    }

    fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|text| name.contains(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_subjects_are_told_apart() {
        let only = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let has = |texts: &[&str]| {
            let only = only(texts);
            let choice = Choice::new(&only);
            [Part::Rates, Part::Pacing].map(|part| choice.has(part))
        };
        assert_eq!(has(&[]), [true, true]);
        assert_eq!(has(&["live"]), [true, false]);
        assert_eq!(has(&["pacing", "live"]), [false, true]);
        let only = only(&["queues", "live"]);
        let choice = Choice::new(&only);
        assert!(choice.wants("live template") && !choice.wants(RING));
    }
}
