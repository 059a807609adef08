//! What an experiment gives.

use anyhow::Result;

use super::figures::Figure;
use crate::bench::row::{Paper, Row, ratio};
use crate::bench::runner::Samples;
use crate::chart::Svg;

/// Names and figures, as [`compare`](crate::bench::row::compare) takes them.
pub(super) type Figures = Vec<(String, Option<Samples>)>;

/// All of it.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) rows: Vec<Row>,
    /// Points of the drawings, as far as they are not among the rows.
    pub(super) points: Vec<Row>,
    /// Drawings, each with what it shows in words.
    pub(super) charts: Vec<(Svg, String)>,
    pub(super) remarks: Vec<String>,
}

impl Findings {
    /// Rows of an experiment, with what the paper has beside them.
    pub(super) fn of(experiment: &'static str, mut rows: Vec<Row>, figures: &[Figure]) -> Self {
        for row in &mut rows {
            row.experiment = experiment;
            let figure = figures.iter().find(|figure| figure.is_of(row));
            row.paper = figure.map(Figure::as_paper);
        }
        Self { rows, ..Self::default() }
    }

    /// With points of charts.
    pub(super) fn points(mut self, rows: Vec<Row>) -> Self {
        self.points = rows;
        self
    }

    /// With a chart.
    pub(super) fn chart(mut self, svg: Result<Svg>, words: &str) -> Result<Self> {
        self.charts.push((svg?, words.to_owned()));
        Ok(self)
    }

    /// With a remark.
    pub(super) fn remark(mut self, text: &str) -> Self {
        self.remarks.push(text.to_owned());
        self
    }

    /// All rows, with the points behind them.
    pub(super) fn all(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().chain(&self.points)
    }

    /// Behind each other.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.rows.extend(other.rows);
        self.points.extend(other.points);
        self.charts.extend(other.charts);
        self.remarks.extend(other.remarks);
        self
    }
}

impl Figure {
    fn is_of(&self, row: &Row) -> bool {
        // `tap` is `tap, 64 MiB` as well, and not `tap-xdp`.
        let rest = row.subject.strip_prefix(self.subject);
        let is_name = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-');
        self.case == row.case && rest.is_some_and(is_name)
    }

    fn as_paper(&self) -> Paper {
        let own = |baseline| self.value.and_then(|value| ratio(baseline, value, self.unit));
        let ratio = self.baseline.and_then(own).map(|ratio| (ratio, ratio)).or(self.ratio);
        Paper { system: self.system, value: self.value, unit: self.unit, ratio }
    }
}

/// A row for what this program cannot do yet, beside what the paper has.
pub(super) fn missing(case: &str, subject: &str, unit: &'static str) -> Row {
    Row {
        experiment: "",
        case: case.into(),
        subject: subject.into(),
        value: None,
        spread: None,
        confidence: None,
        unit,
        baseline: None,
        ratio: None,
        settings: None,
        paper: None,
    }
}

/// The medians of rows, by subject and in the order of `cases`, for a chart.
pub(super) fn by_case(rows: &[Row], cases: &[String], subject: &str) -> Vec<Option<f64>> {
    let of = |case: &String| {
        rows.iter()
            .find(|row| row.case == *case && row.subject == subject)
            .and_then(|row| row.value)
    };
    cases.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_figure_stands_beside_ours_with_its_own_ratio() {
        let figure = Figure {
            case: "64 B",
            subject: "tap",
            system: "zero-copy",
            value: Some(947_252.0),
            unit: "packets/s",
            baseline: Some(132_979.0),
            ratio: None,
        };
        let rows = vec![
            missing("64 B", "tap", "packets/s"),
            missing("64 B", "ring", "packets/s"),
            missing("64 B", "tap-xdp", "packets/s"),
        ];
        let findings = Findings::of("P4.table1", rows, &[figure]);
        let paper = findings.rows[0].paper.as_ref().unwrap();
        assert_eq!((paper.value, findings.rows[0].experiment), (Some(947_252.0), "P4.table1"));
        assert!((paper.ratio.unwrap().0 - 7.12).abs() < 0.01);
        assert_eq!((&findings.rows[1].paper, &findings.rows[2].paper), (&None, &None));
    }
}
