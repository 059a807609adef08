//! The map of functions to components.

use std::collections::HashMap;

use super::{Component, Verdict};

/// The map that comes with the program.
const KERNEL: &str = include_str!("kernel.txt");

/// Which function of the kernel belongs to which component.
#[derive(Clone, Debug)]
pub struct ComponentMap {
    exact: HashMap<&'static str, Verdict>,
    /// What is before the `*`, and what behind it; the longest come first.
    patterns: Vec<(&'static str, &'static str, Verdict)>,
}

impl Default for ComponentMap {
    fn default() -> Self {
        Self::parse(KERNEL)
    }
}

impl ComponentMap {
    /// # Panics
    /// On a line whose first word is no component.
    fn parse(text: &'static str) -> Self {
        let mut map = Self { exact: HashMap::new(), patterns: Vec::new() };
        let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        for line in lines {
            let mut words = line.split_ascii_whitespace();
            let verdict = verdict(words.next().unwrap_or_default());
            for name in words {
                match name.split_once('*') {
                    Some((before, behind)) => map.patterns.push((before, behind, verdict)),
                    None => {
                        map.exact.insert(name, verdict);
                    }
                }
            }
        }
        let length = |(before, behind, _): &(&str, &str, Verdict)| before.len() + behind.len();
        map.patterns.sort_by_key(|pattern| std::cmp::Reverse(length(pattern)));
        map
    }

    /// What the function says; `None` for one that leaves it to its caller.
    pub fn function(&self, name: &str) -> Option<Verdict> {
        let fits = |(before, behind, _): &&(&str, &str, Verdict)| {
            name.strip_prefix(before).is_some_and(|rest| rest.ends_with(behind))
        };
        let pattern = || self.patterns.iter().find(fits).map(|(.., verdict)| *verdict);
        self.exact.get(name).copied().or_else(pattern)
    }

    /// What a stack in the kernel says: names from where the processor was outwards, `None` for code without
    /// one. The first function that is known decides; code without a name in which the processor was is a
    /// compiled filter.
    pub fn stack<'a>(&self, names: impl IntoIterator<Item = Option<&'a str>>) -> Option<Verdict> {
        let mut names = names.into_iter();
        match names.next()? {
            None => Some(Verdict::On(Component::Filter)),
            Some(first) => self
                .function(first)
                .or_else(|| names.flatten().find_map(|name| self.function(name))),
        }
    }
}

fn verdict(key: &str) -> Verdict {
    if key == "elsewhere" {
        return Verdict::Elsewhere;
    }
    let found = Component::ALL.into_iter().find(|component| component.key() == Some(key));
    Verdict::On(found.unwrap_or_else(|| panic!("{key} is no component")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_known_function_decides() {
        let map = ComponentMap::default();
        let stack = |names: &[&'static str]| map.stack(names.iter().map(|name| Some(*name)));
        let on = |component| Some(Verdict::On(component));
        assert_eq!(
            stack(&["__pi_memcpy", "skb_copy_bits", "tpacket_rcv"]),
            on(Component::FirstCopy)
        );
        assert_eq!(stack(&["_raw_spin_lock", "tpacket_rcv"]), on(Component::Tap));
        assert_eq!(stack(&["read_tsc", "ktime_get", "tpacket_rcv"]), on(Component::Timestamp));
        assert_eq!(stack(&["default_idle_call", "do_idle"]), Some(Verdict::Elsewhere));
        assert_eq!(stack(&["handle_mm_fault"]), None);
        assert_eq!(map.stack([None, Some("packet_rcv")]), on(Component::Filter));
        assert_eq!(map.stack([]), None);
    }

    #[test]
    fn programs_are_told_apart_by_their_names() {
        let map = ComponentMap::default();
        let program = |name| map.function(&format!("bpf_prog_6deef7357e7b4530{name}"));
        assert_eq!(program(""), Some(Verdict::On(Component::Filter)));
        assert_eq!(program("_linerate_tap"), Some(Verdict::On(Component::Tap)));
        assert_eq!(program("_linerate_load"), Some(Verdict::Elsewhere));
        assert_eq!(map.function("bpf_prog_test_run_xdp"), Some(Verdict::Elsewhere));
    }

    #[test]
    fn no_function_stands_in_the_map_twice() {
        let words = KERNEL.lines().filter(|line| !line.starts_with('#'));
        let mut names: Vec<_> =
            words.flat_map(|line| line.split_ascii_whitespace().skip(1)).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
