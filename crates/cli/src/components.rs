//! The components of a packet's way as pages show them: those that are alike in one colour.

use linerate::profile::path::Component;
use plotters::style::RGBColor;

use crate::chart::{COLOURS, colour};

/// What is shown together, in the order of a packet's way; as many as there are colours.
pub(crate) const GROUPS: [(&str, &[Component]); COLOURS.len()] = [
    ("driver and interrupt", &[Component::Interrupt, Component::Driver]),
    ("host's stack and skbs", &[Component::Stack, Component::Allocation, Component::Free]),
    ("tap, other work", &[Component::Tap]),
    ("timestamp", &[Component::Timestamp]),
    ("filter", &[Component::Filter]),
    ("first copy", &[Component::FirstCopy]),
    ("system calls and waking", &[Component::SystemCall, Component::WakeUp]),
    ("second copy", &[Component::SecondCopy]),
    ("user code", &[Component::UserCode]),
    ("unclassified", &[Component::Unclassified]),
];

/// The colour of a component's group; that of the last group for none.
pub(crate) fn colour_of(component: Option<Component>) -> RGBColor {
    let is_of = |(_, group): &(&str, &[Component])| component.is_some_and(|c| group.contains(&c));
    colour(GROUPS.iter().position(is_of).unwrap_or(GROUPS.len() - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_component_is_in_one_group() {
        let mut all: Vec<_> = GROUPS.iter().flat_map(|(_, group)| *group).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(&{
            let mut all = Component::ALL;
            all.sort_unstable();
            all
        }));
    }
}
