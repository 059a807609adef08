//! What a packet costs, by component.

use std::time::Duration;

use linerate_sys::clock::CycleClock;
use linerate_sys::perf::Clock;
use serde::{Deserialize, Serialize};

use crate::path::Component;
use crate::sampling::{Samples, Weights};

/// What packets cost, and how well that is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Seconds that were sampled.
    pub seconds: f64,
    /// Packets that came meanwhile.
    pub packets: u64,
    /// Samples of all processors.
    pub samples: u64,
    /// Samples that found no room.
    pub lost_samples: u64,
    /// What said when to sample: `cycles` of the processor, a `timer` of the kernel's, or `nothing`: without samples,
    /// times are those that the kernel accounts to the process that captures.
    pub sampled_by: String,
    /// Cycles of the time-stamp counter in a nanosecond, where it runs at one rate: the cycles below are these.
    pub cycles_per_nanosecond: Option<f64>,
    /// Each component, in the order of a packet's way.
    pub components: Vec<ComponentCost>,
    /// All components together, nanoseconds for each packet; `None` without packets.
    pub nanoseconds: Option<f64>,
    /// The part of it that is in some function that is known, 0 to 1.
    pub classified: f64,
    /// The part of all processors' time that sampling took, 0 to 1.
    pub overhead: f64,
    /// What could not be looked at, what is not told for that, and what would allow it.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// What a component costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComponentCost {
    /// Which.
    pub component: Component,
    /// Processor time in all, seconds.
    pub seconds: f64,
    /// Its part of all components, 0 to 1.
    pub share: f64,
    /// Nanoseconds for each packet; `None` without packets.
    pub nanoseconds: Option<f64>,
    /// Cycles for each packet; `None` also where the counter has no steady rate.
    pub cycles: Option<f64>,
}

impl Cost {
    /// Of so many packets that came in so many seconds, on so many processors.
    pub fn new(
        weights: &Weights,
        samples: &Samples,
        packets: u64,
        seconds: f64,
        cpus: usize,
    ) -> Self {
        let unit = samples.unit();
        let time =
            |component| weights.components.get(&component).copied().unwrap_or(0) as f64 * unit;
        let sampling = samples.each.as_secs_f64() * samples.samples as f64;
        let sampled_by = match samples.clock {
            Clock::Cycles => "cycles",
            Clock::Timer => "timer",
        };
        Self {
            samples: samples.samples,
            lost_samples: samples.lost,
            sampled_by: sampled_by.to_owned(),
            overhead: (sampling + samples.fetching.as_secs_f64())
                / (seconds * cpus as f64).max(1e-9),
            ..Self::of_times(time, packets, seconds)
        }
    }

    /// Without samples: of so many packets that came in so many seconds, by the processor time that the kernel
    /// accounts to the process that captures. What it has of that in the kernel is [`Component::Unclassified`]; what
    /// is done for it while others have their turn is not found.
    pub fn accounted(user: Duration, system: Duration, packets: u64, seconds: f64) -> Self {
        let time = |component| match component {
            Component::UserCode => user.as_secs_f64() * 1e9,
            Component::Unclassified => system.as_secs_f64() * 1e9,
            _ => 0.0,
        };
        Self::of_times(time, packets, seconds)
    }

    /// By the nanoseconds of each component in all.
    fn of_times(time: impl Fn(Component) -> f64, packets: u64, seconds: f64) -> Self {
        let rate = cycles_per_nanosecond();
        let whole: f64 = Component::ALL.into_iter().map(&time).sum();
        let share = |component| if whole > 0.0 { time(component) / whole } else { 0.0 };
        let each = |nanoseconds: f64| (packets > 0).then(|| nanoseconds / packets as f64);
        let component = |component: Component| {
            let nanoseconds = each(time(component));
            ComponentCost {
                component,
                seconds: time(component) * 1e-9,
                share: share(component),
                nanoseconds,
                cycles: nanoseconds.zip(rate).map(|(time, rate)| time * rate),
            }
        };
        Self {
            seconds,
            packets,
            samples: 0,
            lost_samples: 0,
            sampled_by: "nothing".to_owned(),
            cycles_per_nanosecond: rate,
            components: Component::ALL.into_iter().map(component).collect(),
            nanoseconds: each(whole),
            classified: 1.0 - share(Component::Unclassified),
            overhead: 0.0,
            missing: Vec::new(),
        }
    }
}

/// Of the time-stamp counter, where it runs at one rate.
pub(crate) fn cycles_per_nanosecond() -> Option<f64> {
    CycleClock::realtime().ok().map(|clock| clock.cycles_per_nanosecond())
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use super::*;

    #[test]
    fn components_sum_to_the_whole() {
        let samples = Samples {
            clock: Clock::Timer,
            each: Duration::from_millis(5),
            stacks: HashMap::new(),
            samples: 4,
            lost: 1,
            fetching: Duration::from_millis(20),
        };
        let components =
            BTreeMap::from([(Component::Tap, 3_000_000), (Component::Unclassified, 1_000_000)]);
        let weights = Weights { components, elsewhere: BTreeMap::from([(5, 7)]) };
        let cost = Cost::new(&weights, &samples, 10_000, 1.0, 2);
        assert_eq!(cost.nanoseconds, Some(400.0));
        let sum: f64 = cost.components.iter().filter_map(|component| component.nanoseconds).sum();
        assert!((sum - 400.0).abs() < 1e-6);
        assert!((cost.classified - 0.75).abs() < 1e-9);
        // Of two processors' second, four samples and what it took to fetch them.
        assert!((cost.overhead - 0.02).abs() < 1e-9, "{}", cost.overhead);
        let none = Cost::new(&weights, &samples, 0, 1.0, 2);
        assert_eq!((none.nanoseconds, none.components[4].nanoseconds), (None, None));
    }

    #[test]
    fn without_samples_the_kernels_account_tells_user_mode_from_the_kernel() {
        let [user, system] = [3, 1].map(Duration::from_millis);
        let cost = Cost::accounted(user, system, 10_000, 1.0);
        assert_eq!((cost.nanoseconds, cost.classified), (Some(400.0), 0.75));
        let idle = Cost::accounted(Duration::ZERO, Duration::ZERO, 0, 1.0);
        assert_eq!((idle.nanoseconds, idle.classified), (None, 1.0));
    }
}
