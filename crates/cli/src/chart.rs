//! Charts as SVG, to be put into a page.
//!
//! Colours are those that people with any kind of colour-blindness tell apart (P. Tol, Colour Schemes, 2021, `muted`);
//! nothing is told by colour alone: lines have markers of their own, and bars their names beside or in them.

mod axes;
mod bars;
mod lines;
mod stacked;

pub(crate) use axes::{Axis, Scale};
pub(crate) use bars::bars;
pub(crate) use lines::{Line, lines};
pub(crate) use stacked::{Stack, stacked};

use anyhow::{Result, anyhow};
use plotters::prelude::{RGBColor, SVGBackend};
use plotters::style::WHITE;

/// A chart's width; its height depends on what is in it.
const WIDTH: u32 = 760;

/// What a chart says in place of a legend for who cannot see it.
pub(crate) type Svg = String;

/// The colours, in the order in which they are used.
pub(crate) const COLOURS: [RGBColor; 10] = [
    RGBColor(0x33, 0x22, 0x88),
    RGBColor(0xcc, 0x66, 0x77),
    RGBColor(0x11, 0x77, 0x33),
    RGBColor(0xdd, 0xcc, 0x77),
    RGBColor(0x88, 0xcc, 0xee),
    RGBColor(0x88, 0x22, 0x55),
    RGBColor(0x44, 0xaa, 0x99),
    RGBColor(0x99, 0x99, 0x33),
    RGBColor(0xaa, 0x44, 0x99),
    RGBColor(0xbb, 0xbb, 0xbb),
];

/// The text's.
const INK: RGBColor = INK_ON_LIGHT;
pub(crate) const INK_ON_LIGHT: RGBColor = RGBColor(0x22, 0x22, 0x22);
pub(crate) const INK_ON_DARK: RGBColor = RGBColor(0xff, 0xff, 0xff);
/// That of lines in the background.
const FAINT: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);

const FONT: &str = "sans-serif";
const SMALL: u32 = 15;
const LARGE: u32 = 20;

/// The colour of the series with this number.
pub(crate) fn colour(number: usize) -> RGBColor {
    COLOURS[number % COLOURS.len()]
}

/// True for colours on which text is white.
pub(crate) fn is_dark(RGBColor(red, green, blue): RGBColor) -> bool {
    // The weights of sRGB's luminance.
    0.2126 * f64::from(red) + 0.7152 * f64::from(green) + 0.0722 * f64::from(blue) < 128.0
}

/// Has `draw` draw, `height` high.
fn draw(
    height: u32,
    draw: impl FnOnce(
        &plotters::drawing::DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    ) -> Result<()>,
) -> Result<Svg> {
    use plotters::drawing::IntoDrawingArea;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        area.fill(&WHITE).map_err(failed)?;
        draw(&area)?;
        area.present().map_err(failed)?;
    }
    Ok(svg)
}

/// Errors of the library may not leave the thread.
fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("draw a chart: {error}")
}

/// A number in as few signs as tell it: `1.2 M`.
pub(crate) fn short(value: f64) -> String {
    let (value, unit) = match value.abs() {
        1e9.. => (value / 1e9, " G"),
        1e6.. => (value / 1e6, " M"),
        1e4.. => (value / 1e3, " k"),
        _ => (value, ""),
    };
    let digits = match value.abs() {
        100.0.. | 0.0 => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 0.25, 3.0, 42.5, 1234.0, 215_516.0, 4.8e6, 2e9].map(short);
        assert_eq!(texts, ["0", "0.25", "3", "42.5", "1234", "216 k", "4.8 M", "2 G"]);
    }

    #[test]
    fn charts_name_their_axes_units_and_series_and_escape_them() {
        let x = Axis { label: "batch, packets".into(), scale: Scale::Logarithmic };
        let y = Axis { label: "cost, ns a packet".into(), scale: Scale::Linear };
        let line = Line { name: "a & b".into(), points: vec![(1.0, 3.0), (64.0, 1.0)] };
        let other = Line { name: "b".into(), points: vec![(1.0, 2.0)] };
        let svg = lines("sending", &x, &y, &[line, other]).unwrap();
        for text in ["batch, packets", "cost, ns a packet", "a &amp; b", "sending"] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
        let svg =
            bars("rates", "packets/s", &[("ring".into(), vec![Some(1e6), None])], &["a", "b"]);
        assert!(svg.unwrap().contains("packets/s"));
        let stack = Stack {
            name: "tap".into(),
            parts: vec![("driver".into(), 40.0), ("copy".into(), 2.0)],
        };
        let svg = stacked("whole", "ns", &[stack]).unwrap();
        assert!(svg.contains("driver") && svg.contains("tap"));
    }

    #[test]
    fn charts_without_anything_are_drawn() {
        let axis = || Axis { label: String::new(), scale: Scale::Linear };
        lines("", &axis(), &axis(), &[]).unwrap();
        bars("", "", &[], &[]).unwrap();
        stacked("", "", &[]).unwrap();
    }
}
