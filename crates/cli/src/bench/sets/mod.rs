//! `linerate bench sets`: what a packet costs when many filters want a verdict on it.
//!
//! - [`families`]: the filters

mod families;

use std::time::Duration;

use anyhow::Result;
use linerate::base::{Batch, LinkType};
use linerate::exec::{FilterSet, SetMatches};
use linerate::filter::{self, Filter, Hermetic, Options};
use linerate::sys::libpcap::{Libpcap, Program};

use super::filter::engines::{ours_for, theirs};
use super::filter::packets::{Packets, Place, Traffic};
use super::filter::{Course, microseconds};
use super::progress::Progress;
use super::row::{Row, compare};
use super::runner::{Subject, measure};
use crate::args::BenchArgs;
use families::Family;

/// All at once.
const SET: &str = "set";
/// Each by itself.
const ONE_BY_ONE: &str = "libpcap's interpreter, one by one";
/// A single verdict.
const JOINED: &str = "libpcap's interpreter, joined by or";

pub(super) fn run(args: &BenchArgs) -> Result<Vec<Row>> {
    args.check_only([SET, ONE_BY_ONE, JOINED])?;
    let libpcap = Libpcap::load().ok();
    let sizes: &[u32] = if args.quick { &[1, 10, 1000] } else { &[1, 10, 100, 1000, 10_000] };
    let names = [SET, ONE_BY_ONE, JOINED].into_iter().filter(|name| wanted(args, name)).count();
    let progress = &mut Progress::new(Family::ALL.len() * sizes.len() * (names + 1));
    let packets = Packets::new(Place::L2, Traffic::Mixed);
    let mut rows = Vec::new();
    for family in Family::ALL {
        for size in sizes {
            let case = Case::new(family, *size)?;
            rows.extend(case.building(args, progress)?);
            rows.extend(case.running(args, libpcap, &packets, progress)?);
        }
    }
    Ok(rows)
}

/// What the others are compared with always takes part.
fn wanted(args: &BenchArgs, name: &str) -> bool {
    name == ONE_BY_ONE || args.wants(name)
}

/// Filters of a family.
struct Case {
    name: String,
    texts: Vec<String>,
    filters: Vec<Filter>,
}

impl Case {
    fn new(family: Family, size: u32) -> Result<Self> {
        let texts: Vec<_> = (0..size).map(|number| family.text(number)).collect();
        let filters = texts.iter().map(|text| compiled(text)).collect::<Result<_>>()?;
        let filters_are = if size == 1 { "filter" } else { "filters" };
        Ok(Self { name: format!("{size} {filters_are}, {family}"), texts, filters })
    }

    /// From compiled filters to a set.
    fn building(&self, args: &BenchArgs, progress: &mut Progress) -> Result<Vec<Row>> {
        let build = || {
            std::hint::black_box(FilterSet::new(&self.filters));
            Ok(())
        };
        let subject =
            Subject { name: SET.into(), run: Some(Box::new(move || microseconds(build))) };
        let name = format!("{}, building", self.name);
        let results = measure(&name, vec![subject], args.repeats(), progress)?;
        Ok(compare("sets", &name, "us", SET, &results))
    }

    fn running(
        &self,
        args: &BenchArgs,
        libpcap: Option<Libpcap>,
        packets: &Packets,
        progress: &mut Progress,
    ) -> Result<Vec<Row>> {
        let set = FilterSet::new(&self.filters);
        let mut matches = SetMatches::new();
        let mut subjects: Vec<(&str, Option<Keeps<'_>>)> = vec![(
            SET,
            Some(Box::new(move |batch| {
                set.run(batch, None, &mut matches);
                matches.packets()
            })),
        )];
        subjects.push((ONE_BY_ONE, libpcap.map(|libpcap| self.one_by_one(libpcap)).transpose()?));
        if wanted(args, JOINED) {
            subjects.push((JOINED, libpcap.map(|libpcap| self.joined(libpcap)).transpose()?));
        }
        subjects.retain(|(name, _)| wanted(args, name));
        let course = &Course::new(packets.batch());
        let time = Duration::from_millis(if args.quick { 2 } else { 5 });
        let subjects = subjects.into_iter().map(|(name, keeps)| Subject {
            name: name.into(),
            run: keeps.map(|mut keeps| {
                Box::new(move || Ok(course.nanoseconds(time, &mut keeps)))
                    as Box<dyn FnMut() -> Result<f64> + '_>
            }),
        });
        let results = measure(&self.name, subjects.collect(), args.repeats(), progress)?;
        Ok(compare("sets", &self.name, "ns", ONE_BY_ONE, &results))
    }

    fn one_by_one(&self, libpcap: Libpcap) -> Result<Keeps<'_>> {
        let programs: Vec<_> =
            self.texts.iter().map(|text| theirs(libpcap, text)).collect::<Result<_>>()?;
        Ok(Box::new(move |batch| programs.iter().map(|program| kept(program, batch)).sum()))
    }

    /// Compiled by us, for libpcap's optimiser takes minutes over a thousand.
    fn joined(&self, libpcap: Libpcap) -> Result<Keeps<'_>> {
        let program = ours_for(libpcap, &compiled(&format!("({})", self.texts.join(") or (")))?)?;
        Ok(Box::new(move |batch| kept(&program, batch)))
    }
}

type Keeps<'a> = Box<dyn FnMut(&Batch<'_>) -> usize + 'a>;

fn kept(program: &Program, batch: &Batch<'_>) -> usize {
    batch.iter().filter(|packet| program.verdict(packet.data, packet.length) != 0).count()
}

fn compiled(text: &str) -> Result<Filter> {
    let options = Options::new(LinkType::ETHERNET, &Hermetic);
    filter::compile(text, &options).map_err(|error| anyhow::anyhow!("{error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate::base::Matches;
    use linerate::exec::Engine;

    #[test]
    fn a_set_keeps_what_its_filters_keep_one_by_one() {
        let packets = Packets::new(Place::L2, Traffic::Mixed);
        let batch = packets.batch();
        for family in Family::ALL {
            let case = Case::new(family, 300).unwrap();
            let (mut together, mut matches) = (SetMatches::new(), Matches::new());
            FilterSet::new(&case.filters).run(&batch, None, &mut together);
            let mut kept = 0;
            for (number, filter) in case.filters.iter().enumerate() {
                Engine::new(filter).run(&batch, None, &mut matches);
                kept += matches.count();
                let agrees = |at: usize| together.contains(at, number) == matches.contains(at);
                assert!((0..batch.len()).all(agrees), "{}", case.texts[number]);
            }
            assert!(kept > 0, "{family}: no packet is kept");
        }
    }
}
