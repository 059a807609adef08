//! Sizes and durations as people write them on a command line.

use std::time::Duration;

use linerate::capture::MAX_SNAPLEN;

/// Parses `64k`, `10M`, `2G` (powers of 1024) or a plain number, which counts in `unit` bytes.
///
/// # Errors
/// When the text is not a number with at most one of these suffixes, or exceeds 64 bits.
pub(crate) fn size(text: &str, unit: u64) -> Result<u64, String> {
    let (number, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, unit),
    };
    let count: u64 = number
        .parse()
        .map_err(|_| format!("expected a size such as 512k, 64M or 2G, found `{text}`"))?;
    count.checked_mul(factor).ok_or_else(|| format!("`{text}` is beyond 64 bits"))
}

/// A size in bytes.
///
/// # Errors
/// As [`size`].
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    size(text, 1)
}

/// A number above 0, of packets and the like: `500`, `10k`, `2M`, `1G`, by powers of 1000.
///
/// # Errors
/// When the text is no whole number with at most one of these suffixes, is 0, or exceeds 64 bits.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let (number, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'M')) => (&text[..at], 1_000_000),
        Some((at, 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| format!("expected a number such as 500, 10k or 2M, found `{text}`"))?;
    match number.checked_mul(factor) {
        Some(0) => Err(format!("expected more than 0, found `{text}`")),
        Some(count) => Ok(count),
        None => Err(format!("`{text}` is beyond 64 bits")),
    }
}

/// The same, of what is counted by 32 bits.
///
/// # Errors
/// As [`count`], beyond 32 bits.
pub(crate) fn count_u32(text: &str) -> Result<u32, String> {
    u32::try_from(count(text)?).map_err(|_| format!("`{text}` is beyond 32 bits"))
}

/// How many threads to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// As many as can be of use.
    Auto,
    /// So many.
    Count(usize),
}

/// A number of threads, or `auto`, which 0 also stands for.
///
/// # Errors
/// When the text is neither, or a number beyond what fanout groups can have
/// (`PACKET_FANOUT_MAX`, net/packet/internal.h, Linux 6.18).
pub(crate) fn threads(text: &str) -> Result<Threads, String> {
    match text.parse() {
        Ok(0) => Ok(Threads::Auto),
        Ok(count @ 1..=256) => Ok(Threads::Count(count)),
        Ok(count) => Err(format!("{count} threads are more than 256")),
        Err(_) if text == "auto" => Ok(Threads::Auto),
        Err(_) => Err(format!("expected a number of threads or `auto`, found `{text}`")),
    }
}

/// A snaplen in bytes, of which 0 means all of a packet.
///
/// # Errors
/// As [`size`], and beyond [`MAX_SNAPLEN`].
pub(crate) fn snaplen(text: &str) -> Result<u32, String> {
    match u32::try_from(bytes(text)?) {
        Ok(0) => Ok(MAX_SNAPLEN),
        Ok(snaplen @ ..=MAX_SNAPLEN) => Ok(snaplen),
        _ => Err(format!("{MAX_SNAPLEN} bytes are the most that is kept of a packet")),
    }
}

/// A size whose plain number counts KiB, as tcpdump's `-B` does.
///
/// # Errors
/// As [`size`].
pub(crate) fn kibibytes(text: &str) -> Result<u64, String> {
    size(text, 1 << 10)
}

/// A size whose plain number counts millions of bytes, as tcpdump's `-C` does.
///
/// # Errors
/// As [`size`], and for zero.
pub(crate) fn megabytes(text: &str) -> Result<u64, String> {
    match size(text, 1_000_000)? {
        0 => Err("a file of no bytes holds no packet".into()),
        size => Ok(size),
    }
}

/// Parses `250ms`, `10s`, `5m`, `2h`, or a plain number of seconds with an optional fraction.
///
/// # Errors
/// When the text is none of these, negative, or beyond what a clock holds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let (number, scale) = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0)]
        .iter()
        .find_map(|(suffix, scale)| Some((text.strip_suffix(suffix)?, *scale)))
        .unwrap_or((text, 1.0));
    let seconds: f64 = number
        .parse()
        .map_err(|_| format!("expected a time such as 250ms, 10s or 5m, found `{text}`"))?;
    Duration::try_from_secs_f64(seconds * scale).map_err(|e| format!("`{text}`: {e}"))
}

/// A duration of more than nothing.
///
/// # Errors
/// As [`duration`], and for 0.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err(format!("expected more than 0, found `{text}`")),
        span => Ok(span),
    }
}

/// A duration between two readings: not less than a hundredth of a second.
///
/// # Errors
/// As [`duration`], and for less.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let span = duration(text)?;
    let long = span >= Duration::from_millis(10);
    long.then_some(span).ok_or_else(|| format!("expected at least 10ms, found `{text}`"))
}

