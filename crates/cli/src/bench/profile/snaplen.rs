//! What more bytes of a packet cost.

use anyhow::Result;

use super::EXPERIMENT;
use super::trials::{Trials, by};
use crate::bench::capture::measure::{Effort, Overload};
use crate::bench::capture::stage::Stage;
use crate::bench::progress::Progress;
use crate::bench::row::{Row, compare};

const BACKENDS: [&str; 2] = ["ring", "tap"];
const SIZE: usize = 1514;
/// Bytes of a packet that are taken.
const LENGTHS: [usize; 5] = [64, 128, 512, 1024, SIZE];
pub(super) const STEPS: usize = BACKENDS.len() * LENGTHS.len();

pub(super) fn rows(stage: &Stage, effort: &Effort, progress: &mut Progress) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let name = |length: usize| format!("-s {length}");
    for backend in BACKENDS {
        let way = |length: usize| by(backend, &name(length), &["-s", &length.to_string()]);
        let subjects = LENGTHS.iter().map(|length| way(*length)).collect();
        let trials = Trials::make(stage, subjects, SIZE, effort, progress)?;
        let [shortest, longer @ ..] = LENGTHS;
        let steps = longer.map(|length| {
            let [more, less] =
                [length, shortest].map(|length| format!("{backend}, {}", name(length)));
            let bytes = (length - shortest) as f64;
            (name(length), trials.beyond(&more, &less, bytes, Overload::whole))
        });
        let case = format!("{SIZE} B, {backend}, a byte beyond {}", name(shortest));
        rows.extend(compare(EXPERIMENT, &case, "ns", &name(SIZE), &steps));
    }
    Ok(rows)
}
