//! Who stamps packets.

use std::fmt;
use std::str::FromStr;

/// Where the times of captured packets come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TimestampSource {
    /// The kernel's clock, read for each packet when it arrives.
    #[default]
    Kernel,
    /// The kernel's clock, read for some packets only: those in between get the time of the last one
    /// before them that was stamped.
    Sampled,
    /// The network card's clock.
    Hardware,
    /// The cycle counter of the processor that takes packets out of the buffer, read once a batch.
    Tsc,
}

impl TimestampSource {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Kernel, Self::Sampled, Self::Hardware, Self::Tsc];

    /// Its name on the command line and in savefiles.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Sampled => "sampled",
            Self::Hardware => "hardware",
            Self::Tsc => "tsc",
        }
    }
}

impl fmt::Display for TimestampSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TimestampSource {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|source| source.name() == name);
        let names = || Self::ALL.map(Self::name).join(", ");
        found.ok_or_else(|| format!("no timestamps are called {name:?}: there are {}", names()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for source in TimestampSource::ALL {
            assert_eq!(source.name().parse(), Ok(source));
        }
        let error = "rdtsc".parse::<TimestampSource>().unwrap_err();
        assert!(error.contains("kernel, sampled, hardware, tsc"), "{error}");
    }
}
