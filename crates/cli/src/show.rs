//! The consumer that prints packets: a line each, with a dump if asked for, or a JSON object each.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use jiff::tz::TimeZone;
use linerate::base::{Batch, Packet, Timestamp};
use linerate::wire::{
    Clock, Format, Hexdump, Layer, Options, Paint, Precision, Summary, TimeStyle, layers,
};
use serde::Serialize;

use crate::args::PrintArgs;
use crate::names::Known;
use crate::output::{self, Output};
use crate::pump::Consumer;

/// Prints packets on standard output.
pub(crate) struct Printer {
    lines: Box<dyn Lines>,
    output: Output,
    text: String,
    number: u64,
}

/// A way to write a packet as text.
trait Lines: Send {
    /// Appends the packet's line or lines.
    fn write(&mut self, number: u64, packet: &Packet<'_>, out: &mut String);
}

impl Printer {
    /// A printer of what the flags ask for, of packets that come by now (`live`) or came once.
    pub(crate) fn new(args: &PrintArgs, live: bool) -> Self {
        let lines: Box<dyn Lines> =
            if args.json { Box::new(Json) } else { Box::new(Text::new(args, live)) };
        let output = Output::stdout(args.line_buffered);
        Self { lines, output, text: String::new(), number: 0 }
    }
}

impl Consumer for Printer {
    fn batch(&mut self, batch: &Batch<'_>) -> Result<()> {
        self.text.clear();
        for packet in batch.iter() {
            self.number += 1;
            self.lines.write(self.number, &packet, &mut self.text);
            self.text.push('\n');
        }
        self.output.lines(&self.text)
    }

    fn idle(&mut self) -> Result<()> {
        self.output.flush()
    }
}

/// A line for people, with a dump behind it if asked for.
struct Text {
    summary: Summary,
    clock: Clock,
    dump: Option<Hexdump>,
    numbered: bool,
}

impl Text {
    fn new(args: &PrintArgs, live: bool) -> Self {
        let options = Options {
            verbosity: args.verbose,
            link_header: args.link_header,
            quick: args.quick,
            absolute_sequence: args.absolute_sequence,
            paint: if output::is_colored() { colors() } else { Paint::default() },
        };
        let summary = Summary::with_names(options, Box::new(Known::new(args.names, live)));
        let clock = Clock::new(time_style(args.time), precision(args.nano), TimeZone::system());
        Self { summary, clock, dump: dump(args), numbered: args.number }
    }
}

impl Lines for Text {
    fn write(&mut self, number: u64, packet: &Packet<'_>, out: &mut String) {
        if self.numbered {
            let _ = write!(out, "{number:5}  ");
        }
        self.clock.write(packet.time, out);
        self.summary.write(packet, out);
        if let Some(dump) = self.dump {
            dump.write(packet, out);
        }
    }
}

fn time_style(count: u8) -> TimeStyle {
    match count {
        0 => TimeStyle::TimeOfDay,
        1 => TimeStyle::None,
        2 => TimeStyle::Epoch,
        3 => TimeStyle::SincePrevious,
        4 => TimeStyle::DateTime,
        _ => TimeStyle::SinceFirst,
    }
}

fn precision(nano: bool) -> Precision {
    if nano { Precision::Nanoseconds } else { Precision::Microseconds }
}

fn dump(args: &PrintArgs) -> Option<Hexdump> {
    let formats =
        [(args.hex, Format::Hex), (args.hex_ascii, Format::HexAscii), (args.ascii, Format::Ascii)];
    let asked = formats.into_iter().find(|(count, _)| *count > 0);
    asked.map(|(count, format)| Hexdump { format, link_header: count > 1 })
}

fn colors() -> Paint {
    let color = |color: AnsiColor| Style::new().fg_color(Some(color.into())).render().to_string();
    Paint {
        address: color(AnsiColor::Cyan),
        port: color(AnsiColor::Yellow),
        protocol: Style::new().bold().render().to_string(),
        flags: color(AnsiColor::Green),
        error: color(AnsiColor::Red),
        reset: anstyle::Reset.render().to_string(),
    }
}

/// One JSON object per packet.
struct Json;

#[derive(Serialize)]
struct Record<'a> {
    number: u64,
    /// RFC 3339, UTC, nanoseconds.
    time: String,
    length: u32,
    captured: usize,
    layers: Vec<Layer<'a>>,
}

impl Lines for Json {
    fn write(&mut self, number: u64, packet: &Packet<'_>, out: &mut String) {
        let record = Record {
            number,
            time: rfc3339(packet.time),
            length: packet.length,
            captured: packet.data.len(),
            layers: layers(packet),
        };
        push_escaped(&serde_json::to_string(&record).expect("layers have text keys only"), out);
    }
}

/// Appends JSON with the characters escaped that JSON allows and a terminal acts upon: packets must not
/// steer the terminal of those who look at them.
fn push_escaped(json: &str, out: &mut String) {
    if json.bytes().all(|byte| byte < 0x7f) {
        out.push_str(json);
        return;
    }
    for c in json.chars() {
        if is_harmless(c) {
            out.push(c);
        } else {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        }
    }
}

/// False for DEL and the C1 controls, and for those that change the direction of writing.
fn is_harmless(c: char) -> bool {
    !matches!(c, '\u{7f}'..='\u{9f}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn rfc3339(time: Timestamp) -> String {
    let time = jiff::Timestamp::from_nanosecond(time.nanos().into());
    time.map_or(String::new(), |time| format!("{time:.9}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_does_not_steer_the_terminal() {
        let mut out = String::new();
        push_escaped("\"a\u{9b}31m\u{7f}\u{202e}\u{e4}\"", &mut out);
        assert_eq!(out, "\"a\\u009b31m\\u007f\\u202e\u{e4}\"");
    }

    #[test]
    fn json_times_have_nanoseconds_and_are_in_utc() {
        let time = Timestamp::from_parts(1_700_000_000, 5);
        assert_eq!(rfc3339(time), "2023-11-14T22:13:20.000000005Z");
    }
}
