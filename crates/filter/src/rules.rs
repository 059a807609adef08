//! Plans as rules: the ways to acceptance, each a conjunction of conditions on numbers.
//!
//! Engines that run many filters side by side look rules up instead of asking one filter after the other.

use crate::plan::{Check, Node, Plan, Target, Value, ValueId};

/// Holds of a packet that has all numbers of which something is said, and meets every condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// In the order in which the plan asks.
    pub conditions: Vec<Condition>,
    /// Numbers that the packet must have, whatever they are.
    pub needs: Vec<ValueId>,
}

/// `value & mask` is in one of the ranges.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    /// What is looked at.
    pub value: ValueId,
    /// The bits of it that count.
    pub mask: u32,
    /// Where they must be.
    pub ranges: Ranges,
}

/// A set of numbers: ranges from the first to the last number, ascending, with numbers between them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ranges(Box<[(u32, u32)]>);

/// The most rules of a filter. With more, the filter itself is the better form.
const RULES: usize = 64;
/// How many nodes are looked at, counted anew on each way.
const STEPS: usize = 1024;

impl Plan {
    /// The filter keeps a packet if one of these rules holds. `None` where it compares numbers of the packet with
    /// each other, has slots, or has too many ways.
    pub fn rules(&self) -> Option<Vec<Rule>> {
        if self.slots() > 0 {
            return None;
        }
        let mut walk = Walk { plan: self, rules: Vec::new(), steps: STEPS };
        walk.go(self.entry(), Rule::default())?;
        Some(walk.rules)
    }
}

struct Walk<'a> {
    plan: &'a Plan,
    rules: Vec<Rule>,
    steps: usize,
}

impl Walk<'_> {
    /// Follows all ways from a place for packets of which a rule holds.
    fn go(&mut self, target: Target, rule: Rule) -> Option<()> {
        match target {
            Target::Drop => {}
            Target::Accept => self.rules.push(rule),
            Target::Node(id) => {
                self.steps = self.steps.checked_sub(1)?;
                self.fork(&self.plan.nodes()[id], rule)?;
            }
        }
        (self.rules.len() <= RULES).then_some(())
    }

    fn fork(&mut self, node: &Node, rule: Rule) -> Option<()> {
        let Node::Test { value, mask, check, then, otherwise } = node else { return None };
        let rule = rule.with_need(*value);
        if then == otherwise {
            return self.go(*then, rule);
        }
        let (mask, inside) = ranges(*mask, check);
        // If packets outside are accepted in any case, nothing is lost when the other way takes them too.
        let outside = if *then == Target::Accept { Ranges::all() } else { inside.complement() };
        let inside = if *otherwise == Target::Accept { Ranges::all() } else { inside };
        for (target, ranges) in [(then, inside), (otherwise, outside)] {
            let condition = Condition { value: *value, mask, ranges };
            if let Some(rule) = rule.clone().narrowed(condition) {
                self.go(*target, rule)?;
            }
        }
        Some(())
    }
}

impl Rule {
    /// What a packet must have besides the numbers that conditions are about, as these do not tell that it has it.
    pub fn untold_needs(&self, values: &[Value]) -> impl Iterator<Item = ValueId> {
        let is_told = |need: ValueId| self.conditions.iter().any(|c| tells(values, c.value, need));
        self.needs.iter().copied().filter(move |need| !is_told(*need))
    }

    fn with_need(mut self, value: ValueId) -> Self {
        if !self.needs.contains(&value) {
            self.needs.push(value);
        }
        self
    }

    /// The rule with one more condition; `None` if no packet can meet it.
    fn narrowed(mut self, condition: Condition) -> Option<Self> {
        let is_like = |c: &&mut Condition| (c.value, c.mask) == (condition.value, condition.mask);
        match self.conditions.iter_mut().find(is_like) {
            Some(known) => known.ranges = known.ranges.intersection(&condition.ranges),
            None if condition.ranges == Ranges::all() => {}
            None => self.conditions.push(condition),
        }
        self.conditions.iter().all(|condition| !condition.ranges.0.is_empty()).then_some(self)
    }
}

/// Whether who has one number has the other: it is the same, or bytes that do not end later.
fn tells(values: &[Value], one: ValueId, other: ValueId) -> bool {
    match (values[one], values[other]) {
        (Value::Load(one), Value::Load(other)) => {
            (other.base.is_none() || other.base == one.base) && other.end() <= one.end()
        }
        _ => one == other,
    }
}

/// The numbers that pass a check of `number & mask`, with a mask of all bits where they are ranges by themselves.
fn ranges(mask: u32, check: &Check) -> (u32, Ranges) {
    let passing = Ranges::of(check);
    let low = !mask;
    if low & low.wrapping_add(1) != 0 {
        return (mask, passing);
    }
    // Numbers with the same high bits pass together: the first of them is the one that is looked at.
    let whole = |&(from, to): &(u32, u32)| {
        let first = from.checked_add(low)? & mask;
        (first <= to).then_some((first, to & mask | low))
    };
    (u32::MAX, Ranges::joined(passing.0.iter().filter_map(whole)))
}

impl Ranges {
    /// All numbers.
    pub fn all() -> Self {
        Self([(0, u32::MAX)].into())
    }

