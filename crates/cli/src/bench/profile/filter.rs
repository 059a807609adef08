//! What a longer filter costs.

use anyhow::{Result, anyhow};
use linerate::base::LinkType;
use linerate::filter::{self, Hermetic, Options};

use super::EXPERIMENT;
use super::trials::{Trials, by};
use crate::bench::capture::measure::{Effort, Overload};
use crate::bench::capture::stage::Stage;
use crate::bench::progress::Progress;
use crate::bench::row::{Row, compare};

const BACKENDS: [&str; 2] = ["ring", "tap"];

/// Tests of the filters: such that a packet takes 3, 21 and 51 instructions, as in the founding papers.
pub(in crate::bench) const LENGTHS: [usize; 3] = [0, 9, 24];

pub(super) const STEPS: usize = BACKENDS.len() * (1 + LENGTHS.len());
const SIZE: usize = 60;
const ALL: &str = "no filter";

pub(super) fn rows(stage: &Stage, effort: &Effort, progress: &mut Progress) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let texts = LENGTHS.map(tests);
    let lengths = texts.iter().map(|text| instructions(text)).collect::<Result<Vec<_>>>()?;
    let names: Vec<_> = lengths.iter().map(|length| format!("{length} instructions")).collect();
    for backend in BACKENDS {
        let mut subjects = vec![by(backend, ALL, &[])];
        subjects.extend(names.iter().zip(&texts).map(|(name, text)| by(backend, name, &[text])));
        let trials = Trials::make(stage, subjects, SIZE, effort, progress)?;
        let beyond = |more: &str, less: &str, per| {
            let [more, less] = [more, less].map(|name| format!("{backend}, {name}"));
            trials.beyond(&more, &less, per, Overload::whole)
        };
        let steps = names.iter().map(|name| (name.clone(), beyond(name, ALL, 1.0)));
        let case = format!("{SIZE} B, {backend}, beyond no filter");
        rows.extend(compare(EXPERIMENT, &case, "ns", &names[0], &steps.collect::<Vec<_>>()));
        let (first, last) = (0, names.len() - 1);
        let more = (lengths[last] - lengths[first]) as f64;
        let each = [("each instruction".to_owned(), beyond(&names[last], &names[first], more))];
        let case = format!("{SIZE} B, {backend}, a longer filter");
        rows.extend(compare(EXPERIMENT, &case, "ns", "", &each));
    }
    Ok(rows)
}

/// A filter for IPv4 and of so many tests of different fields of its header, all of which have to be made for packets of
/// the load, and hold.
///
/// # Panics
/// When there are not so many fields.
pub(in crate::bench) fn tests(count: usize) -> String {
    // Neither the identification nor the checksum, which may have any value.
    let bytes = [0, 1, 2, 3, 6, 7, 8, 9, 12, 13, 14, 15, 16, 17, 18, 19];
    let bytes = bytes.map(|at| format!("ip[{at}] != 255"));
    let pairs =
        [0, 1, 2, 6, 7, 8, 12, 13, 14, 15, 16, 17, 18].map(|at| format!("ip[{at}:2] != 65535"));
    let all: Vec<_> = ["ip".to_owned()].into_iter().chain(bytes).chain(pairs).collect();
    all[..=count].join(" and ")
}

/// How many a packet takes that is kept, in the program that sockets get: all but the other verdict.
///
/// # Errors
/// When the text is no filter.
pub(in crate::bench) fn instructions(text: &str) -> Result<usize> {
    let options = Options::new(LinkType::ETHERNET, &Hermetic);
    let filter = filter::compile(text, &options).map_err(|e| anyhow!("{e}"))?;
    Ok(filter.program().instructions().len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_makes_a_filter_longer() {
        let lengths = LENGTHS.map(|count| instructions(&tests(count)).unwrap());
        assert_eq!(lengths, [3, 21, 51]);
    }
}
