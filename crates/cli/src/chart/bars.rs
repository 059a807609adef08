//! Numbers side by side, as bars from the left to the right.

use anyhow::Result;
use plotters::chart::ChartBuilder;
use plotters::element::{Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, WHITE};

use super::{FAINT, FONT, INK, LARGE, SMALL, Svg, colour, draw, failed, short};

const BAR: u32 = 22;
/// Between groups, in bars.
const GAP: f64 = 0.6;
/// Above and below all bars, for title and axis.
const AROUND: u32 = 100;
/// Of a sign, about, and the room that names have at the most.
const SIGN: usize = 7;
const NAMES: usize = 330;

/// A group of bars for each name, with one bar for each of `series`; `None` has no bar and says so.
///
/// # Errors
/// None that can be expected.
pub(crate) fn bars(
    title: &str,
    unit: &str,
    groups: &[(String, Vec<Option<f64>>)],
    series: &[&str],
) -> Result<Svg> {
    let longest = groups.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let names = (longest * SIGN + 16).min(NAMES) as u32;
    let each = series.len().max(1) as f64 + GAP;
    let rows = (each * groups.len() as f64).max(1.0);
    let height = AROUND + (rows * f64::from(BAR)) as u32;
    draw(height, |area| {
        let values = groups.iter().flat_map(|(_, values)| values.iter().flatten());
        // Room for the numbers behind the bars.
        let most = values.fold(0.0_f64, |most, value| most.max(*value)) * 1.4;
        let most = if most > 0.0 { most } else { 1.0 };
        let mut chart = ChartBuilder::on(area);
        chart.caption(title, (FONT, LARGE, &INK)).margin(10);
        chart.x_label_area_size(44).y_label_area_size(names);
        let mut chart = chart.build_cartesian_2d(0.0..most, rows..0.0).map_err(failed)?;
        let small = || (FONT, SMALL).into_font().color(&INK);
        chart
            .configure_mesh()
            .disable_y_mesh()
            .y_labels(0)
            .light_line_style(WHITE)
            .bold_line_style(FAINT)
            .label_style(small())
            .x_desc(unit)
            .x_label_formatter(&|value| short(*value))
            .draw()
            .map_err(failed)?;
        for (group, (name, values)) in groups.iter().enumerate() {
            let top = group as f64 * each + GAP / 2.0;
            let middle = chart.backend_coord(&(0.0, top + (each - GAP) / 2.0));
            let style = small().pos(Pos::new(HPos::Right, VPos::Center));
            area.draw(&Text::new(name.as_str(), (middle.0 - 8, middle.1), style))
                .map_err(failed)?;
            for (number, value) in values.iter().enumerate() {
                let (above, below) = (top + number as f64, top + number as f64 + 0.9);
                let length = value.unwrap_or(0.0).max(0.0);
                let bar = Rectangle::new([(0.0, above), (length, below)], colour(number).filled());
                chart.draw_series([bar]).map_err(failed)?;
                let figure = value.map_or_else(|| "missing".to_owned(), short);
                let told = series.get(number).filter(|_| series.len() > 1);
                let text = told.map_or_else(|| figure.clone(), |name| format!("{name}: {figure}"));
                let (x, y) = chart.backend_coord(&(length, (above + below) / 2.0));
                let style = small().pos(Pos::new(HPos::Left, VPos::Center));
                area.draw(&Text::new(text, (x + 5, y), style)).map_err(failed)?;
            }
        }
        Ok(())
    })
}
