//! Two hosts on one wire: `a` sends from a core of its own, `b` captures on another.

use std::io::Read;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use linerate::lab::traffic::live::{Frame, Load, Report, Sender};
use linerate::lab::{Child, Host, Lab};
use linerate::sys::bpf::Link;
use linerate::sys::cpu;
use tempfile::NamedTempFile;

use super::memory;
use super::subject::{Capture, Kind, Subject};
use crate::bench::{processor, wire};
use crate::output;

/// Where everything happens.
pub(in crate::bench) struct Stage {
    lab: Lab,
    /// Cores that send, and that receive in the kernel.
    senders: Vec<usize>,
    /// Those of the subject's program.
    consumers: Vec<usize>,
}

/// A subject that is receiving.
pub(in crate::bench) struct Session<'a> {
    stage: &'a Stage,
    receiver: Receiver<'a>,
    sent: u64,
}

enum Receiver<'a> {
    Stack,
    Drop(#[expect(dead_code, reason = "it is held, for the program's sake")] Link),
    Capture(Box<Running<'a>>),
}

struct Running<'a> {
    capture: &'a Capture,
    child: Child,
    said: NamedTempFile,
    /// Processor time used before the first packet.
    used: Duration,
}

/// What became of all that was sent in a session.
#[derive(Clone, Copy, Debug)]
pub(in crate::bench) struct Outcome {
    pub(in crate::bench) sent: u64,
    /// What the subject says it captured; of one that captures nothing, all.
    pub(in crate::bench) captured: u64,
    /// Processor time of a capturing program.
    pub(in crate::bench) consumer: Option<Duration>,
    /// Most memory of a capturing program, in bytes.
    pub(in crate::bench) memory: Option<u64>,
}

/// Programs start and end within a second; this is for very busy machines.
const PATIENCE: Duration = Duration::from_secs(20);

impl Stage {
    pub(in crate::bench) fn new() -> Result<Self> {
        let (sender, consumer) = wire::cores()?;
        Ok(Self { lab: wire::pair(1)?, senders: vec![sender], consumers: vec![consumer] })
    }

    /// One where each of so many cores, by a queue of its own, sends, receives and captures.
    ///
    /// # Errors
    /// When there are fewer.
    pub(in crate::bench) fn shared(count: usize) -> Result<Self> {
        let mut cores = cpu::allowed()?;
        ensure!(count <= cores.len(), "{count} cores are asked for, {} are there", cores.len());
        cores.truncate(count);
        Ok(Self { lab: wire::pair(count as u32)?, senders: cores.clone(), consumers: cores })
    }

    pub(in crate::bench) fn lab(&self) -> &Lab {
        &self.lab
    }

    fn receiver(&self) -> &Host {
        self.lab.host("b")
    }

    /// Has the subject begin to receive.
    ///
    /// # Errors
    /// When it cannot.
    pub(in crate::bench) fn begin<'a>(&'a self, subject: &'a Subject) -> Result<Session<'a>> {
        let receiver = match &subject.kind {
            Kind::Stack => Receiver::Stack,
            Kind::Drop => Receiver::Drop(wire::drop_all(self.receiver())?),
            Kind::Capture(capture) => Receiver::Capture(Box::new(self.start(capture)?)),
        };
        Ok(Session { stage: self, receiver, sent: 0 })
    }

    fn start<'a>(&self, capture: &'a Capture) -> Result<Running<'a>> {
        let said = NamedTempFile::new().context("make a file for what a program says")?;
        let mut command = self.receiver().command_with_sysfs(&capture.line[0]);
        command.args(&capture.line[1..]).stdin(Stdio::null());
        let says = said.reopen()?;
        command.stdout(says.try_clone()?).stderr(says);
        let child = wire::start_on(&self.consumers, command)?;
        let mut running = Running { capture, child, said, used: Duration::ZERO };
        running.wait_until_begun()?;
        running.used = running.processor_time()?;
        Ok(running)
    }
}

impl Session<'_> {
    /// Sends `count` frames of `size` bytes, within `limit` in any case.
    ///
    /// # Errors
    /// As the sender's.
    pub(in crate::bench) fn send(
        &mut self,
        size: usize,
        count: u64,
        rate: Option<f64>,
        limit: Duration,
    ) -> Result<Report> {
        let (a, b) = (self.stage.lab.host("a"), self.stage.lab.host("b"));
        let cores = self.stage.senders.clone();
        let load = Load { rate, limit, cores, ..Load::new(Frame::mirrored(a, b, size), count) };
        let report = Sender::start(a, b, &load)?.finish()?;
        self.sent += report.packets;
        if report.lost > 0 {
            output::tell(format_args!(
                "{} frames found the wire's queue full, and count neither as sent nor as lost",
                report.lost
            ));
        }
        Ok(report)
    }

    /// The process that captures.
    pub(in crate::bench) fn process(&self) -> Option<u32> {
        match &self.receiver {
            Receiver::Capture(running) => Some(running.child.id()),
            Receiver::Stack | Receiver::Drop(_) => None,
        }
    }

    /// Lets the subject take what is left, ends it and asks what it has.
    ///
    /// # Errors
    /// When it fails, or says nothing that can be understood.
    pub(in crate::bench) fn end(self) -> Result<Outcome> {
        let sent = self.sent;
        let Receiver::Capture(mut running) = self.receiver else {
            return Ok(Outcome { sent, captured: sent, consumer: None, memory: None });
        };
        running.wait_until_idle()?;
        let consumer = Some(running.processor_time()? - running.used);
        let memory = memory::peak(running.child.id());
        running.child.interrupt()?;
        let status = running.wait()?;
        let said = running.said()?;
        let captured = running.capture.captured(&said).filter(|_| status.success());
        let captured = captured.with_context(|| running.failed(&said))?;
        Ok(Outcome { sent, captured, consumer, memory })
    }
}

impl Running<'_> {
    fn said(&self) -> Result<String> {
        let mut text = String::new();
        self.said.reopen()?.read_to_string(&mut text)?;
        Ok(text)
    }

    fn failed(&self, said: &str) -> String {
        format!("`{}` said: {}", self.capture.text(), said.trim())
    }

    fn wait_until_begun(&mut self) -> Result<()> {
        let start = Instant::now();
        while !self.capture.has_begun(&self.said()?) {
            if self.child.try_wait()?.is_some() || start.elapsed() > PATIENCE {
                bail!("{}", self.failed(&self.said()?));
            }
            thread::sleep(Duration::from_millis(5));
        }
        // Some say it a moment before.
        thread::sleep(Duration::from_millis(50));
        Ok(())
    }

    /// What it captured is in its hands when it has slept for longer than it does with work to do.
    fn wait_until_idle(&self) -> Result<()> {
        let start = Instant::now();
        let mut used = self.processor_time()?;
        while start.elapsed() < PATIENCE {
            thread::sleep(self.capture.nap);
            let now = self.processor_time()?;
            // Some look about while they wait.
            if now - used < self.capture.nap / 20 {
                break;
            }
            used = now;
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<std::process::ExitStatus> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(5));
        }
        bail!("`{}` does not end", self.capture.text())
    }

    fn processor_time(&self) -> Result<Duration> {
        processor::of_process(self.child.id())
    }
}
