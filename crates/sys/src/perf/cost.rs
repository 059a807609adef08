//! What a sample costs the one who is sampled.

use std::time::{Duration, Instant};

use linerate_base::Result;

use super::{Clock, Sampler, Stacks, Target};

/// How long the calling thread watches itself, and how often it is sampled meanwhile.
const WATCH: Duration = Duration::from_millis(25);
const FREQUENCY: u32 = 4000;

/// How long the calling thread stands still for one sample: the interrupt, and the walk over its stack.
///
/// The thread reads the clock all the time while it is sampled: the gaps between readings, as many of the longest
/// as there were samples, are the samples' cost, and their median that of one. It takes 25 ms.
///
/// # Errors
/// As [`Sampler::open`].
pub fn of_a_sample(clock: Clock, stacks: Stacks) -> Result<Duration> {
    let mut sampler = Sampler::open(clock, Target::Thread(0), FREQUENCY, stacks)?;
    sampler.start()?;
    let mut gaps = gaps();
    sampler.stop()?;
    let samples = sampler.take().count();
    gaps.sort_by(|a, b| b.cmp(a));
    Ok(gaps.get(samples / 2).copied().unwrap_or_default())
}

/// Those that are longer than a reading takes.
fn gaps() -> Vec<Duration> {
    const READING: Duration = Duration::from_nanos(200);
    let begun = Instant::now();
    let (mut last, mut gaps) = (begun, Vec::new());
    while last - begun < WATCH {
        let now = Instant::now();
        let gap = now - last;
        if gap > READING {
            gaps.push(gap);
        }
        last = now;
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_costs_something_and_not_much() {
        if let Ok(cost) = of_a_sample(Clock::Timer, Stacks::Both) {
            assert!(cost > Duration::ZERO && cost < Duration::from_millis(5), "{cost:?}");
        }
    }
}
