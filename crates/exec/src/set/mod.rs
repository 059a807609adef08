//! Many filters at once: which of them keep each packet.
//!
//! A filter is taken apart into rules ([`Plan::rules`](linerate_filter::plan::Plan::rules)): conjunctions of ranges
//! of fields. A rule is filed under one of its conditions, the one that fewest others have: under numbers in a
//! hash table, under wider ranges in a segment tree. Packets look the fields up, as columns, and of the few
//! rules that they find the other conditions are asked. So it matters little how many filters there are, as long as
//! few of them want the same packets. Where many do, rules that ask for the same fields lie in a grid instead, and each
//! field gives a row of bits, one for each filter. What has no rules is run by an engine of its own.
//!
//! - `values`: numbers that filters have in common
//! - `tier`: rules filed for look-up, never changed
//! - `filing`: where they are filed
//! - `drawer`: rules by one field
//! - `grid`: rules by all their fields at once
//! - `classes`: numbers of a field by the filters that want them
//! - `search`: a block of packets looking for rules
//! - `matches`: what comes out

mod classes;
mod drawer;
mod filing;
mod grid;
mod matches;
mod search;
mod tier;
mod values;

use std::cell::RefCell;

use linerate_base::{Batch, Matches};
use linerate_filter::Filter;
use linerate_filter::rules::Rule;

use crate::columns::{Columns, Memory};
use crate::engine::{Engine, near};
use crate::kernels::Level;
use crate::lanes::LANES;
use crate::vector::{Packets, Rows};
pub use matches::SetMatches;
use search::Found;
use tier::Tier;
use values::Values;

/// Filters that are ready to run together, each under a number.
///
/// ```
/// use linerate_base::{Batch, Descriptor, Interface, LinkType};
/// use linerate_exec::{FilterSet, SetMatches};
/// use linerate_filter::{Hermetic, Options, compile};
///
/// let options = Options::new(LinkType::ETHERNET, &Hermetic);
/// let filters = ["ether[0] = 2", "ether[0] = 3", "ether[0] & 1 = 1"];
/// let filters = filters.map(|text| compile(text, &options).unwrap());
/// let set = FilterSet::new(&filters);
/// let interfaces = [Interface::default()];
/// let table = [Descriptor { captured: 1, length: 1, ..Descriptor::default() }];
/// let mut matches = SetMatches::new();
/// set.run(&Batch::new(&[3], &table, &interfaces), None, &mut matches);
/// assert_eq!(matches.of(0).collect::<Vec<_>>(), [1, 2]);
/// ```
#[derive(Debug)]
pub struct FilterSet {
    level: Level,
    /// By number; `None` where one was removed.
    members: Vec<Option<Member>>,
    /// The numbers of those that are run by themselves, removed ones included.
    wholes: Vec<usize>,
    values: Values,
    /// Each has more than twice the members of the next.
    tiers: Vec<Tier>,
}

/// One of the filters.
#[derive(Debug)]
enum Member {
    Rules(Vec<Rule>),
    Whole(Engine),
}

#[derive(Default)]
struct Workspace {
    rows: Rows,
    memory: Memory,
    found: Found,
    matches: Matches,
}

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

impl FilterSet {
    /// The filters under the numbers 0, 1, 2 and so on, by the best instructions that the processor has. All must
    /// be for one link type.
    pub fn new(filters: &[Filter]) -> Self {
        Self::at_level(filters, Level::best())
    }

    /// The same by the instructions of a level.
    pub fn at_level(filters: &[Filter], level: Level) -> Self {
        let mut set = Self {
            level,
            members: Vec::new(),
            wholes: Vec::new(),
            values: Values::default(),
            tiers: Vec::new(),
        };
        filters.iter().for_each(|filter| set.add(filter));
        set.file(&(0..filters.len()).collect::<Vec<_>>());
        set
    }

    /// Adds a filter and gives its number, the least that was never given. Of what is there already it files anew as
    /// much as gives a filter its turn a logarithmic number of times.
    pub fn insert(&mut self, filter: &Filter) -> usize {
        let number = self.members.len();
        self.add(filter);
        let mut together = vec![number];
        while self.tiers.last().is_some_and(|tier| tier.members().len() <= 2 * together.len()) {
            together.extend(self.tiers.pop().iter().flat_map(Tier::members));
        }
        together.sort_unstable();
        self.file(&together);
        number
    }

