//! Many filters as maps beside a program that does not know them: it finds those that keep a packet.

use crate::common;
use crate::generate;
use crate::hooked::{SHORTEST, makes_buffer, registers};
use crate::{HOOKS, ancillaries, config, expressions, for_tap};
use linerate_base::{LinkType, Result};
use linerate_bpf::classic::Input;
use linerate_bpf::extended::Register::{R0, R4};
use linerate_bpf::extended::set::{self, Field, Index, Search, Store};
use linerate_bpf::extended::{Alu, Assembler, Hook, Instruction, Size, Test};
use linerate_filter::{Filter, Verdict};
use linerate_lab::need;
use linerate_sys::bpf::{
    Map, MapSpec, Program, ProgramKind, ProgramSpec, SharedWords, TestRun, settle,
};
use proptest::prelude::*;
use std::os::fd::{AsFd, AsRawFd};

/// The most filters of a test.
const FILTERS: usize = 1024;

struct Maps {
    trie: Map,
    table: SharedWords,
}

impl Maps {
    fn new() -> Self {
        let (address, entries) = (set::TRIE_ADDRESS_SIZE as u32, set::TRIE_ENTRIES as u32);
        Self {
            trie: Map::new(&MapSpec::lpm_trie("set", address, 4, entries)).expect("a trie"),
            table: SharedWords::new("set", set::TABLE_SIZE as u32).expect("a table"),
        }
    }
}

impl Store for Maps {
    fn read(&self, offset: usize) -> u64 {
        self.table.read(offset)
    }

    fn write(&mut self, offset: usize, word: u64) {
        self.table.write(offset, word);
    }

    fn put(&mut self, key: &[u8], value: u32) -> Result<()> {
        self.trie.insert(key, &value.to_ne_bytes())
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.trie.remove(key).map(|there| assert!(there))
    }

    fn settle(&mut self) -> bool {
        settle().is_ok()
    }
}

/// A set with a program at each hook, which counts the packets of each filter.
struct Hooked {
    maps: Maps,
    index: Index,
    told: Map,
    counts: SharedWords,
    programs: [Program; 2],
}

impl Hooked {
    /// Without filters, for those that ask for these fields; `None` if there are none, or too many.
    fn new(fields: Vec<Field>) -> Option<Self> {
        let mut maps = Maps::new();
        let index = Index::new(fields, &mut maps)?;
        let told = registers::map();
        let counts = SharedWords::new("counts", 8 * FILTERS as u32).expect("counts");
        let programs = HOOKS.map(|hook| load(&index, &maps, &told, &counts, hook));
        Some(Self { maps, index, told, counts, programs })
    }

    fn insert(&mut self, number: usize, filter: &Filter) -> bool {
        let rules = filter.rules().expect("rules");
        self.index.insert(number, &rules, &mut self.maps).expect("written")
    }

    /// The filters that each hook finds for a packet, each as often as it finds it.
    fn find(&self, input: &Input<'_>) -> Vec<Vec<(usize, u64)>> {
        registers::tell(&self.told, input);
        let hooks = HOOKS.iter().zip(&self.programs);
        let shown = hooks.filter(|(hook, _)| **hook == Hook::Xdp || makes_buffer(input.data));
        shown
            .map(|(_, program)| {
                program.test_run(&TestRun::once(input.data)).expect("run");
                let counts = (0..FILTERS).map(|number| (number, self.counts.read(8 * number)));
                let found: Vec<_> = counts.filter(|(_, count)| *count > 0).collect();
                found.iter().for_each(|(number, _)| self.counts.write(8 * number, 0));
                found
            })
            .collect()
    }
}

fn load(index: &Index, maps: &Maps, told: &Map, counts: &SharedWords, hook: Hook) -> Program {
    let mut code = Assembler::new();
    let needs: Vec<_> = index.needs().collect();
    code.extend(registers::surround(&needs, hook, told.as_fd().as_raw_fd()));
    let search = Search {
        fields: index.fields(),
        trie: maps.trie.as_fd().as_raw_fd(),
        table: maps.table.map().as_fd().as_raw_fd(),
        hook,
    };
    search.emit(&mut code, |code| count(code, counts.map().as_fd().as_raw_fd()));
    code.extend([Instruction::mov(R0, 0), Instruction::exit()]);
    let code: Vec<_> = code.finish().expect("placed").iter().map(Instruction::encode).collect();
    let kind = if hook == Hook::Xdp { ProgramKind::Xdp } else { ProgramKind::Classifier };
    let spec = ProgramSpec::new(kind, &code, "set");
    let spec = if hook == Hook::Xdp { spec.with_fragments() } else { spec };
    Program::load(&spec).unwrap_or_else(|e| panic!("{e}\n{}", e.log()))
}

