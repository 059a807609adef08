//! `linerate bench paper`: the experiments of the papers that this program follows, beside their figures.
//!
//! - [`figures`]: what the papers have
//! - [`findings`]: what an experiment gives: rows, charts, remarks
//! - one module for each experiment, or for those that are measured together
//! - [`report`]: the page; [`table`]: rows beside the papers', for a README; [`store`]: results that are kept
//!
//! The papers: P1, Degioanni, Baldi, Risso, Varenni: Profiling and Optimization of Software-Based Network-Analysis
//! Applications, 2003. P2, NetGroup, Politecnico di Torino: WinPcap, Performance and tests, 2000. P3, Smith, Loguinov:
//! Enabling High-Performance Internet-Wide Measurements on Windows, 2010. P4, Yang, Dou, Lei, Yu: Performance analysis
//! of high rate packet capture on multiprocessor platform, 2009. `docs/benchmarks.md` says how each figure comes about.

mod approaches;
mod calls;
mod connecting;
mod copies;
mod figures;
mod filters;
mod findings;
mod loads;
mod processes;
mod receiving;
mod report;
mod saving;
mod sending;
mod store;
mod table;
mod timestamps;
mod visiting;
mod whole;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use linerate::sys::clock::CycleClock;

use super::capture::measure::Effort;
use super::progress::Progress;
use super::report as rows;
use super::row::Row;
use crate::args::BenchArgs;
use crate::output;
use findings::Findings;

/// One experiment, or several that are measured together.
struct Experiment {
    /// As `--only` takes them.
    names: &'static [&'static str],
    title: &'static str,
    /// How long it takes, about, for the time that is left.
    seconds: f64,
    run: fn(&Conditions) -> Result<Findings>,
}

const EXPERIMENTS: [Experiment; 14] = [
    Experiment {
        names: &["P1.fig4", "P1.fig7"],
        title: "What a filter costs by its length, interpreted and compiled",
        seconds: 5.0,
        run: filters::run,
    },
    Experiment {
        names: &["P1.fig5", "P1.fig8"],
        title: "What copying a byte costs, by sizes of packets and buffers",
        seconds: 95.0,
        run: copies::run,
    },
    Experiment {
        names: &["P1.fig6", "P1.fig9"],
        title: "The whole way of a packet, by component",
        seconds: 40.0,
        run: whole::run,
    },
    Experiment {
        names: &["P1.timestamps"],
        title: "What a timestamp costs",
        seconds: 25.0,
        run: timestamps::run,
    },
    Experiment {
        names: &["P1.calls"],
        title: "What a system call costs a packet",
        seconds: 10.0,
        run: calls::run,
    },
    Experiment {
        names: &["P2.test1"],
        title: "Two filters that reject everything",
        seconds: 50.0,
        run: loads::rejecting,
    },
    Experiment {
        names: &["P2.test2"],
        title: "Everything is taken and thrown away",
        seconds: 100.0,
        run: loads::accepting,
    },
    Experiment {
        names: &["P2.test3"],
        title: "Everything is written to a file",
        seconds: 150.0,
        run: saving::run,
    },
    Experiment {
        names: &["P3.send"],
        title: "SYN packets sent, by one core and by two",
        seconds: 120.0,
        run: sending::rates,
    },
    Experiment {
        names: &["P3.batch"],
        title: "SYN packets sent, by the size of a batch",
        seconds: 60.0,
        run: sending::batches,
    },
    Experiment {
        names: &["P3.receive"],
        title: "Packets received by one core, and by two",
        seconds: 60.0,
        run: receiving::run,
    },
    Experiment {
        names: &["P3.connect"],
        title: "TCP connections, by the kernel and in user space",
        seconds: 40.0,
        run: connecting::run,
    },
    Experiment {
        names: &["P4.table1", "P4.table2"],
        title: "Highest rate without loss, and throughput, by approach",
        seconds: 80.0,
        run: approaches::run,
    },
    Experiment {
        names: &["P4.fig2-10"],
        title: "One and two programs that capture, and whose time they take, by the rate",
        seconds: 130.0,
        run: processes::run,
    },
];

/// No experiment may take longer.
const LONGEST: Duration = Duration::from_secs(180);

/// How an experiment is to be made.
struct Conditions {
    quick: bool,
    /// Where files go, where the user says.
    folder: Option<PathBuf>,
    /// Cycles of the time-stamp counter in a nanosecond.
    cycles: f64,
}

impl Conditions {
    /// Trials of each subject.
    fn repeats(&self) -> usize {
        if self.quick { 1 } else { 3 }
    }

    /// For trials with a buffer of so many MiB.
    fn effort(&self, buffer: u64) -> Effort {
        let time = Duration::from_millis(if self.quick { 200 } else { 400 });
        let repeats = self.repeats();
        Effort { sizes: &[], repeats, time, precision: 0.1, fillings: 2.0, buffer }
    }
}

/// What one experiment gave, and how long it took.
struct Done {
    experiment: &'static Experiment,
    findings: Findings,
    took: Duration,
}

impl Experiment {
    fn name(&self) -> String {
        self.names.join(", ")
    }
}

pub(super) fn run(args: &BenchArgs) -> Result<Vec<Row>> {
    args.check_only(EXPERIMENTS.iter().flat_map(|experiment| experiment.names))?;
    store::check(args)?;
    let is_wanted = |experiment: &&Experiment| experiment.names.iter().any(|name| args.wants(name));
    let wanted: Vec<_> = EXPERIMENTS.iter().filter(is_wanted).collect();
    let conditions = Conditions {
        quick: args.quick,
        folder: args.dir.clone(),
        cycles: CycleClock::realtime()?.cycles_per_nanosecond(),
    };
    let mut progress = Progress::of(wanted.iter().map(|experiment| experiment.seconds).sum());
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for experiment in wanted {
        let what = format!("{}: {}", experiment.name(), experiment.title);
        progress.next_of(&what, experiment.seconds);
        let began = Instant::now();
        let findings = (experiment.run)(&conditions).with_context(|| experiment.name());
        let findings = findings.unwrap_or_else(|error| {
            // What the others give is worth having.
            output::tell(format_args!("{error:#}"));
            failed.push(experiment.name());
            Findings::default().remark(&format!("It failed: {error:#}"))
        });
        let took = began.elapsed();
        if took > LONGEST {
            output::tell(format_args!("{} took {} s", experiment.name(), took.as_secs()));
        }
        done.push(Done { experiment, findings, took });
    }
    store::keep(args, &done)?;
    let rows: Vec<_> = done.iter().flat_map(|done| done.findings.all().cloned()).collect();
    if !failed.is_empty() {
        rows::print(&rows, args.json)?;
        bail!("these experiments failed: {}", failed.join("; "));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_experiments_have_one_name() {
        let mut names: Vec<_> = EXPERIMENTS.iter().flat_map(|e| e.names).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn all_experiments_together_take_less_than_half_an_hour() {
        let seconds = |experiment: &Experiment| experiment.seconds;
        assert!(EXPERIMENTS.iter().map(seconds).sum::<f64>() < 1800.0);
        assert!(EXPERIMENTS.iter().map(seconds).all(|seconds| seconds < LONGEST.as_secs_f64()));
    }
}
