//! Results as rows.

use super::peer::Peer;
use super::subject::{FRAMES, RAW_IP, RING, Subject, TEMPLATE, TRAFGEN, Way};
use super::trial::Trial;
use crate::bench::row::{Row, compare};
use crate::bench::runner::Samples;

pub(super) const EXPERIMENT: &str = "send";

/// The rows of one case: rates and costs against raw IP, then our best against who came next.
pub(super) fn of_case(case: &str, subjects: &[&Subject], trials: &[Vec<Trial>]) -> Vec<Row> {
    let figures = |of: fn(&Trial) -> f64, wanted: &dyn Fn(&str) -> bool| -> Vec<_> {
        let all = subjects.iter().zip(trials).filter(|(subject, _)| wanted(&subject.name));
        all.map(|(subject, trials)| {
            (subject.name.clone(), Some(Samples::new(trials.iter().map(of).collect())))
        })
        .collect()
    };
    let mut rows = compare(EXPERIMENT, case, "packets/s", RAW_IP, &figures(|t| t.rate, &|_| true));
    let cost = format!("{case}, sending core");
    rows.extend(compare(EXPERIMENT, &cost, "ns", RAW_IP, &figures(|t| t.nanos, &|_| true)));
    for (ours, theirs) in [(TEMPLATE, TRAFGEN), (FRAMES, RING)] {
        let Some(other) = subjects.iter().find(|subject| subject.name.starts_with(theirs)) else {
            continue;
        };
        let pair = figures(|t| t.rate, &|name| name == ours || name == other.name);
        let case = format!("{case}, against {theirs}");
        let pair = compare(EXPERIMENT, &case, "packets/s", &other.name, &pair);
        rows.extend(pair.into_iter().filter(|row| row.subject == ours));
    }
    rows
}

/// Says in the rows of peers how they were started.
pub(super) fn add_settings(rows: &mut [Row], subjects: &[&Subject], line: impl Fn(Peer) -> String) {
    for row in rows {
        let subject = subjects.iter().find(|subject| subject.name == row.subject);
        row.settings = subject.and_then(|subject| match subject.way {
            Way::Peer(peer) => Some(line(peer)),
            Way::RawIp { .. } | Way::Sink(_) | Way::Template => None,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_best_is_compared_with_each_bar() {
        let subject =
            |name: &str| Subject { name: name.into(), way: Way::RawIp { together: false } };
        let all = [RAW_IP, RING, FRAMES, TEMPLATE, "trafgen 0.6.8"].map(subject);
        let subjects: Vec<_> = all.iter().collect();
        let rates =
            [1e6, 2e6, 16e6, 15e6, 1.25e6].map(|rate| vec![Trial { rate, nanos: 1e9 / rate }]);
        let rows = of_case("SYN", &subjects, &rates);
        let ratio = |case: &str, subject: &str| {
            let row = rows.iter().find(|row| row.case == case && row.subject == subject);
            row.and_then(|row| row.ratio)
        };
        assert_eq!(ratio("SYN", TEMPLATE), Some(15.0));
        assert!((ratio("SYN, sending core", TEMPLATE).unwrap() - 15.0).abs() < 1e-9);
        assert_eq!(ratio("SYN, against trafgen", TEMPLATE), Some(12.0));
        assert_eq!(ratio("SYN, against PACKET_TX_RING (ring)", FRAMES), Some(8.0));
        assert_eq!(rows.len(), 5 + 5 + 2);
    }
}
