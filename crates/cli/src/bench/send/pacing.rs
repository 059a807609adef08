//! How exactly packets leave: gaps between them, by the receiving kernel's clock.

use std::time::Duration;

use anyhow::{Result, ensure};
use linerate::base::Timestamp;
use linerate::transmit::pacing::{Pace, Rate};
use linerate::transmit::{Backend, Plan, Sender};

use super::ground::{Device, Ground};
use super::observe::observe;
use super::packets::{Packets, Protocol};
use super::subject::{Subject, Way};
use super::tables::EXPERIMENT;
use crate::bench::progress::Progress;
use crate::bench::row::{Row, compare};
use crate::bench::runner::Samples;

/// Rates asked for, packets a second.
pub(super) const RATES: [u64; 6] = [100_000, 250_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000];

const PACKETS: Packets = Packets { protocol: Protocol::Udp, unique: false };

/// The rows of all rates, of those of our own who keep a rate.
pub(super) fn rows(ground: &Ground, subjects: &[Subject], time: Duration) -> Result<Vec<Row>> {
    let keepers = |rate| subjects.iter().filter(move |subject| keeps(subject.way, rate));
    let steps = RATES.iter().map(|rate| keepers(*rate).count()).sum();
    let mut progress = Progress::new(steps);
    let mut rows = Vec::new();
    for rate in RATES {
        let mut seen = Vec::new();
        for subject in keepers(rate) {
            let case = format!("paced, {rate} packets/s");
            progress.next(&format!("{case}, {}", subject.name));
            seen.push((subject.name.clone(), gaps(ground, subject.way, rate, time)?));
        }
        rows.extend(of_rate(rate, &seen));
    }
    Ok(rows)
}

/// The program in the kernel keeps any rate; of the sinks the ring, a rate that it surely reaches.
fn keeps(way: Way, rate: u64) -> bool {
    way == Way::Template || (way == Way::Sink(Backend::Ring) && rate <= 250_000)
}

fn gaps(ground: &Ground, way: Way, rate: u64, time: Duration) -> Result<Gaps> {
    let mut gaps = Gaps::default();
    let count = (rate as f64 * time.as_secs_f64()) as u64;
    observe(
        ground,
        |packet| gaps.note(packet.time),
        || {
            let send = move || -> Result<()> {
                let backend = if let Way::Sink(backend) = way { backend } else { Backend::Live };
                let template = PACKETS.template(Device::Veth)?;
                let pace = Pace::new(Rate::Frames(rate * 1000));
                let plan = Plan {
                    template: &template,
                    pace,
                    count: Some(count),
                    duration: Some(time * 2),
                    threads: 1,
                };
                let mut sender = Sender::open(&plan, Device::Veth.name(), Some(backend), 0)?;
                Ok(sender.run(&plan, &|_| false).1?)
            };
            let sending = ground.sender().spawn_on(ground.sender_core, send);
            sending.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        },
    )?;
    ensure!(gaps.count() > 0, "no two packets came at {rate} packets/s");
    Ok(gaps)
}

fn of_rate(rate: u64, seen: &[(String, Gaps)]) -> Vec<Row> {
    let rows = |figure: &str, unit, of: &dyn Fn(&Gaps) -> f64| {
        let figures =
            seen.iter().map(|(name, gaps)| (name.clone(), Some(Samples::new(vec![of(gaps)]))));
        let case = format!("paced, {rate} packets/s, {figure}");
        compare(EXPERIMENT, &case, unit, "", &figures.collect::<Vec<_>>())
    };
    let asked = 1e9 / rate as f64;
    let mut all = rows("mean rate off by", "%", &|gaps| (asked / gaps.mean() - 1.0).abs() * 100.0);
    all.extend(rows("median gap", "ns", &|gaps| gaps.quantile(0.5) as f64));
    all.extend(rows("99 % of gaps up to", "ns", &|gaps| gaps.quantile(0.99) as f64));
    all
}

/// Gaps of more nanoseconds than this are counted as of one size.
const LONGEST: usize = 1_000_000;

/// How many gaps there were of each length, to the nanosecond.
#[derive(Debug, Default)]
struct Gaps {
    counts: Vec<u64>,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl Gaps {
    fn note(&mut self, time: Timestamp) {
        self.counts.resize(LONGEST + 1, 0);
        self.first.get_or_insert(time);
        if let Some(last) = self.last.replace(time) {
            let gap = (time.nanos() - last.nanos()).max(0);
            self.counts[usize::try_from(gap).unwrap_or(LONGEST).min(LONGEST)] += 1;
        }
    }

    fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Nanoseconds, of all gaps.
    fn mean(&self) -> f64 {
        let span =
            self.first.zip(self.last).map_or(0, |(first, last)| last.nanos() - first.nanos());
        span as f64 / self.count().max(1) as f64
    }

    /// The length in nanoseconds that so large a share of the gaps does not exceed.
    fn quantile(&self, share: f64) -> usize {
        let wanted = (self.count() as f64 * share).ceil() as u64;
        let mut seen = 0;
        let at = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        at.unwrap_or(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_told_by_their_quantiles() {
        let mut gaps = Gaps::default();
        let mut time = 0;
        for gap in (0..99).map(|_| 1000).chain([9000]) {
            gaps.note(Timestamp::from_nanos(time));
            time += gap;
        }
        gaps.note(Timestamp::from_nanos(time));
        assert_eq!((gaps.count(), gaps.mean()), (100, 1080.0));
        assert_eq!(
            (gaps.quantile(0.5), gaps.quantile(0.99), gaps.quantile(1.0)),
            (1000, 1000, 9000)
        );
        let rows = of_rate(1_000_000, &[("us".into(), gaps)]);
        let values: Vec<_> = rows.iter().map(|row| row.value.unwrap().round()).collect();
        assert_eq!(values, [7.0, 1000.0, 1000.0]);
    }
}
