//! What the fields of a command's rows hold: what they may be compared with, and the types of a file's columns.

use clap::ValueEnum;

/// What a field holds, where it holds anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Kind {
    /// True or false.
    Flag,
    /// A whole number.
    Number,
    /// Seconds since 1970, to the microsecond, as [`seconds`](super::seconds) writes them.
    Time,
    /// An address, with a port or without.
    Address,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any text.
    Text,
    /// Several texts.
    Texts,
}

/// A field of rows.
pub(in super::super) trait Field: ValueEnum + Copy {
    /// What it holds.
    fn kind(self) -> Kind;

    /// Its name.
    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
