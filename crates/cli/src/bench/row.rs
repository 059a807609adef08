//! One figure of a bench.

use serde::Serialize;

use super::runner::Samples;

/// What one subject reached in one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Row {
    /// The bench: `compile`, `read`.
    pub(crate) experiment: &'static str,
    /// What was done, such as `200 hosts`.
    pub(crate) case: String,
    /// Who did it, with the version where it is a peer.
    pub(crate) subject: String,
    /// The median; `None` when the subject is not installed.
    pub(crate) value: Option<f64>,
    /// The smallest and the largest of the runs.
    pub(crate) spread: Option<(f64, f64)>,
    /// How sure it is that the true median lies between them, 0 to 1; `None` of a single run.
    pub(crate) confidence: Option<f64>,
    /// What the figure counts. Of rates, whose unit ends in `/s`, more is better, of all else less.
    pub(crate) unit: &'static str,
    /// The subject that `ratio` compares with.
    pub(crate) baseline: Option<String>,
    /// How many times better than the baseline.
    pub(crate) ratio: Option<f64>,
    /// How the subject was started, where that is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) settings: Option<String>,
    /// What a paper has in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) paper: Option<Paper>,
}

/// A paper's own figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Paper {
    /// Whose figure it is.
    pub(crate) system: &'static str,
    /// The figure; `None` where the paper tells the ratio only.
    pub(crate) value: Option<f64>,
    /// What it counts.
    pub(crate) unit: &'static str,
    /// How many times better it was than the paper's own baseline, at the least and at the most.
    pub(crate) ratio: Option<(f64, f64)>,
}

/// The rows of one case: every subject against the first one that is named `baseline`.
pub(crate) fn compare(
    experiment: &'static str,
    case: &str,
    unit: &'static str,
    baseline: &str,
    subjects: &[(String, Option<Samples>)],
) -> Vec<Row> {
    let reference = subjects.iter().find(|(name, _)| name == baseline);
    let reference = reference.and_then(|(_, samples)| samples.as_ref()).map(Samples::median);
    let row = |(subject, samples): &(String, Option<Samples>)| {
        let value = samples.as_ref().map(Samples::median);
        Row {
            experiment,
            case: case.into(),
            subject: subject.clone(),
            value,
            spread: samples.as_ref().map(Samples::spread),
            confidence: samples.as_ref().and_then(Samples::confidence),
            unit,
            baseline: reference.map(|_| baseline.into()),
            ratio: reference
                .zip(value)
                .and_then(|(reference, value)| ratio(reference, value, unit)),
            settings: None,
            paper: None,
        }
    };
    subjects.iter().map(row).collect()
}

/// How many times better; `None` where that has no meaning: for zero, and for less than that, as
/// differences can be.
pub(super) fn ratio(reference: f64, value: f64, unit: &str) -> Option<f64> {
    let ratio = if unit.ends_with("/s") { value / reference } else { reference / value };
    (reference > 0.0 && value > 0.0).then_some(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_twice_as_fast_has_ratio_two() {
        let subjects = [
            ("peer".into(), Some(Samples::new(vec![4.0, 2.0, 3.0]))),
            ("ours".into(), Some(Samples::new(vec![1.5]))),
            ("absent".into(), None),
        ];
        let rows = compare("x", "c", "s", "peer", &subjects);
        let ratios: Vec<_> = rows.iter().map(|row| row.ratio).collect();
        assert_eq!(ratios, [Some(1.0), Some(2.0), None]);
        assert_eq!(rows[0].spread, Some((2.0, 4.0)));
    }

    #[test]
    fn of_rates_more_is_better() {
        assert_eq!(ratio(2.0, 4.0, "s"), Some(0.5));
        assert_eq!(ratio(2.0, 4.0, "packets/s"), Some(2.0));
        assert_eq!((ratio(2.0, 0.0, "%"), ratio(2.0, -1.0, "ns")), (None, None));
    }
}
