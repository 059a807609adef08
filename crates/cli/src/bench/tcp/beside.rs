//! What `linerate connect` leaves of the host's own TCP on the same interface.

use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use linerate::lab::{Child, traffic};
use linerate::tcp::mirror::{Answer, Ending};

use super::EXPERIMENT;
use super::exchange::{ANSWER, NETWORK};
use super::ground::{CROWD_BITS, Ground};
use crate::bench::progress::Progress;
use crate::bench::row::{Row, compare};
use crate::bench::runner::{Samples, in_turn};

pub(super) const NAME: &str = "TCP beside it";

/// Bytes of a transfer.
const BYTES: u64 = 2_000_000_000;
const ALONE: &str = "nobody";
/// Connections a second: as many as `connect` opens where no rate is named, and ten times as many.
const RATES: [Option<&str>; 3] = [None, Some("10000"), Some("100000")];
/// Steps of [`Progress`].
pub(super) const STEPS: usize = RATES.len();
/// What has come to the server once it has begun.
const FRAMES: u64 = 1_000;
const PATIENCE: Duration = Duration::from_secs(20);

/// Rates of a connection of the host's, alone and while so many a second are opened, used and ended from another address.
pub(super) fn rows(ground: &Ground, repeats: usize, progress: &mut Progress) -> Result<Vec<Row>> {
    let _mirror = ground.reflect(Answer::Bytes(ANSWER.to_vec()), Ending::Fin)?;
    let name = |rate: &Option<&str>| match rate {
        None => ALONE.to_owned(),
        Some(rate) => format!("linerate, {rate} connections/s"),
    };
    let mut rates = RATES;
    let figures = in_turn(&mut rates, repeats, progress, name, |_, rate| transfer(ground, *rate))?;
    let figures = RATES.iter().zip(figures);
    let figures: Vec<_> =
        figures.map(|(rate, figures)| (name(rate), Some(Samples::new(figures)))).collect();
    Ok(compare(EXPERIMENT, NAME, "Gbit/s", ALONE, &figures))
}

fn transfer(ground: &Ground, rate: Option<&str>) -> Result<f64> {
    let _beside = rate.map(|rate| connecting(ground, rate)).transpose()?;
    let began = Instant::now();
    let transfer = traffic::transfer(ground.client(), ground.server(), 0, BYTES)?;
    Ok(transfer.bytes as f64 * 8.0 / began.elapsed().as_secs_f64() / 1e9)
}

/// The command, which has more to do than there is time for.
fn connecting(ground: &Ground, rate: &str) -> Result<Child> {
    let mut command = ground.connect(rate);
    command.args(["-p", "80", "--request", "http", "--fields", "address", "-o", "/dev/null"]);
    command.arg(format!("{NETWORK}/{CROWD_BITS}")).stderr(Stdio::null());
    let came = || -> Result<u64> { Ok(ground.server().counters()?.received) };
    let before = came()?;
    let child = Child::start(command)?;
    let began = Instant::now();
    while came()? < before + FRAMES {
        ensure!(began.elapsed() < PATIENCE, "`linerate connect` does not begin");
        sleep(Duration::from_millis(5));
    }
    Ok(child)
}