    /// Removes the filter of this number; false if there is none. It keeps no packet any more; its place is
    /// cleared when others are filed anew.
    pub fn remove(&mut self, number: usize) -> bool {
        let is_there = self.members.get_mut(number).is_some_and(|member| member.take().is_some());
        if is_there {
            self.tiers.iter_mut().for_each(|tier| tier.forget(number));
        }
        is_there
    }

    /// How many filters there are.
    pub fn len(&self) -> usize {
        self.members.iter().flatten().count()
    }

    /// True when there is no filter.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Notes for each packet of the batch which filters keep it; what `matches` said before is gone. `interface` is
    /// the number that the system gave to the interface, for filters that ask for it.
    pub fn run(&self, batch: &Batch<'_>, interface: Option<u32>, matches: &mut SetMatches) {
        matches.reset(batch.len(), self.members.len());
        WORKSPACE.with_borrow_mut(|workspace| {
            self.blocks(workspace, batch, interface, matches);
            self.wholes(workspace, batch, interface, matches);
        });
    }

    fn blocks(
        &self,
        Workspace { rows, memory, found, .. }: &mut Workspace,
        batch: &Batch<'_>,
        interface: Option<u32>,
        matches: &mut SetMatches,
    ) {
        let (mut first, descriptors) = (0, batch.descriptors());
        while first < descriptors.len() {
            let block = &descriptors[first..(first + LANES).min(descriptors.len())];
            // A packet by itself is always near enough.
            let (block, near) = match near(batch.region(), block) {
                Some(near) => (block, Some(near)),
                None => (&block[..1], near(batch.region(), &block[..1])),
            };
            if let Some((region, from)) = near {
                self.level.note(block, from, rows);
                let packets = Packets { region, descriptors: block, from, interface };
                for tier in &self.tiers {
                    let program = tier.program();
                    let columns = Columns::new(program, self.level, packets, rows, memory);
                    tier.search(columns, found, first, matches);
                }
            }
            first += block.len();
        }
    }

    fn wholes(
        &self,
        workspace: &mut Workspace,
        batch: &Batch<'_>,
        interface: Option<u32>,
        matches: &mut SetMatches,
    ) {
        for number in &self.wholes {
            if let Some(Member::Whole(engine)) = &self.members[*number] {
                engine.run(batch, interface, &mut workspace.matches);
                workspace.matches.iter().for_each(|packet| matches.insert(packet, *number));
            }
        }
    }

    fn add(&mut self, filter: &Filter) {
        let rules = self.values.rules(filter).filter(|rules| tier::takes(rules));
        let member = rules
            .map_or_else(|| Member::Whole(Engine::at_level(filter, self.level)), Member::Rules);
        if matches!(member, Member::Whole(_)) {
            self.wholes.push(self.members.len());
        }
        self.members.push(Some(member));
    }

    /// Files those of the members that have rules.
    fn file(&mut self, numbers: &[usize]) {
        let rules = |number: &usize| match self.members[*number].as_ref()? {
            Member::Rules(rules) => Some((*number, &rules[..])),
            Member::Whole(_) => None,
        };
        let members: Vec<_> = numbers.iter().filter_map(rules).collect();
        if !members.is_empty() {
            self.tiers.push(Tier::new(self.values.all(), &members));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_base::LinkType;
    use linerate_filter::{Hermetic, Options, compile};

    #[test]
    fn who_comes_later_has_few_others_filed_anew() {
        const COUNT: usize = 500;
        let mut set = FilterSet::new(&[]);
        let mut filed = 0;
        for number in 0..COUNT {
            let text = format!("ether[{}] = {}", number % 14, number / 14);
            let options = Options::new(LinkType::ETHERNET, &Hermetic);
            assert_eq!(set.insert(&compile(&text, &options).unwrap()), number);
            filed += set.tiers.last().map_or(0, |tier| tier.members().len());
            let sizes: Vec<_> = set.tiers.iter().map(|tier| tier.members().len()).collect();
            assert!(sizes.windows(2).all(|pair| pair[0] > 2 * pair[1]), "{sizes:?}");
            assert_eq!(sizes.iter().sum::<usize>(), number + 1);
        }
        // Whoever is filed anew is then in a tier half as large again: 500 is below the 16th power of 1.5.
        assert!(filed <= 16 * COUNT, "{filed}");
    }
}
