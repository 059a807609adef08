//! What a packet costs, by component.

use linerate_sys::clock::CycleClock;
use linerate_sys::perf::{self, Clock};
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
    /// What said when to sample: `cycles` of the processor, or a `timer` of the kernel's.
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
        let rate = CycleClock::realtime().ok().map(|clock| clock.cycles_per_nanosecond());
        let nanoseconds = |weight: u64| match samples.clock {
            Clock::Timer => weight as f64,
            // As if the processor ran at the counter's rate.
            Clock::Cycles => weight as f64 / rate.unwrap_or(1.0),
        };
        let each = |nanoseconds: f64| (packets > 0).then(|| nanoseconds / packets as f64);
        let component = |component: Component| {
            let weight = weights.components.get(&component).copied().unwrap_or(0);
            let time = each(nanoseconds(weight));
            ComponentCost {
                component,
                seconds: nanoseconds(weight) * 1e-9,
                share: weights.share(component),
                nanoseconds: time,
                cycles: time.zip(rate).map(|(time, rate)| time * rate),
            }
        };
        let sampling = perf::of_a_sample(samples.clock).map_or(0.0, |cost| cost.as_secs_f64());
        Self {
            seconds,
            packets,
            samples: samples.samples,
            lost_samples: samples.lost,
            sampled_by: match samples.clock {
                Clock::Cycles => "cycles".to_owned(),
                Clock::Timer => "timer".to_owned(),
            },
            cycles_per_nanosecond: rate,
            components: Component::ALL.into_iter().map(component).collect(),
            nanoseconds: each(nanoseconds(weights.total())),
            classified: weights.classified(),
            overhead: sampling * samples.samples as f64 / (seconds * cpus as f64).max(1e-9),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use super::*;

    #[test]
    fn components_sum_to_the_whole() {
        let samples = Samples { clock: Clock::Timer, stacks: HashMap::new(), samples: 4, lost: 1 };
        let components =
            BTreeMap::from([(Component::Tap, 3_000_000), (Component::Unclassified, 1_000_000)]);
        let weights = Weights { components, elsewhere: 7 };
        let cost = Cost::new(&weights, &samples, 10_000, 1.0, 2);
        assert_eq!(cost.nanoseconds, Some(400.0));
        let sum: f64 = cost.components.iter().filter_map(|component| component.nanoseconds).sum();
        assert!((sum - 400.0).abs() < 1e-6);
        assert!((cost.classified - 0.75).abs() < 1e-9);
        let none = Cost::new(&weights, &samples, 0, 1.0, 2);
        assert_eq!((none.nanoseconds, none.components[4].nanoseconds), (None, None));
    }
}
