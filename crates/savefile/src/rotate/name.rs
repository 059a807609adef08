//! When the next file begins, and what it is called.

use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use linerate_base::{Error, ErrorKind, Result, Timestamp};

/// How a capture is spread over files. With no limit set, it is one file with the name given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// The name of the first file, or the strftime pattern of all names where there is a period.
    pub name: String,
    /// The most bytes of a file, counted before compression. Only a file whose first packet, with the
    /// headers before it, needs more is larger.
    pub max_bytes: Option<u64>,
    /// Seconds for which a file takes packets.
    pub period: Option<u32>,
    /// Files in the ring, or files until the end.
    pub files: Option<u32>,
}

impl Rotation {
    /// An error where the limits make no sense.
    pub(super) fn check(&self) -> Result<()> {
        let refuse = |answer: &str| {
            let asked = format!("rotate savefiles named '{}'", self.name);
            Err(Error::new(ErrorKind::Invalid, asked, answer))
        };
        if self.period == Some(0) {
            return refuse("the period is 0, expected at least 1 second");
        }
        if self.files == Some(0) {
            return refuse("the count of files is 0, expected at least 1");
        }
        if self.files.is_some() && self.period.is_none() && self.max_bytes.is_none() {
            return refuse("a count of files needs a size or a period");
        }
        if self.period.is_some() && !says_time(&self.name) && !self.ends_after(1) {
            return refuse(
                "with a period, names need a part of the date or time such as %Y%m%d-%H%M%S",
            );
        }
        // A pattern that cannot be filled in is told before any packet comes.
        self.file_name(Timestamp::EPOCH, 0, &TimeZone::UTC).map(|_| ())
    }

    /// True when a file must not have `size` bytes.
    #[inline]
    pub(super) fn exceeded_by(&self, size: u64) -> bool {
        self.max_bytes.is_some_and(|max| size > max)
    }

    /// The number after `index`: files of a ring are reused.
    pub(super) fn next_index(&self, index: u32) -> u32 {
        match self.files {
            Some(files) if index + 1 >= files => 0,
            _ => index + 1,
        }
    }

    /// True when the capture ends with the last of `periods` begun.
    pub(super) fn ends_after(&self, periods: u32) -> bool {
        self.max_bytes.is_none() && self.files.is_some_and(|files| periods >= files)
    }

    /// The name of file `index` of the period that began at `start`.
    pub(super) fn file_name(
        &self,
        start: Timestamp,
        index: u32,
        zone: &TimeZone,
    ) -> Result<String> {
        let stem = match self.period {
            Some(_) => expand(&self.name, start, zone)?,
            None => self.name.clone(),
        };
        let digits = self.digits();
        Ok(match (index, digits) {
            (0, 0) => stem,
            _ => format!("{stem}{index:0digits$}"),
        })
    }

    /// Digits of a ring's numbers; 0 outside of a ring.
    fn digits(&self) -> usize {
        let ring = self.max_bytes.and(self.files).unwrap_or(1);
        (ring - 1).checked_ilog10().map_or(0, |log| log as usize + 1)
    }
}

/// True when `pattern` has a conversion other than `%%`.
fn says_time(pattern: &str) -> bool {
    pattern.replace("%%", "").contains('%')
}

/// `pattern` filled in with the date and time of `time` in `zone`.
fn expand(pattern: &str, time: Timestamp, zone: &TimeZone) -> Result<String> {
    let expanded = jiff::Timestamp::from_nanosecond(time.nanos().into())
        .and_then(|time| strtime::format(pattern, &time.to_zoned(zone.clone())));
    expanded.map_err(|error| {
        let asked = format!("fill in the date and time in '{pattern}'");
        Error::new(ErrorKind::Invalid, asked, error.to_string())
            .advise("the conversions are those of strftime, such as %Y%m%d-%H%M%S")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(rotation: &Rotation, start: i64) -> Vec<String> {
        let start = Timestamp::from_parts(start, 0);
        let mut index = 0;
        let name = |index| rotation.file_name(start, index, &TimeZone::UTC).unwrap();
        (0..4).map(|_| (name(index), index = rotation.next_index(index)).0).collect()
    }

    fn rotation(name: &str) -> Rotation {
        Rotation { name: name.to_owned(), ..Rotation::default() }
    }

    #[test]
    fn by_size_the_files_after_the_first_are_numbered() {
        let rotation = Rotation { max_bytes: Some(1), ..rotation("f") };
        assert_eq!(names(&rotation, 0), ["f", "f1", "f2", "f3"]);
    }

    #[test]
    fn a_ring_numbers_all_files_with_leading_zeros_and_starts_again() {
        let ring = Rotation { max_bytes: Some(1), files: Some(3), ..rotation("f") };
        assert_eq!(names(&ring, 0), ["f0", "f1", "f2", "f0"]);
        let wide = Rotation { files: Some(11), ..ring.clone() };
        assert_eq!(names(&wide, 0), ["f00", "f01", "f02", "f03"]);
        let ten = Rotation { files: Some(10), ..ring.clone() };
        assert_eq!(names(&ten, 0)[1], "f1");
        let one = Rotation { files: Some(1), ..ring };
        assert_eq!(names(&one, 0), ["f", "f", "f", "f"]);
    }

    #[test]
    fn by_period_the_name_is_filled_in() {
        let rotation = Rotation { period: Some(60), ..rotation("%Y-%m-%d_%H:%M:%S%%.pcap") };
        assert_eq!(names(&rotation, 86_399)[0], "1970-01-01_23:59:59%.pcap");
        let both = Rotation { max_bytes: Some(1), ..rotation };
        assert_eq!(names(&both, 0)[2], "1970-01-01_00:00:00%.pcap2");
    }

    #[test]
    fn without_a_period_a_percent_sign_is_a_percent_sign() {
        assert_eq!(names(&rotation("100%d"), 0)[0], "100%d");
    }

    #[test]
    fn the_time_is_that_of_the_zone() {
        let rotation = Rotation { period: Some(60), ..rotation("%H") };
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(rotation.file_name(Timestamp::EPOCH, 0, &zone).unwrap(), "02");
    }

    #[test]
    fn senseless_limits_and_patterns_are_refused() {
        for refused in [
            Rotation { period: Some(0), ..rotation("f") },
            Rotation { max_bytes: Some(1), files: Some(0), ..rotation("f") },
            Rotation { files: Some(2), ..rotation("f") },
            Rotation { period: Some(1), ..rotation("%!") },
            Rotation { period: Some(1), ..rotation("f") },
            Rotation { period: Some(1), files: Some(2), ..rotation("100%%") },
            Rotation { period: Some(1), max_bytes: Some(1), ..rotation("f") },
            Rotation { period: Some(1), max_bytes: Some(1), files: Some(1), ..rotation("f") },
        ] {
            assert_eq!(refused.check().unwrap_err().kind(), ErrorKind::Invalid);
        }
    }

    #[test]
    fn one_file_of_one_period_needs_no_time_in_its_name() {
        let one = Rotation { period: Some(60), files: Some(1), ..rotation("f") };
        one.check().unwrap();
    }
}
