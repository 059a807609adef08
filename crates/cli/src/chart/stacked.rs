//! Wholes and their parts, as bars from the left to the right.

use anyhow::Result;
use plotters::element::{Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, WHITE};

use super::{FONT, INK, LARGE, SMALL, Svg, WIDTH, colour, draw, failed, is_dark, short};

/// One bar.
pub(crate) struct Stack {
    pub(crate) name: String,
    /// Names and sizes; those of one name have one colour in all bars.
    pub(crate) parts: Vec<(String, f64)>,
}

const BAR: i32 = 44;
const ROW: i32 = 78;
/// Above the first bar, with a title and without.
const TOP: i32 = 44;
const UNTITLED: i32 = 8;
const LEFT: i32 = 10;
/// Of a sign, about.
const SIGN: i32 = 7;

/// A bar for each of `stacks`, all by one scale, and what the colours mean.
///
/// # Errors
/// None that can be expected.
pub(crate) fn stacked(title: &str, unit: &str, stacks: &[Stack]) -> Result<Svg> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in stacks.iter().flat_map(|stack| &stack.parts) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let whole = |stack: &Stack| stack.parts.iter().map(|(_, size)| size).sum::<f64>();
    let most = stacks.iter().map(whole).fold(f64::MIN_POSITIVE, f64::max);
    let scale = f64::from(WIDTH as i32 - 2 * LEFT) / most;
    let keys = Keys::of(&names);
    let first = if title.is_empty() { UNTITLED } else { TOP };
    let height = first + ROW * stacks.len() as i32 + keys.height();
    draw(height as u32, |area| {
        let small = || (FONT, SMALL).into_font().color(&INK);
        let heading = (FONT, LARGE).into_font().color(&INK);
        area.draw(&Text::new(title, (LEFT, 12), heading)).map_err(failed)?;
        for (row, stack) in stacks.iter().enumerate() {
            let y = first + ROW * row as i32;
            let told = format!("{}: {} {unit}", stack.name, short(whole(stack)));
            area.draw(&Text::new(told, (LEFT, y), small())).map_err(failed)?;
            let mut before = 0.0;
            for (name, size) in &stack.parts {
                let [from, to] = [before, before + size].map(|at| LEFT + (at * scale) as i32);
                before += size;
                let number = names.iter().position(|found| found == name).unwrap_or(0);
                let (colour, corners) = (colour(number), [(from, y + 18), (to, y + 18 + BAR)]);
                area.draw(&Rectangle::new(corners, colour.filled())).map_err(failed)?;
                area.draw(&Rectangle::new(corners, WHITE.stroke_width(1))).map_err(failed)?;
                let ink = if is_dark(colour) { WHITE } else { INK };
                let style = (FONT, SMALL).into_font().color(&ink);
                let style = style.pos(Pos::new(HPos::Left, VPos::Center));
                for (line, text) in [name.clone(), short(*size)].into_iter().enumerate() {
                    if to - from > SIGN * text.chars().count() as i32 + 8 {
                        let at = (from + 5, y + 18 + BAR / 3 + line as i32 * BAR / 3);
                        area.draw(&Text::new(text, at, style.clone())).map_err(failed)?;
                    }
                }
            }
        }
        let top = first + ROW * stacks.len() as i32;
        for (number, (name, (x, y))) in names.iter().zip(&keys.places).enumerate() {
            let (x, y) = (*x, top + y);
            let square = Rectangle::new([(x, y), (x + 12, y + 12)], colour(number).filled());
            area.draw(&square).map_err(failed)?;
            area.draw(&Text::new(*name, (x + 17, y), small())).map_err(failed)?;
        }
        Ok(())
    })
}

/// Where the names of the colours stand.
struct Keys {
    places: Vec<(i32, i32)>,
}

const KEY: i32 = 20;

impl Keys {
    fn of(names: &[&str]) -> Self {
        let (mut x, mut y) = (LEFT, 0);
        let place = |name: &&str| {
            let width = 17 + SIGN * name.chars().count() as i32 + 16;
            if x + width > WIDTH as i32 - LEFT {
                (x, y) = (LEFT, y + KEY);
            }
            let at = (x, y);
            x += width;
            at
        };
        Self { places: names.iter().map(place).collect() }
    }

    fn height(&self) -> i32 {
        self.places.last().map_or(0, |(_, y)| y + KEY + 4)
    }
}
