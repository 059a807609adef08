//! From the times in records to the times of packets.

use linerate_base::{Result, Timestamp, TimestampSource};
use linerate_sys::clock::{CycleClock, Distance};

use super::program::{BY_KERNEL, Stamps};
use super::walk::Record;

/// The clock that stamps packets.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clock {
    /// The kernel's, which counts from the machine's start: the program reads it.
    Kernel(Distance),
    /// The same, which the program reads now and then: of several rings, packets that come later may
    /// have earlier times. So there is the latest time that was told, too.
    Sampled(Distance, u64),
    /// The network card's; the kernel's for packets that it does not stamp.
    Card(Distance),
    /// The processor's, read when a batch is taken, for all packets in it.
    Cycles(CycleClock),
}

/// What makes times of the packets of one batch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Epoch {
    /// Records tell the time since this one.
    Since(i64),
    /// Records tell the time, but those that the kernel stamped the time since this one.
    Card(i64),
    /// It is this time for all.
    Fixed(Timestamp),
}

impl Clock {
    /// The clock for times from `source`.
    ///
    /// # Errors
    /// Where the processor has no clock.
    pub(crate) fn of(source: TimestampSource) -> Result<Self> {
        match source {
            TimestampSource::Tsc => Ok(Self::Cycles(CycleClock::realtime()?)),
            TimestampSource::Hardware => Ok(Self::Card(Distance::of_realtime())),
            TimestampSource::Kernel => Ok(Self::Kernel(Distance::of_realtime())),
            TimestampSource::Sampled => Ok(Self::Sampled(Distance::of_realtime(), 0)),
        }
    }

    /// For a batch that is taken now.
    pub(crate) fn epoch(&mut self) -> Epoch {
        match self {
            Self::Kernel(distance) | Self::Sampled(distance, _) => {
                distance.update();
                Epoch::Since(distance.nanos())
            }
            Self::Card(distance) => {
                distance.update();
                Epoch::Card(distance.nanos())
            }
            Self::Cycles(clock) => Epoch::Fixed(Timestamp::from_nanos(clock.now())),
        }
    }

    /// True where records tell times by which they can be put in order.
    pub(crate) fn orders(&self) -> bool {
        matches!(self, Self::Kernel(_) | Self::Sampled(..))
    }

    /// What to take for the time of a record that says `recorded`. A sampled one is the packet's or earlier: a
    /// packet that comes after another was received no earlier, and so the other's time is nearer to the truth.
    #[inline]
    pub(crate) fn settle(&mut self, recorded: u64) -> u64 {
        let Self::Sampled(_, latest) = self else { return recorded };
        *latest = recorded.max(*latest);
        *latest
    }
}

impl Epoch {
    /// True for a record that the network card was to stamp and did not.
    #[inline]
    pub(crate) fn lacks(self, record: &Record) -> bool {
        matches!(self, Self::Card(_)) && record.flags & BY_KERNEL != 0
    }

    /// The time of a record.
    #[inline]
    pub(crate) fn time(self, record: &Record) -> Timestamp {
        let recorded = record.time.cast_signed();
        match self {
            Self::Since(nanos) => Timestamp::from_nanos(nanos.wrapping_add(recorded)),
            Self::Card(nanos) if self.lacks(record) => {
                Timestamp::from_nanos(nanos.wrapping_add(recorded))
            }
            Self::Card(_) => Timestamp::from_nanos(recorded),
            Self::Fixed(time) => time,
        }
    }
}

/// What the program does for times from `source`.
pub(crate) fn stamps(source: TimestampSource) -> Stamps {
    match source {
        TimestampSource::Kernel => Stamps::Each,
        TimestampSource::Sampled => Stamps::Sampled,
        TimestampSource::Hardware => Stamps::Card,
        TimestampSource::Tsc => Stamps::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampled_times_do_not_step_back_and_others_stay_as_they_are() {
        let times = [5, 9, 7, 9, 12, 11];
        for (source, expected) in [
            (TimestampSource::Sampled, [5, 9, 9, 9, 12, 12]),
            (TimestampSource::Kernel, times),
            (TimestampSource::Hardware, times),
        ] {
            let mut clock = Clock::of(source).unwrap();
            assert_eq!(times.map(|time| clock.settle(time)), expected, "{source}");
        }
    }
}
