//! What the kernel writes into the ring.

/// One entry of the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// What a processor was doing.
    Sample(Sample),
    /// So many samples found the ring full.
    Lost(u64),
}

/// What a processor was doing when it was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The process whose turn it was, by the caller's PID namespace; 0 for none.
    pub process: u32,
    /// Its thread.
    pub thread: u32,
    /// The processor.
    pub cpu: u32,
    /// How much it stands for: nanoseconds by the timer, cycles by the counter.
    pub period: u64,
    /// Addresses in the kernel, where it was first; empty in user mode.
    pub kernel: Vec<u64>,
    /// Addresses in the process, where it was first.
    pub user: Vec<u64>,
}

/// `enum perf_event_type`.
const LOST: u32 = 2;
const SAMPLE: u32 = 9;
const LOST_SAMPLES: u32 = 13;

/// `enum perf_callchain_context`: marks among the addresses of a stack that say whose follow.
const CONTEXT_KERNEL: u64 = -128i64 as u64;
const CONTEXT_USER: u64 = -512i64 as u64;
const CONTEXT_MAX: u64 = -4095i64 as u64;

/// The records in `bytes`, which begin with a header; kinds that nobody asked for are passed over. Ends where a
/// record is cut off.
pub(super) fn records(bytes: &[u8]) -> impl Iterator<Item = Record> + '_ {
    let mut rest = bytes;
    std::iter::from_fn(move || next(&mut rest)).flatten()
}

/// `struct perf_event_header`: kind (32 bits), flags (16), length with the header (16).
const HEADER: usize = 8;

fn next(rest: &mut &[u8]) -> Option<Option<Record>> {
    let length = usize::from(u16::from_ne_bytes(*rest.get(6..)?.first_chunk()?));
    let kind = u32::from_ne_bytes(*rest.first_chunk()?);
    let body = rest.get(HEADER..length)?;
    *rest = &rest[length..];
    Some(match kind {
        SAMPLE => sample(body).map(Record::Sample),
        // After the event's number, or by itself.
        LOST => words(body).nth(1).map(Record::Lost),
        LOST_SAMPLES => words(body).next().map(Record::Lost),
        _ => None,
    })
}

/// In the order of the bits of `sample_type`: thread, processor, period, stack.
fn sample(body: &[u8]) -> Option<Sample> {
    let half = |at: usize| body.get(at..)?.first_chunk().map(|half| u32::from_ne_bytes(*half));
    let mut words = words(body).skip(2);
    let (period, frames) = (words.next()?, words.next()?);
    let mut sample =
        Sample { process: half(0)?, thread: half(4)?, cpu: half(8)?, period, ..Sample::default() };
    let mut context = 0;
    for address in words.take(usize::try_from(frames).ok()?) {
        match (address, context) {
            (CONTEXT_MAX.., _) => context = address,
            (_, CONTEXT_KERNEL) => sample.kernel.push(address),
            (_, CONTEXT_USER) => sample.user.push(address),
            _ => {}
        }
    }
    Some(sample)
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn record(kind: u32, words: &[u64]) -> Vec<u8> {
        let length = (HEADER + 8 * words.len()) as u16;
        let head = [&kind.to_ne_bytes()[..], &[0, 0], &length.to_ne_bytes()].concat();
        [head, words.iter().flat_map(|word| word.to_ne_bytes()).collect()].concat()
    }

    fn pair(low: u32, high: u32) -> u64 {
        u64::from_ne_bytes([low.to_ne_bytes(), high.to_ne_bytes()].concat().try_into().unwrap())
    }

    #[test]
    fn stacks_are_told_apart_and_losses_are_counted() {
        let stack = [5, CONTEXT_KERNEL, 11, 12, CONTEXT_USER, 21];
        let body = [&[pair(7, 8), pair(1, 0), 1000], &stack[..]].concat();
        let ring = [
            record(LOST, &[99, 3]),
            record(5, &[1, 2]),
            record(SAMPLE, &body),
            record(LOST_SAMPLES, &[4]),
        ];
        let expected = Sample {
            process: 7,
            thread: 8,
            cpu: 1,
            period: 1000,
            kernel: vec![11, 12],
            user: vec![21],
        };
        let found: Vec<_> = records(&ring.concat()).collect();
        assert_eq!(found, [Record::Lost(3), Record::Sample(expected), Record::Lost(4)]);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_go_on_for_ever(bytes in vec(any::<u8>(), 0..300), kind in 0u32..14) {
            prop_assert!(records(&bytes).count() <= bytes.len() / HEADER);
            let words: Vec<_> = bytes.as_chunks().0.iter().map(|w| u64::from_ne_bytes(*w)).collect();
            prop_assert!(records(&record(kind, &words)).count() <= 1);
        }
    }
}
