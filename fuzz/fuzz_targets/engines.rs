//! Any lines as filters, on any packet and all its truncations: every engine, at every level that the processor
//! has, and the set of all of them say what the reference evaluator does.
//!
//! The first byte chooses the link type, the second how many of the others are the lines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_base::{Batch, Descriptor, Interface, Matches};
use linerate_bpf::classic::Input;
use linerate_exec::{Engine, FilterSet, Level, SetMatches};
use linerate_filter::{Filter, Hermetic, Options, Verdict, compile, link_types};

fuzz_target!(|bytes: &[u8]| {
    let Some((&[link, length], rest)) = bytes.split_first_chunk() else { return };
    let Some((lines, packet)) = rest.split_at_checked(length.into()) else { return };
    let Ok(lines) = str::from_utf8(lines) else { return };
    let Some(link_type) = link_types().nth(usize::from(link) % link_types().len()) else { return };
    let options = Options { metadata: true, ..Options::new(link_type, &Hermetic) };
    let filters: Vec<_> = lines.lines().filter_map(|line| compile(line, &options).ok()).collect();
    let table: Vec<_> = (0..=packet.len() as u32)
        .map(|captured| Descriptor { captured, length: packet.len() as u32, ..Descriptor::default() })
        .collect();
    let interfaces = [Interface { link_type, ..Interface::default() }];
    agree(&filters, &Batch::new(packet, &table, &interfaces));
});

fn agree(filters: &[Filter], batch: &Batch<'_>) {
    let (mut matches, mut together) = (Matches::new(), SetMatches::new());
    for level in Level::all() {
        FilterSet::at_level(filters, level).run(batch, None, &mut together);
        for (number, filter) in filters.iter().enumerate() {
            let engine = Engine::at_level(filter, level);
            engine.run(batch, None, &mut matches);
            for (at, packet) in batch.iter().enumerate() {
                let input = Input::of(&packet, None);
                let meant = filter.evaluate(&input) == Verdict::True;
                assert_eq!(engine.keeps(&input), meant);
                assert_eq!(matches.contains(at), meant, "{level}");
                assert_eq!(together.contains(at, number), meant, "in a set, {level}");
            }
        }
    }
}
