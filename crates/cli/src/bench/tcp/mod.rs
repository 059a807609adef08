//! `linerate bench tcp`: how many connections a core opens, uses and ends in a second.
//!
//! - [`exchange`]: what happens on each connection
//! - [`ground`]: two hosts, and on one of them our mirror, or nginx
//! - [`kernel`]: a client by the kernel's sockets and epoll; [`ours`]: one by our TCP; [`masscan`]
//! - [`held`]: memory of ten million open connections
//! - [`crawl`]: a network of peers, found from one of them; [`beside`]: what is left for the host's own TCP
//!
//! `docs/benchmarks.md` says how each figure comes about.

mod beside;
mod crawl;
mod exchange;
mod ground;
mod held;
mod kernel;
mod masscan;
mod ours;

use std::time::Duration;

use anyhow::Result;

use super::progress::Progress;
use super::row::{Paper, Row, compare};
use super::runner::{Subject, measure};
use crate::args::BenchArgs;
use crate::bench::peer::version;
use crate::output;
use exchange::{Exchange, Server};
use ground::Ground;

const EXPERIMENT: &str = "tcp";
/// What the others are compared with.
const KERNEL: &str = "kernel, epoll";
const OURS: &str = "linerate";
const UNIT: &str = "connections/s";

/// How much is measured.
#[derive(Clone, Copy)]
struct Effort {
    repeats: usize,
    /// For how long connections are counted.
    time: Duration,
    /// Connections that are held open.
    held: usize,
    /// Peers that are crawled.
    peers: u32,
}

impl Effort {
    fn new(quick: bool) -> Self {
        match quick {
            true => Self {
                repeats: 1,
                time: Duration::from_millis(500),
                held: 1_000_000,
                peers: 100_000,
            },
            false => Self {
                repeats: 5,
                time: Duration::from_secs(1),
                held: 10_000_000,
                peers: 1_200_000,
            },
        }
    }
}

pub(super) fn run(args: &BenchArgs) -> Result<Vec<Row>> {
    let effort = Effort::new(args.quick);
    let cases = Exchange::all(args.quick);
    let parts = [held::NAME, crawl::NAME, beside::NAME].map(str::to_owned);
    args.check_only(cases.iter().map(Exchange::name).chain(parts))?;
    let cases: Vec<_> = cases.into_iter().filter(|case| args.wants(&case.name())).collect();
    let ground = Ground::new()?;
    let others = [(held::NAME, 1), (crawl::NAME, 1), (beside::NAME, beside::STEPS)];
    let others = others.iter().filter(|(name, _)| args.wants(name)).map(|(_, steps)| steps);
    let mut progress = Progress::new(3 * cases.len() + others.sum::<usize>());
    let mut rows = Vec::new();
    for case in cases {
        rows.extend(rates(&ground, case, effort, &mut progress)?);
    }
    if args.wants(held::NAME) {
        rows.extend(held::rows(effort.held, &mut progress)?);
    }
    if args.wants(crawl::NAME) {
        rows.extend(crawl::rows(&ground, effort.peers, effort.repeats, &mut progress)?);
    }
    if args.wants(beside::NAME) {
        rows.extend(beside::rows(&ground, effort.repeats, &mut progress)?);
    }
    Ok(rows)
}

/// Connections a second of everybody.
fn rates(
    ground: &Ground,
    case: Exchange,
    effort: Effort,
    progress: &mut Progress,
) -> Result<Vec<Row>> {
    let _servers = ground.serve(case)?;
    let time = effort.time;
    let kernel = move || kernel::trial(ground, case, time);
    let ours = move || ours::trial(ground, case, time);
    let mut subjects = vec![
        Subject { name: KERNEL.into(), run: Some(Box::new(kernel)) },
        Subject { name: OURS.into(), run: Some(Box::new(ours)) },
    ];
    if case.server == Server::Nginx {
        subjects.push(masscan(ground));
    }
    let figures = measure(&case.name(), subjects, effort.repeats, progress)?;
    let mut rows = compare(EXPERIMENT, &case.name(), UNIT, KERNEL, &figures);
    rows.iter_mut().filter(|row| row.subject == OURS).for_each(|row| row.paper = Some(IRLSTACK));
    Ok(rows)
}

/// What the paper has: 250,000 by IRLstack, 16,656 by Windows' sockets on the same machine.
const IRLSTACK: Paper = Paper {
    system: "IRLstack, 1 core",
    value: Some(250_000.0),
    unit: UNIT,
    ratio: Some((15.0, 15.0)),
};

fn masscan(ground: &Ground) -> Subject<'_> {
    let version = version("masscan");
    if version.is_none() {
        output::tell("without masscan: `apt install masscan` installs it");
    }
    let name = format!("masscan {} --banners", version.as_deref().unwrap_or("(missing)"));
    let run = move || masscan::trial(ground);
    Subject { name, run: version.is_some().then_some(Box::new(run) as _) }
}
