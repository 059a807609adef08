//! When packets came, in tcpdump's formats (`-t` to `-ttttt`).

use jiff::tz::TimeZone;
use linerate_base::Timestamp;

/// How the time of a packet is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeStyle {
    /// `13:37:00.123456`, local.
    #[default]
    TimeOfDay,
    /// Not at all (`-t`).
    None,
    /// `1700000000.123456`, seconds since 1970 (`-tt`).
    Epoch,
    /// ` 00:00:00.000012`, since the line before (`-ttt`).
    SincePrevious,
    /// `2023-11-14 13:37:00.123456`, local (`-tttt`).
    DateTime,
    /// ` 00:00:01.000012`, since the first line (`-ttttt`).
    SinceFirst,
}

/// The finest part of a second that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Six digits, cut off and not rounded.
    #[default]
    Microseconds,
    /// Nine digits.
    Nanoseconds,
}

/// Writes the times of packets. It reads no clock: every time comes from a packet.
#[derive(Clone, Debug)]
pub struct Clock {
    style: TimeStyle,
    precision: Precision,
    zone: TimeZone,
    /// What the styles that count from another packet count from.
    base: Option<Timestamp>,
    /// The second that `text` shows: packets come many to the second.
    second: Option<i64>,
    text: String,
}

impl Clock {
    /// A clock that shows local times as in `zone`.
    pub fn new(style: TimeStyle, precision: Precision, zone: TimeZone) -> Self {
        Self { style, precision, zone, base: None, second: None, text: String::new() }
    }

    /// Appends `time` and a space to `out`, or nothing for [`TimeStyle::None`].
    pub fn write(&mut self, time: Timestamp, out: &mut String) {
        let shown = match self.style {
            TimeStyle::None => return,
            TimeStyle::TimeOfDay | TimeStyle::DateTime | TimeStyle::Epoch => time,
            TimeStyle::SincePrevious => since(self.base.replace(time), time, out),
            TimeStyle::SinceFirst => since(Some(*self.base.get_or_insert(time)), time, out),
        };
        if self.second != Some(shown.seconds()) {
            self.second = Some(shown.seconds());
            self.text = self.whole_seconds(shown);
        }
        out.push_str(&self.text);
        self.fraction(shown.subsec_nanos(), out);
        out.push(' ');
    }

    fn whole_seconds(&self, time: Timestamp) -> String {
        match self.style {
            TimeStyle::TimeOfDay => self.local(time, "%H:%M:%S"),
            TimeStyle::DateTime => self.local(time, "%Y-%m-%d %H:%M:%S"),
            TimeStyle::Epoch => time.seconds().to_string(),
            _ => hours(time.seconds()),
        }
    }

    fn local(&self, time: Timestamp, format: &str) -> String {
        // Every time that a Timestamp can hold lies within jiff's years.
        let time = jiff::Timestamp::from_second(time.seconds()).unwrap_or_default();
        self.zone.to_datetime(time).strftime(format).to_string()
    }

    fn fraction(&self, nanos: u32, out: &mut String) {
        let digits = match self.precision {
            Precision::Microseconds => 6,
            Precision::Nanoseconds => 9,
        };
        out.push('.');
        let mut place = 100_000_000;
        for _ in 0..digits {
            out.push((b'0' + (nanos / place % 10) as u8).into());
            place /= 10;
        }
    }
}

/// The span from `base` to `time` as a time after the epoch; its sign is written.
fn since(base: Option<Timestamp>, time: Timestamp, out: &mut String) -> Timestamp {
    let span = base.map_or(0, |base| time.nanos_since(base));
    out.push(if span < 0 { '-' } else { ' ' });
    Timestamp::from_nanos(span.saturating_abs())
}

/// Hours count on past a day, where tcpdump's begin anew.
fn hours(seconds: i64) -> String {
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(style: TimeStyle, precision: Precision, times: &[i64]) -> Vec<String> {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let mut clock = Clock::new(style, precision, zone);
        let show = |&nanos| {
            let mut out = String::new();
            clock.write(Timestamp::from_nanos(nanos), &mut out);
            out
        };
        times.iter().map(show).collect()
    }

    const T: i64 = 1_000_000_000_000_005_999;

    #[test]
    fn local_times_are_in_the_zone() {
        assert_eq!(
            write(TimeStyle::TimeOfDay, Precision::Microseconds, &[T]),
            ["03:46:40.000005 "]
        );
        assert_eq!(
            write(TimeStyle::DateTime, Precision::Nanoseconds, &[T, T + 1]),
            ["2001-09-09 03:46:40.000005999 ", "2001-09-09 03:46:40.000006000 "]
        );
    }

    #[test]
    fn epoch_times_and_no_times() {
        let micros = Precision::Microseconds;
        assert_eq!(write(TimeStyle::Epoch, micros, &[T]), ["1000000000.000005 "]);
        assert_eq!(write(TimeStyle::None, micros, &[T]), [""]);
    }

    #[test]
    fn spans_have_a_sign() {
        let times = [T, T + 1_500_000_000, T + 500_000_000];
        assert_eq!(
            write(TimeStyle::SincePrevious, Precision::Microseconds, &times),
            [" 00:00:00.000000 ", " 00:00:01.500000 ", "-00:00:01.000000 "]
        );
        assert_eq!(
            write(TimeStyle::SinceFirst, Precision::Microseconds, &times),
            [" 00:00:00.000000 ", " 00:00:01.500000 ", " 00:00:00.500000 "]
        );
    }

    #[test]
    fn the_ends_of_time_are_shown() {
        for style in [TimeStyle::TimeOfDay, TimeStyle::DateTime, TimeStyle::SincePrevious] {
            write(style, Precision::Nanoseconds, &[i64::MIN, i64::MAX, i64::MIN]);
        }
    }
}