/// Adds to a filter's count.
fn count(code: &mut Assembler, counts: i32) {
    let skip = code.label();
    code.jump_if(Test::GreaterOrEqual, Search::FILTER, FILTERS as i32, skip);
    code.push(Instruction::alu(Alu::Lsh, Search::FILTER, 3));
    code.extend(Instruction::load_map_value(R4, counts, 0));
    code.extend([
        Instruction::alu(Alu::Add, R4, Search::FILTER),
        Instruction::load(Size::Double, Search::FILTER, R4, 0),
        Instruction::alu(Alu::Add, Search::FILTER, 1),
        Instruction::store(Size::Double, R4, 0, Search::FILTER),
    ]);
    code.place(skip);
}

/// Those of the expressions that have rules, in groups whose fields a set can have.
fn groups<'a>(expressions: impl Iterator<Item = &'a str>, link_type: LinkType) -> Vec<Group<'a>> {
    let mut groups = vec![Group::default()];
    for text in expressions {
        let Ok(filter) = for_tap(text, link_type) else { continue };
        let Some(rules) = filter.rules() else { continue };
        let asked = rules.iter().flat_map(|rule| &rule.conditions).map(|c| &c.field);
        let last = groups.last_mut().expect("there is one");
        let mut fields = last.fields.clone();
        for field in asked {
            if !fields.contains(field) {
                fields.push(field.clone());
            }
        }
        if fields.len() > set::FIELDS || last.filters.len() == FILTERS {
            groups.push(Group::default());
            continue;
        }
        last.fields = fields;
        last.filters.push((text, filter));
    }
    groups
}

#[derive(Default)]
struct Group<'a> {
    fields: Vec<Field>,
    filters: Vec<(&'a str, Filter)>,
}

/// Compares what a set finds in packets, whole and cut, with what filters mean that it has.
fn check(hooked: &Hooked, filters: &[Option<&(&str, Filter)>], packets: &[Vec<u8>], seed: usize) {
    for (at, packet) in packets.iter().enumerate() {
        let room = (packet.len() + 1).saturating_sub(SHORTEST);
        let Some(cut) = (seed + 5 * at).checked_rem(room) else { continue };
        let ancillary = ancillaries()[at % 2];
        for data in [&packet[..], &packet[..SHORTEST + cut]] {
            let input = Input { data, length: packet.len() as u32, ancillary };
            let keeps = |(_, filter): &(&str, Filter)| filter.evaluate(&input) == Verdict::True;
            let there = filters.iter().enumerate();
            let kept = there.filter(|(_, filter)| filter.is_some_and(keeps));
            let meant: Vec<_> = kept.map(|(number, _)| (number, 1)).collect();
            for found in hooked.find(&input) {
                let text = |(number, _): &(usize, u64)| filters[*number].map_or("gone", |f| f.0);
                let odd = found
                    .iter()
                    .filter(|f| !meant.contains(f))
                    .chain(meant.iter().filter(|m| !found.contains(m)));
                let odd: Vec<_> = odd.map(text).collect();
                assert!(odd.is_empty(), "{odd:?} of {ancillary:?} {data:02x?}");
            }
        }
    }
}

#[test]
fn every_expression_with_rules_is_found_until_it_is_removed() {
    if !need::root() {
        return;
    }
    for link_type in [LinkType::ETHERNET, LinkType::RAW, LinkType::LINUX_SLL2] {
        let packets = common::packets(link_type);
        for Group { fields, filters } in groups(expressions(), link_type) {
            let Some(mut hooked) = Hooked::new(fields) else { continue };
            let mut there: Vec<_> = filters.iter().map(Some).collect();
            for (number, (text, filter)) in filters.iter().enumerate() {
                assert!(hooked.insert(number, filter), "{text}");
            }
            check(&hooked, &there, &packets, 0);
            for number in (0..there.len()).step_by(3) {
                there[number] = None;
                assert!(hooked.index.remove(number, &mut hooked.maps).expect("removed"));
            }
            check(&hooked, &there, &packets, 3);
        }
    }
}

proptest! {
    #![proptest_config(config(10))]

    #[test]
    fn random_expressions_are_found(
        texts in prop::collection::vec(generate::expression(), 1..60),
        seed in 0..50_usize,
    ) {
        if !need::root() {
            return Ok(());
        }
        let packets = common::packets(LinkType::ETHERNET);
        for Group { fields, filters } in groups(texts.iter().map(String::as_str), LinkType::ETHERNET) {
            let Some(mut hooked) = Hooked::new(fields) else { continue };
            for (number, (_, filter)) in filters.iter().enumerate() {
                prop_assert!(hooked.insert(number, filter));
            }
            check(&hooked, &filters.iter().map(Some).collect::<Vec<_>>(), &packets, seed);
        }
    }
}