    fn of(check: &Check) -> Self {
        match check {
            Check::Equal(number) => Self([(*number, *number)].into()),
            Check::Within(low, high) => Self([(*low, *high)].into()),
            Check::Among(numbers) => Self::joined(numbers.iter().map(|number| (*number, *number))),
        }
    }

    /// Ascending ranges that do not overlap; neighbours become one.
    fn joined(ranges: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut joined: Vec<(u32, u32)> = Vec::new();
        for (from, to) in ranges {
            match joined.last_mut() {
                Some(last) if last.1.checked_add(1) == Some(from) => last.1 = to,
                _ => joined.push((from, to)),
            }
        }
        Self(joined.into())
    }

    /// The ranges.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, u32)> {
        self.0.iter().copied()
    }

    /// Whether a number is in one of them.
    pub fn contains(&self, number: u32) -> bool {
        let behind = self.0.partition_point(|(from, _)| *from <= number);
        behind.checked_sub(1).is_some_and(|at| number <= self.0[at].1)
    }

    /// How many numbers there are.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|(from, to)| u64::from(to - from) + 1).sum()
    }

    fn complement(&self) -> Self {
        let mut gaps = Vec::with_capacity(self.0.len() + 1);
        let mut next = Some(0);
        for (from, to) in &self.0 {
            let before = next.zip(from.checked_sub(1));
            gaps.extend(before.filter(|(first, last)| first <= last));
            next = to.checked_add(1);
        }
        gaps.extend(next.map(|first| (first, u32::MAX)));
        Self(gaps.into())
    }

    fn intersection(&self, other: &Self) -> Self {
        let (mut one, mut two) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut both = Vec::new();
        while let (Some(a), Some(b)) = (one.peek(), two.peek()) {
            let (from, to) = (a.0.max(b.0), a.1.min(b.1));
            both.extend((from <= to).then_some((from, to)));
            if a.1 < b.1 {
                one.next()
            } else {
                two.next()
            };
        }
        Self(both.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hermetic, Options, compile};
    use linerate_base::LinkType;
    use proptest::prelude::*;

    fn rules(text: &str) -> Option<Vec<Rule>> {
        compile(text, &Options::new(LinkType::ETHERNET, &Hermetic)).unwrap().plan()?.rules()
    }

    /// How many conditions each rule has.
    fn sizes(text: &str) -> Vec<usize> {
        rules(text).unwrap().iter().map(|rule| rule.conditions.len()).collect()
    }

    #[test]
    fn each_way_to_acceptance_is_a_rule() {
        assert_eq!(sizes("ip"), [1]);
        assert_eq!(sizes("ip src host 10.0.0.1 and ip dst host 10.0.0.2"), [3]);
        assert_eq!(sizes("ip host 10.0.0.1"), [2, 2]);
        assert_eq!(sizes("ip and not src host 10.0.0.1"), [2]);
        assert_eq!(sizes(""), [0]);
    }

    #[test]
    fn what_is_no_conjunction_has_no_rules() {
        assert!(rules("ip[0] = ip[1]").is_none());
        assert!(rules("ether[0] & 1 = 0 and not (vlan 3 and icmp6)").is_some());
        let many: Vec<_> = (0..12).map(|i| format!("(ether[{i}] = 1 or ip[{i}] = 2)")).collect();
        assert!(rules(&many.join(" and ")).is_none());
    }

    #[test]
    fn a_net_is_a_range() {
        let rules = rules("ip src net 10.1.0.0/16").unwrap();
        let last = rules[0].conditions.last().unwrap();
        assert_eq!((last.mask, &*last.ranges.0), (u32::MAX, &[(0x0a01_0000, 0x0a01_ffff)][..]));
    }

    fn number() -> impl Strategy<Value = u32> {
        prop_oneof![0..20_u32, u32::MAX - 10..=u32::MAX, any::<u32>()]
    }

    fn check() -> impl Strategy<Value = Check> {
        prop_oneof![
            number().prop_map(Check::Equal),
            (number(), number()).prop_map(|(a, b)| Check::Within(a.min(b), a.max(b))),
            prop::collection::btree_set(number(), 2..6)
                .prop_map(|set| Check::Among(set.into_iter().collect())),
        ]
    }

    proptest! {
        #[test]
        fn ranges_have_what_passes_and_their_complement_the_rest(
            mask in prop_oneof![Just(u32::MAX), Just(!0xff_u32), Just(!1_u32), Just(0), any::<u32>()],
            (one, other) in (check(), check()),
            numbers in prop::collection::vec(number(), 20),
        ) {
            let (moved, passing) = ranges(mask, &one);
            let second = Ranges::of(&other);
            for number in numbers {
                let passes = one.holds(number & mask);
                prop_assert_eq!(passing.contains(number & moved), passes);
                prop_assert_eq!(passing.complement().contains(number & moved), !passes);
                let both = passing.intersection(&second);
                prop_assert_eq!(both.contains(number), passing.contains(number) && other.holds(number));
            }
            let all = passing.count() + passing.complement().count();
            prop_assert_eq!(all, 1 << 32);
        }
    }
}
