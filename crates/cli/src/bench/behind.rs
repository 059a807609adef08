//! The wire of the benches with whole networks behind `b`: for programs on `a` that talk with many hosts.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use linerate::lab::traffic::live::SoftirqThreads;
use linerate::lab::{Child, Host, Lab};
use linerate::sys::netlink;
use linerate::transmit::Outlet;

use super::{processor, wire};

/// What is behind `b`: 10.64.0.0 and so many bits.
pub(super) const NETWORK: &str = "10.64.0.0";
const NETWORK_BITS: u8 = 10;
/// The address by which programs send that bring their own stack: nobody's.
pub(super) const SPARE: &str = "10.0.0.99";
/// The hardware address of `b`.
pub(super) const ROUTER: &str = "02:00:00:00:00:02";

/// From the first frame until it counts.
const WARM_UP: Duration = Duration::from_millis(100);
/// Within this time a program starts to send.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often is looked what came.
const GLANCE: Duration = Duration::from_millis(5);

/// Two hosts on a wire.
pub(super) struct Ground {
    lab: Lab,
    cores: [usize; 2],
}

/// A program that is running on `a`.
pub(super) struct Running<'a> {
    ground: &'a Ground,
    child: Child,
    said: File,
    /// Frames that had come to `b` before.
    before: u64,
}

/// What was seen of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Frames that came to `b`, a second.
    pub(super) rate: f64,
    /// Nanoseconds of processor time of the program and of the kernel's threads for packets, for each.
    pub(super) nanos: f64,
}

impl Ground {
    /// # Errors
    /// As [`wire::pair`].
    pub(super) fn new() -> Result<Self> {
        let (first, last) = wire::cores()?;
        let ground = Self { lab: wire::pair(1)?, cores: [first, last] };
        let (a, gateway) = (ground.client(), ground.server().ipv4());
        a.run(|| -> Result<()> {
            let index = a.interface_index();
            netlink::add_route(index, NETWORK.parse()?, NETWORK_BITS, Some(gateway.into()))?;
            // Once it is known, nobody has to ask while `b` drops everything.
            Outlet::find(a.interface())?.asking().neighbour(gateway.into())?;
            Ok(())
        })?;
        Ok(ground)
    }

    pub(super) fn client(&self) -> &Host {
        self.lab.host("a")
    }

    pub(super) fn server(&self) -> &Host {
        self.lab.host("b")
    }

    /// Frames that came to `b` so far.
    pub(super) fn came(&self) -> Result<u64> {
        Ok(self.server().counters()?.received)
    }

    /// Starts a program on `a`, on all cores, with what it says in a file of `folder`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(&self, line: &[String], folder: &Path) -> Result<Running<'_>> {
        let path = folder.join("said");
        let says = File::create(&path).context("make a file for what a program says")?;
        let mut command = self.client().command_with_sysfs(&line[0]);
        command.args(&line[1..]).stdin(Stdio::null());
        command.stdout(says.try_clone()?).stderr(says);
        let before = self.came()?;
        let child = Child::start(command).with_context(|| line.join(" "))?;
        Ok(Running { ground: self, child, said: File::open(path)?, before })
    }
}

impl Running<'_> {
    /// Waits until it has begun to send, and watches it for `time`.
    ///
    /// # Errors
    /// When it does not begin, or ends too soon.
    pub(super) fn watch(&mut self, time: Duration) -> Result<Seen> {
        let began = Instant::now();
        while self.ground.came()? == self.before {
            self.check_runs()?;
            ensure!(began.elapsed() < PATIENCE, "nothing came within {} s", PATIENCE.as_secs());
            thread::sleep(GLANCE);
        }
        thread::sleep(WARM_UP);
        let softirqs = SoftirqThreads::of(&self.ground.cores);
        let read = || -> Result<_> {
            let used = processor::of_process(self.child.id())? + softirqs.used();
            Ok((Instant::now(), self.ground.came()?, used))
        };
        let (first, came_first, used_first) = read()?;
        thread::sleep(time);
        let (last, came_last, used_last) = read()?;
        self.check_runs()?;
        let frames = came_last.saturating_sub(came_first).max(1) as f64;
        Ok(Seen {
            rate: frames / (last - first).as_secs_f64(),
            nanos: used_last.saturating_sub(used_first).as_nanos() as f64 / frames,
        })
    }

    fn check_runs(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(_) => bail!("it ended before it was told to, and said: {}", self.said()?.trim()),
        }
    }

    /// Waits for its end, for `limit` at most; gives the rate at which `count` grew, from the first time to the last, and what
    /// it said.
    ///
    /// # Errors
    /// When it fails or does not end; those of `count`.
    pub(super) fn finish(
        mut self,
        limit: Duration,
        count: impl Fn() -> Result<u64>,
    ) -> Result<(f64, String)> {
        let began = Instant::now();
        let (mut first, mut last) = (None, (began, count()?));
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            ensure!(began.elapsed() < limit, "it did not end within {} s", limit.as_secs());
            let now = (Instant::now(), count()?);
            if now.1 > last.1 {
                first = first.or(Some(now));
                last = now;
            }
            thread::sleep(GLANCE);
        };
        let said = self.said()?;
        ensure!(status.success(), "it failed, and said: {}", said.trim());
        let first = first.unwrap_or(last);
        let time = (last.0 - first.0).as_secs_f64().max(GLANCE.as_secs_f64());
        Ok(((last.1 - first.1) as f64 / time, said))
    }

    fn said(&mut self) -> Result<String> {
        let mut text = String::new();
        self.said.read_to_string(&mut text)?;
        Ok(text)
    }
}
