//! What to do about what packets cost.

use crate::cost::Cost;
use crate::path::Component;

/// What would make packets cheaper.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Where the time goes.
    pub component: Component,
    /// Its part of the whole, 0 to 1.
    pub share: f64,
    /// What to change, and what that costs.
    pub change: &'static str,
}

/// From which part of the whole on, what to change.
const STEPS: [(Component, f64, &str); 12] = [
    (
        Component::Interrupt,
        0.15,
        "more packets for each interrupt (`ethtool -C IF adaptive-rx on`): some microseconds of delay",
    ),
    (
        Component::Allocation,
        0.15,
        "no skbs at all: the back end tap-xdp with --exclusive, where the host needs no packets",
    ),
    (Component::Stack, 0.2, "spare the host's stack where the host needs no packets: --exclusive"),
    (
        Component::Timestamp,
        0.1,
        "fewer looks at a clock: the back end tap with --timestamps sampled, or tsc: times that are less exact",
    ),
    (
        Component::Filter,
        0.15,
        "a shorter filter (`linerate filter -d` shows it), or the back end tap, which compiles it into searches",
    ),
    (Component::FirstCopy, 0.15, "fewer bytes: a snaplen (-s); what is cut off is not seen"),
    (
        Component::WakeUp,
        0.08,
        "a reader that sleeps longer and then takes more: the back end tap, or TPACKET_V3",
    ),
    (
        Component::SystemCall,
        0.08,
        "more packets for each system call: the back end tap, or TPACKET_V3 in the place of recvfrom",
    ),
    (
        Component::SecondCopy,
        0.05,
        "a ring in shared memory, which is read in place: the back end tap, or TPACKET_V3",
    ),
    (
        Component::UserCode,
        0.4,
        "less work in the program, or more threads (--threads): a core for each",
    ),
    (
        Component::Tap,
        0.3,
        "less of each packet: a filter or a snaplen; on a packet socket, the back end tap",
    ),
    (
        Component::Unclassified,
        0.1,
        "functions of this kernel are not in the program's map yet: the flame graph shows which",
    ),
];

/// What is worth a change, the most first.
pub fn steps(cost: &Cost) -> Vec<Step> {
    let share = |component| {
        let part = cost.components.iter().find(|part| part.component == component);
        part.map_or(0.0, |part| part.share)
    };
    // Where something may not be looked at, that is why it is unclassified.
    let is_known = |component| component != Component::Unclassified || cost.missing.is_empty();
    let worth = STEPS
        .iter()
        .filter(|(component, least, _)| is_known(*component) && share(*component) >= *least);
    let step = |(component, _, change): &(Component, f64, &'static str)| Step {
        component: *component,
        share: share(*component),
        change,
    };
    let mut steps: Vec<_> = worth.map(step).collect();
    steps.sort_by(|a, b| b.share.total_cmp(&a.share));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::ComponentCost;

    #[test]
    fn what_costs_most_comes_first_and_small_parts_are_left_alone() {
        let part = |component, share| ComponentCost {
            component,
            seconds: share,
            share,
            nanoseconds: None,
            cycles: None,
        };
        let cost = Cost {
            seconds: 1.0,
            packets: 0,
            samples: 0,
            lost_samples: 0,
            sampled_by: "timer".into(),
            cycles_per_nanosecond: None,
            components: vec![
                part(Component::Timestamp, 0.2),
                part(Component::Stack, 0.5),
                part(Component::Filter, 0.01),
            ],
            nanoseconds: None,
            classified: 1.0,
            overhead: 0.0,
            missing: Vec::new(),
        };
        let found =
            |cost: &Cost| -> Vec<_> { steps(cost).iter().map(|step| step.component).collect() };
        assert_eq!(found(&cost), [Component::Stack, Component::Timestamp]);
        let unknown = Cost { components: vec![part(Component::Unclassified, 0.5)], ..cost };
        assert_eq!(found(&unknown), [Component::Unclassified]);
        assert_eq!(found(&Cost { missing: vec!["symbols".into()], ..unknown }), []);
    }
}