/// A duration of whole seconds, at least one.
///
/// # Errors
/// As [`duration`], and for zero and fractions of seconds.
pub(crate) fn seconds(text: &str) -> Result<u32, String> {
    let span = duration(text)?;
    let whole = u32::try_from(span.as_secs()).ok().filter(|s| *s > 0 && span.subsec_nanos() == 0);
    whole.ok_or_else(|| format!("expected whole seconds, at least 1, found `{text}`"))
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// So many packets.
pub(crate) fn packets(count: u64) -> String {
    counted(count, "packets")
}

/// So many of what is called `many` where there is not one of it: `1 query`, `2,000 queries`.
pub(crate) fn counted(count: u64, many: &str) -> String {
    let one = match many.strip_suffix("ies") {
        Some(stem) if count == 1 => format!("{stem}y"),
        None if count == 1 => many.strip_suffix('s').unwrap_or(many).to_owned(),
        _ => return format!("{} {many}", grouped(count)),
    };
    format!("1 {one}")
}

/// So many seconds, in the unit that suits them, roughly.
pub(crate) fn roughly(seconds: f64) -> String {
    let units = [(2.0 * 86_400.0, 86_400.0, "d"), (2.0 * 3_600.0, 3_600.0, "h")];
    match units.into_iter().find(|(from, ..)| seconds >= *from) {
        Some((_, unit, name)) => format!("{:.1} {name}", seconds / unit),
        None if seconds >= 120.0 => format!("{:.0} min", seconds / 60.0),
        None => format!("{:.0} s", seconds.ceil()),
    }
}

/// So many bytes, in the unit that suits them.
pub(crate) fn volume(bytes: f64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.2} {name}", bytes / unit),
        None => format!("{bytes:.0} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_have_units_that_suit_them() {
        let texts = [0.0, 999.0, 1500.0, 2_345_678.0, 7.5e9].map(volume);
        assert_eq!(texts, ["0 bytes", "999 bytes", "1.50 kB", "2.35 MB", "7.50 GB"]);
    }

    #[test]
    fn times_are_told_roughly() {
        let texts = [0.0, 0.2, 119.0, 120.0, 7_199.0, 9_000.0, 400_000.0].map(roughly);
        assert_eq!(texts, ["0 s", "1 s", "119 s", "2 min", "120 min", "2.5 h", "4.6 d"]);
    }

    #[test]
    fn a_snaplen_has_bounds() {
        assert_eq!(
            [snaplen("0"), snaplen("256k"), snaplen("96")],
            [Ok(262_144), Ok(262_144), Ok(96)]
        );
        assert!(snaplen("300000").unwrap_err().contains("262144 bytes are the most"));
    }

    #[test]
    fn threads_are_a_number_or_automatic() {
        assert_eq!(threads("4"), Ok(Threads::Count(4)));
        assert_eq!(threads("auto"), Ok(Threads::Auto));
        assert_eq!(threads("0"), Ok(Threads::Auto));
        assert!(threads("257").is_err() && threads("-1").is_err() && threads("many").is_err());
    }

    #[test]
    fn sizes_take_suffixes_and_default_units() {
        assert_eq!(bytes("64k"), Ok(65_536));
        assert_eq!(kibibytes("2048"), Ok(2 << 20));
        assert_eq!(kibibytes("64M"), Ok(64 << 20));
        assert_eq!(megabytes("10"), Ok(10_000_000));
        assert!(megabytes("0").is_err());
        for bad in ["", "k", "-1", "1.5M", "99999999999G", "1kk"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn counts_are_above_zero_and_take_suffixes_by_thousands() {
        assert_eq!([count("7"), count("10k"), count("2M")], [Ok(7), Ok(10_000), Ok(2_000_000)]);
        assert_eq!(count("0"), Err("expected more than 0, found `0`".into()));
        assert_eq!((count_u32("4G").is_ok(), count_u32("5G").is_ok()), (true, false));
        for bad in ["", "k", "-1", "1.5M", "1kk", "99999999999G", "ten"] {
            assert!(count(bad).is_err(), "{bad}");
        }
        assert_eq!(span("0s"), Err("expected more than 0, found `0s`".into()));
        assert_eq!([packets(1), packets(2000)], ["1 packet", "2,000 packets"]);
        assert_eq!([counted(1, "queries"), counted(0, "queries")], ["1 query", "0 queries"]);
    }

    #[test]
    fn a_snaplen_of_zero_is_all() {
        assert_eq!((snaplen("0"), snaplen("1k")), (Ok(MAX_SNAPLEN), Ok(1024)));
        assert!(snaplen("4G").is_err());
    }

    #[test]
    fn durations_take_suffixes() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for bad in ["", "s", "-1s", "nan", "1e300h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn periods_are_whole_seconds() {
        assert_eq!(seconds("5m"), Ok(300));
        for bad in ["0", "1.5", "300ms", "2000000h"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn digits_are_grouped_in_threes() {
        assert_eq!([grouped(7), grouped(1000), grouped(1_234_567)], ["7", "1,000", "1,234,567"]);
    }
}
