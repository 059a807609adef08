//! A share of the packets.

use std::ptr;

use linerate::base::Timestamp;

use crate::abi::Samples;
use crate::entry::entry;
use crate::handle::{self, Handle};

/// Which packets to deliver, and those before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sampling {
    /// What the program asks for. It may change that at any time.
    asked: Samples,
    /// Packets that were left out since the last one.
    left_out: i32,
    /// When the last one came.
    last: Option<Timestamp>,
}

/// `PCAP_SAMP_1_EVERY_N` and `PCAP_SAMP_FIRST_AFTER_N_MS` of WinPcap.
const EVERY: i32 = 1;
const FIRST_AFTER: i32 = 2;

const NANOS_PER_MILLI: i64 = 1_000_000;

impl Sampling {
    /// Whether a packet of this time, which the filter keeps, is delivered.
    pub(crate) fn admits(&mut self, time: Timestamp) -> bool {
        let Samples { method, value } = self.asked;
        let is_wanted = match method {
            EVERY => self.left_out >= value.saturating_sub(1),
            FIRST_AFTER => self
                .last
                .is_none_or(|last| time.nanos_since(last) >= i64::from(value) * NANOS_PER_MILLI),
            _ => true,
        };
        if is_wanted {
            (self.left_out, self.last) = (0, Some(time));
        } else {
            self.left_out = self.left_out.saturating_add(1);
        }
        is_wanted
    }
}

entry! {
    /// What says which packets to deliver of those that the filter keeps, for the caller to change; null for null.
    fn pcap_setsampling(handle: *mut Handle) -> *mut Samples, ptr::null_mut() => {
        handle::inner(handle).map_or(ptr::null_mut(), |inner| &raw mut inner.sampling.asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(method: i32, value: i32) -> Vec<i64> {
        let mut sampling = Sampling { asked: Samples { method, value }, ..Sampling::default() };
        let times = (0..10).filter(|time| sampling.admits(Timestamp::from_nanos(time * 400_000)));
        times.collect()
    }

    #[test]
    fn each_method_leaves_out_its_share() {
        assert_eq!(admitted(0, 3).len(), 10);
        assert_eq!(admitted(EVERY, 3), [2, 5, 8]);
        assert_eq!(admitted(FIRST_AFTER, 1), [0, 3, 6, 9]);
        assert_eq!(admitted(EVERY, 0).len(), 10);
        assert_eq!(admitted(EVERY, i32::MIN).len(), 10);
    }
}
