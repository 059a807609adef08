//! A whole peer-to-peer network in one snapshot, by `linerate connect --follow`.

use std::collections::HashSet;
use std::fs;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use linerate::lab::Child;
use linerate::tcp::mirror::{Answer, Ending, Peers};

use super::EXPERIMENT;
use super::exchange::NETWORK;
use super::ground::Ground;
use crate::bench::progress::Progress;
use crate::bench::row::{Row, compare};
use crate::bench::runner::Samples;
use crate::units::grouped;

pub(super) const NAME: &str = "peers crawled";

/// How many others each peer names.
const NAMED: u32 = 10;
/// SYNs a second: of many more, answers come more quickly than they are looked at, and are lost.
const RATE: &str = "160000";

/// From one peer on, by the whole command: how long it takes to find so many, and how many it does not reach.
pub(super) fn rows(
    ground: &Ground,
    peers: u32,
    repeats: usize,
    progress: &mut Progress,
) -> Result<Vec<Row>> {
    let case = format!("{} {NAME}", grouped(peers.into()));
    let network = Peers { ranges: vec![(NETWORK, peers)], named: NAMED };
    let _mirror = ground.reflect(Answer::Peers(network), Ending::Fin)?;
    let (mut seconds, mut missed) = (Vec::new(), Vec::new());
    for _ in 0..repeats {
        progress.next_of(&case, 1.0 / repeats as f64);
        let (time, found) = crawl(ground)?;
        seconds.push(time);
        missed.push(100.0 * f64::from(peers.saturating_sub(found)) / f64::from(peers));
    }
    let figure = |figures| [("linerate".to_owned(), Some(Samples::new(figures)))];
    let mut rows = compare(EXPERIMENT, &case, "s", "", &figure(seconds));
    rows.extend(compare(EXPERIMENT, &format!("{case}, missed"), "%", "", &figure(missed)));
    Ok(rows)
}

/// The time from the command's start to its end, and how many different peers are in its output.
fn crawl(ground: &Ground) -> Result<(f64, u32)> {
    let folder = tempfile::tempdir().context("make a folder for what is found")?;
    let found = folder.path().join("found");
    let mut command = ground.connect(RATE);
    command.args(["-p", "6346", "--request", "gnutella", "--follow", "--retries", "1"]);
    command.args(["--cooldown", "500ms", "--fields", "address,outcome", "-o"]).arg(&found);
    command.arg(NETWORK.to_string()).stderr(Stdio::piped());
    let began = Instant::now();
    let output = Child::start(command)?.output()?;
    let seconds = began.elapsed().as_secs_f64();
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`linerate connect` said: {}", said.trim());
    let text = fs::read_to_string(&found).context("read what was found")?;
    let peers: HashSet<_> = text.lines().filter_map(|row| row.strip_suffix(",finished")).collect();
    Ok((seconds, peers.len() as u32))
}
