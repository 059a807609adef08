//! From the times in records to the times of packets.

use linerate_base::Timestamp;
use linerate_sys::clock::Distance;

/// The clock that stamped the records.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clock {
    /// The kernel's, which counts from the machine's start.
    Kernel(Distance),
}

/// What the records' times of one batch count from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epoch {
    nanos: i64,
}

impl Clock {
    /// The kernel's.
    pub(crate) fn kernel() -> Self {
        Self::Kernel(Distance::of_realtime())
    }

    /// For a batch that is made now.
    pub(crate) fn epoch(&mut self) -> Epoch {
        match self {
            Self::Kernel(distance) => {
                distance.update();
                Epoch { nanos: distance.nanos() }
            }
        }
    }
}

impl Epoch {
    /// The time of a record.
    #[inline]
    pub(crate) fn time(self, recorded: u64) -> Timestamp {
        Timestamp::from_nanos(self.nanos.wrapping_add(recorded.cast_signed()))
    }
}
