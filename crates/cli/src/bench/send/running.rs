//! Someone who is sending, on the sender's core.

use std::io::Read;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow, bail};
use linerate::lab::Child;
use linerate::transmit::Watch;
use tempfile::{NamedTempFile, TempDir};

use super::ground::{Device, Ground};
use super::packets::Packets;
use super::peer::Peer;
use crate::bench::wire;

/// It sends until this is dropped.
pub(super) enum Running {
    Thread(Thread),
    Program(Program),
}

pub(super) struct Thread {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
}

pub(super) struct Program {
    child: Child,
    said: NamedTempFile,
    _folder: TempDir,
}

impl Running {
    /// Has `send` run inside the host that sends, until what it asks says true; it goes to a core by itself.
    pub(super) fn thread(
        ground: &Ground,
        send: impl FnOnce(&Watch<'_>) -> Result<()> + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = ground.sender().spawn(move || send(&|_| stopped.load(Ordering::Relaxed)));
        Self::Thread(Thread { stop, thread: Some(thread) })
    }

    /// Starts a peer.
    pub(super) fn program(
        ground: &Ground,
        peer: Peer,
        packets: Packets,
        device: Device,
    ) -> Result<Self> {
        let folder = tempfile::tempdir().context("make a folder for a program's files")?;
        peer.prepare(ground, packets, device, folder.path())?;
        let line = peer.line(ground.sender_core, packets, device, folder.path());
        let line: Vec<_> = line.split_whitespace().collect();
        let said = NamedTempFile::new().context("make a file for what a program says")?;
        let says = said.reopen()?;
        let mut command = ground.sender().command_with_sysfs(line[0]);
        command.args(&line[1..]).stdin(Stdio::null());
        command.stdout(says.try_clone()?).stderr(says);
        let child = wire::start_on(&[ground.sender_core], command)?;
        Ok(Self::Program(Program { child, said, _folder: folder }))
    }

    /// The process that sends; of threads it is this one.
    pub(super) fn process(&self) -> u32 {
        match self {
            Self::Thread(_) => std::process::id(),
            Self::Program(program) => program.child.id(),
        }
    }

    /// That it is still sending.
    ///
    /// # Errors
    /// When it has ended, with the reason.
    pub(super) fn check(&mut self) -> Result<()> {
        match self {
            Self::Thread(thread) => {
                let Some(handle) = thread.thread.take_if(|handle| handle.is_finished()) else {
                    return Ok(());
                };
                join(handle)?;
                bail!("it ended before it was told to");
            }
            Self::Program(program) => {
                if program.child.try_wait()?.is_none() {
                    return Ok(());
                }
                let mut text = String::new();
                program.said.reopen()?.read_to_string(&mut text)?;
                bail!("it ended before it was told to, and said: {}", text.trim());
            }
        }
    }

    /// Has it end.
    ///
    /// # Errors
    /// Those of [`check`](Self::check); those of a thread's sending.
    pub(super) fn end(&mut self) -> Result<()> {
        self.check()?;
        let Self::Thread(thread) = self else { return Ok(()) };
        thread.stop.store(true, Ordering::Relaxed);
        thread.thread.take().map_or(Ok(()), join)
    }
}

fn join(handle: JoinHandle<Result<()>>) -> Result<()> {
    handle.join().unwrap_or_else(|_| Err(anyhow!("the sending thread panicked")))
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Its error would have been asked for by `end`.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
