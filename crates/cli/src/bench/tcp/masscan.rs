//! masscan, which has a TCP of its own for the first words of servers.

use std::collections::HashSet;
use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::exchange::{NETWORK, NETWORK_BITS};
use super::ground::{Ground, OWN};
use crate::bench::wire;

/// SYNs a second: faster ones find fewer servers.
const RATE: u64 = 20_000;
/// Seconds for which it waits for answers after the last SYN.
const WAIT: u64 = 2;
/// Nobody waits longer than this for its end.
const LONGEST: Duration = Duration::from_secs(15);

/// Servers whose answer it has written down, by the seconds that it took, its wait at the end left out.
pub(super) fn trial(ground: &Ground) -> Result<f64> {
    // It takes no segment whose checksum is left to a card, and on a virtual wire there is none.
    ground.leave_checksums(false)?;
    let rate = rate(ground);
    ground.leave_checksums(true)?;
    rate
}

fn rate(ground: &Ground) -> Result<f64> {
    let folder = tempfile::tempdir().context("make a folder for masscan")?;
    let found = folder.path().join("found");
    let router = ground.next_hop().map(|byte| format!("{byte:02x}")).join("-");
    let mut command = ground.client().command_with_sysfs("masscan");
    command.args([&format!("{NETWORK}/{NETWORK_BITS}"), "-p80", "--banners"]);
    command.args(["-e", ground.client().interface(), "--source-ip", &OWN.to_string()]);
    command.args([
        "--router-mac",
        &router,
        "--rate",
        &RATE.to_string(),
        "--wait",
        &WAIT.to_string(),
    ]);
    command.arg("-oL").arg(&found).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = wire::start_on(&[ground.client_core], command)?;
    let began = Instant::now();
    while child.try_wait()?.is_none() && began.elapsed() < LONGEST {
        thread::sleep(Duration::from_millis(5));
    }
    let seconds = (began.elapsed() - Duration::from_secs(WAIT)).as_secs_f64();
    drop(child);
    let text = fs::read_to_string(&found).context("read what masscan has found")?;
    Ok(servers(&text) as f64 / seconds)
}

/// How many servers have a banner in its list, of which there may be several lines: `banner tcp 80 10.64.0.1 TIME KIND TEXT`.
fn servers(list: &str) -> usize {
    let banners = list.lines().filter(|line| line.starts_with("banner "));
    banners.filter_map(|line| line.split(' ').nth(3)).collect::<HashSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_count_once() {
        let list = "#masscan\nopen tcp 80 10.0.0.1 1\nbanner tcp 80 10.0.0.1 1 http x\n\
                    banner tcp 80 10.0.0.2 2 http y\nbanner tcp 80 10.0.0.1 1 http.server z\n# end\n";
        assert_eq!(servers(list), 2);
    }
}
