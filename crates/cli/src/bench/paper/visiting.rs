//! P3, 4.3: connections that our own TCP opens in user space: `linerate connect`, to a host that is many (`linerate mirror`).
//!
//! Each is what the paper's are: SYN, SYN-ACK, ACK with a request, an answer, RST.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use linerate::lab::{Child, Host, Lab, Offload};
use tempfile::NamedTempFile;

use super::Conditions;
use crate::bench::search::{Bracket, Trial, highest_lossless};
use crate::bench::wire;

/// The mirror's addresses, and that of the client, which is not its host's.
const TARGETS: &str = "10.0.0.64/28";
const ADDRESSES: f64 = 16.0;
const OWN: &str = "10.0.0.99";
/// What the mirror answers, and how long it is.
const ANSWER: &str = "hello";
const ENOUGH: &str = "5";

/// Ports of a trial that shows how fast the client is; others are as long as told.
const PORTS: u16 = 16_384;
const PRECISION: f64 = 0.1;
/// After the last SYN.
const COOLDOWN: Duration = Duration::from_millis(100);
/// A client whose rate is lower than this share of the one asked for has come to its own limit.
const REACHED: f64 = 0.9;
const PATIENCE: Duration = Duration::from_secs(20);

/// Rates between which that lies at which all connections stand that were begun.
pub(super) fn limit(conditions: &Conditions) -> Result<Bracket> {
    let (client, server) = wire::cores()?;
    let plan = Lab::plan().host("a").host("b").offload(Offload::GenericReceive, true);
    let lab = plan.build()?;
    let _mirror = mirror(lab.host("b"), server)?;
    let seconds = if conditions.quick { 0.5 } else { 2.0 };
    let overload = visit(lab.host("a"), client, None, PORTS)?;
    highest_lossless(overload, PRECISION, |rate| {
        let ports = (rate * seconds / ADDRESSES).clamp(1.0, f64::from(u16::MAX));
        visit(lab.host("a"), client, Some(rate), ports as u16)
    })
}

fn mirror(host: &Host, core: usize) -> Result<Child> {
    let answer = NamedTempFile::new()?;
    fs::write(&answer, ANSWER)?;
    let said = NamedTempFile::new()?;
    let mut command = host.command(std::env::current_exe()?);
    command.args(["mirror", "-i", host.interface(), "--ending", "none", TARGETS, "--answer"]);
    command.arg(answer.path()).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(said.reopen()?);
    let mirror = wire::start_on(&[core], command)?;
    wait_for(said.path(), "answering on").context("start `linerate mirror`")?;
    Ok(mirror)
}

fn wait_for(file: &Path, words: &str) -> Result<()> {
    let begun = Instant::now();
    loop {
        let text = fs::read_to_string(file)?;
        if text.contains(words) {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            bail!("it said: {}", text.trim());
        }
        sleep(Duration::from_millis(5));
    }
}

/// A connection to each of so many ports of all addresses.
fn visit(host: &Host, core: usize, rate: Option<f64>, ports: u16) -> Result<Trial> {
    let asked = rate.map_or_else(|| "max".to_owned(), |rate| format!("{rate:.0}"));
    let (ports, cooldown) = (format!("1-{ports}"), format!("{}ms", COOLDOWN.as_millis()));
    let mut command = host.command(std::env::current_exe()?);
    command.args(["connect", "-i", host.interface(), "--own", OWN, "--allow-reserved"]);
    command.args(["--source-ports", "1024-65535", "-r", &asked, "-p", &ports, TARGETS]);
    command.args(["--request", "text:x", "--bytes", ENOUGH, "--cooldown", &cooldown]);
    command.args(["--fields", "address", "-o", "/dev/null"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = wire::start_on(&[core], command)?.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let trial = read(&said, rate).filter(|_| output.status.success());
    trial.with_context(|| format!("`linerate connect` said: {}", said.trim()))
}

/// What the summary says: `N connections asked for in T s, N opened`. Its time is in tenths of a second, with the
/// cooldown.
fn read(said: &str, asked: Option<f64>) -> Option<Trial> {
    let before = |words: &str| said.split_once(words)?.0.split_whitespace().last();
    let number = |words: &str| before(words)?.replace(',', "").parse::<u64>().ok();
    let (sent, opened) = (number(" connections asked for")?, number(" opened;")?);
    let seconds: f64 = before(" s, ")?.parse().ok()?;
    let rate = sent as f64 / (seconds - COOLDOWN.as_secs_f64()).max(0.05);
    let rate = asked.filter(|asked| rate > asked * REACHED).unwrap_or(rate);
    Some(Trial { rate, sent, lost: sent.saturating_sub(opened) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_client_says_is_read() {
        let said = "linerate: 524,288 connections asked for in 2.1 s, 524,000 opened; 0 segments sent again";
        let trial = read(said, None).unwrap();
        assert_eq!((trial.sent, trial.lost, trial.rate.round()), (524_288, 288, 262_144.0));
        assert_eq!(read(said, Some(250_000.0)).unwrap().rate, 250_000.0);
        assert!(read(said, Some(900_000.0)).unwrap().rate < 300_000.0);
        assert_eq!(read("linerate: connect: no such interface", None), None);
    }
}
