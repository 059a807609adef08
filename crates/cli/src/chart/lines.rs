//! How one number depends on another.

use anyhow::Result;
use plotters::chart::ChartBuilder;
use plotters::element::{Circle, Cross, PathElement, Text, TriangleMarker};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, WHITE};

use super::{Axis, FAINT, FONT, INK, LARGE, SMALL, Svg, WIDTH, colour, draw, failed, short};

/// One line.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

const HEIGHT: u32 = 380;
const SIZE: i32 = 4;
/// Room for the names of lines, on the right; the first of them, and from one to the next.
const NAMES: i32 = 230;
const TOP: i32 = 60;
const KEY: i32 = 22;

/// A chart of lines.
///
/// # Errors
/// None that can be expected.
pub(crate) fn lines(title: &str, x: &Axis, y: &Axis, lines: &[Line]) -> Result<Svg> {
    draw(HEIGHT, |area| {
        let points = || lines.iter().flat_map(|line| &line.points);
        let (xs, ys) = (x.scale.range(points().map(|p| p.0)), y.scale.range(points().map(|p| p.1)));
        let mut chart = ChartBuilder::on(area);
        chart.caption(title, (FONT, LARGE, &INK)).margin(10).margin_right(NAMES);
        chart.x_label_area_size(44).y_label_area_size(64);
        let mut chart = chart.build_cartesian_2d(xs, ys).map_err(failed)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(FAINT)
            .label_style((FONT, SMALL).into_font().color(&INK))
            .x_desc(&x.label)
            .y_desc(&y.label)
            .x_label_formatter(&|at| short(x.scale.value(*at)))
            .y_label_formatter(&|at| short(y.scale.value(*at)))
            .draw()
            .map_err(failed)?;
        for (number, line) in lines.iter().enumerate() {
            let (stroke, fill) = (colour(number).stroke_width(2), colour(number).filled());
            let at = |(a, b): &(f64, f64)| (x.scale.at(*a), y.scale.at(*b));
            let path = line.points.iter().map(at).collect::<Vec<_>>();
            chart.draw_series([PathElement::new(path, stroke)]).map_err(failed)?;
            // Neighbours have points of different shapes.
            let points = line.points.iter().map(at);
            let key = (WIDTH as i32 - NAMES + 16, TOP + number as i32 * KEY);
            match number % 3 {
                0 => {
                    let mark = |at| Circle::new(at, SIZE, fill);
                    chart.draw_series(points.map(mark)).map_err(failed)?;
                    area.draw(&Circle::new(key, SIZE, fill))
                }
                1 => {
                    let mark = |at| TriangleMarker::new(at, SIZE + 2, fill);
                    chart.draw_series(points.map(mark)).map_err(failed)?;
                    area.draw(&TriangleMarker::new(key, SIZE + 2, fill))
                }
                _ => {
                    let mark = |at| Cross::new(at, SIZE, stroke);
                    chart.draw_series(points.map(mark)).map_err(failed)?;
                    area.draw(&Cross::new(key, SIZE, stroke))
                }
            }
            .map_err(failed)?;
            let style = (FONT, SMALL).into_font().color(&INK);
            let style = style.pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(line.name.as_str(), (key.0 + 12, key.1), style))
                .map_err(failed)?;
        }
        Ok(())
    })
}
