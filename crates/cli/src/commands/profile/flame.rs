//! A flame graph. It is our own, and without a script: known libraries for it colour functions by their names, not by
//! the component of a packet's way, which is what this graph is about.

use std::fmt::Write as _;

use linerate::profile::flame::Frame;
use plotters::style::RGBColor;

use crate::chart::{INK_ON_DARK, INK_ON_LIGHT, is_dark};
use crate::components::colour_of;
use crate::page::escaped;

const WIDTH: f64 = 960.0;
const ROW: f64 = 18.0;
/// Of a sign, about.
const SIGN: f64 = 6.6;
/// What is narrower is left out.
const NARROWEST: f64 = 0.6;

/// The graph, as a drawing.
pub(super) fn svg(root: &Frame) -> String {
    let rows = depth(root, WIDTH);
    let height = ROW * rows as f64;
    let mut svg = format!(
        "<svg width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"monospace\" font-size=\"11\" xmlns=\"http://www.w3.org/2000/svg\">\n"
    );
    let whole = root.weight.max(1) as f64;
    draw(&mut svg, root, Place { x: 0.0, bottom: height, scale: WIDTH / whole }, whole);
    svg.push_str("</svg>");
    svg
}

/// Rows that can be seen.
fn depth(frame: &Frame, width: f64) -> usize {
    if width < NARROWEST {
        return 0;
    }
    let each = width / frame.weight.max(1) as f64;
    1 + frame.calls.iter().map(|call| depth(call, call.weight as f64 * each)).max().unwrap_or(0)
}

#[derive(Clone, Copy)]
struct Place {
    x: f64,
    bottom: f64,
    /// Of a unit of weight.
    scale: f64,
}

fn draw(svg: &mut String, frame: &Frame, place: Place, whole: f64) {
    let width = frame.weight as f64 * place.scale;
    if width < NARROWEST {
        return;
    }
    let Place { x, bottom, .. } = place;
    let (y, colour) = (bottom - ROW, colour_of(frame.component));
    let share = 100.0 * frame.weight as f64 / whole;
    let component = frame.component.map_or("", |component| component.name());
    let name = escaped(&frame.name);
    let _ = write!(
        svg,
        "<g><title>{name}: {share:.1} % {component}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" \
         width=\"{width:.1}\" height=\"{ROW}\" fill=\"{}\" stroke=\"#fff\" stroke-width=\"0.6\"/>",
        hex(colour)
    );
    let room = (width / SIGN) as usize;
    if room > 3 {
        let ink = if is_dark(colour) { INK_ON_DARK } else { INK_ON_LIGHT };
        let text: String = frame.name.chars().take(room - 1).collect();
        let (x, y, ink, text) = (x + 3.0, y + 13.0, hex(ink), escaped(&text));
        let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{ink}\">{text}</text>");
    }
    svg.push_str("</g>\n");
    let mut x = x;
    for call in &frame.calls {
        draw(svg, call, Place { x, bottom: y, ..place }, whole);
        x += call.weight as f64 * place.scale;
    }
}

fn hex(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate::profile::path::Component;

    #[test]
    fn callers_stand_below_and_names_are_text() {
        let call = Frame {
            name: "Vec<T>::push".into(),
            component: Some(Component::UserCode),
            weight: 3,
            calls: Vec::new(),
        };
        let root = Frame { name: "all".into(), component: None, weight: 4, calls: vec![call] };
        let svg = svg(&root);
        assert!(svg.contains("Vec&lt;T&gt;::push: 75.0 % user code"), "{svg}");
        assert!(svg.contains("height=\"36\""), "{svg}");
        assert_eq!(svg.matches("<rect").count(), 2);
        assert_eq!(super::svg(&Frame::default()).matches("<rect").count(), 0);
    }
}
