//! A capture of this process's own, that throws its packets away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Result, anyhow};
use linerate::base::{self, Source};
use linerate::capture::{self, Backend, Capture, Config, Interrupt};
use linerate::filter::Options;

use crate::args::ProfileArgs;
use crate::commands::capture::netmask;
use crate::{compile, expression, output};

/// A thread that takes all packets there are.
pub(super) struct OwnCapture {
    thread: JoinHandle<base::Result<()>>,
    is_over: Arc<AtomicBool>,
    interrupt: Interrupt,
    /// Where an answer to how many packets it has seen is to go.
    ask: Sender<Answer>,
    name: String,
}

/// Takes the number of packets seen.
type Answer = Sender<base::Result<u64>>;

/// How long a wait for packets may take.
const PATIENCE: Duration = Duration::from_millis(100);

impl OwnCapture {
    pub(super) fn begin(
        args: &ProfileArgs,
        interface: String,
        interrupt: Interrupt,
    ) -> Result<Self> {
        let mut config = Config::new(interface, interrupt.clone());
        config.backend = args.backend.map(Backend::from);
        let link_type = capture::link_types(&config.interface)?[0];
        config.link_type = Some(link_type);
        let text = expression::text(&args.filter, None)?;
        if !text.trim().is_empty() {
            let netmask = Some(netmask(&config.interface));
            let options = Options { netmask, ..compile::options(link_type, config.snaplen) };
            let compiled = compile::for_capture(&text, &options)?;
            config.filter = Some(compiled.filter);
            compiled.note.iter().for_each(output::tell);
        }
        let capture = capture::open(&config)?;
        capture.notes.iter().for_each(output::tell);
        let is_over = Arc::new(AtomicBool::new(false));
        let shared = is_over.clone();
        let thread = thread::Builder::new().name("capture".into());
        let name = format!("{}, back end {}", config.interface, capture.backend);
        let (ask, asked) = mpsc::channel();
        let thread = thread.spawn(move || take(capture, &shared, &asked))?;
        Ok(Self { thread, is_over, interrupt, ask, name })
    }

    /// Where it captures, and how.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Packets that it has seen so far, whatever its filter made of them.
    ///
    /// # Errors
    /// When it does not know; when it has failed.
    pub(super) fn seen(&self) -> Result<u64> {
        let (answer, answered) = mpsc::channel();
        let ended = |_| anyhow!("the capture has ended");
        self.ask.send(answer).map_err(|_| ended(()))?;
        Ok(answered.recv().map_err(|_| ended(()))??)
    }

    pub(super) fn goes_on(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Ends it.
    ///
    /// # Errors
    /// What it failed with.
    pub(super) fn end(self) -> Result<()> {
        self.is_over.store(true, Ordering::Relaxed);
        self.interrupt.trigger();
        let result = self.thread.join();
        Ok(result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?)
    }
}

fn take(mut capture: Capture, is_over: &AtomicBool, asked: &Receiver<Answer>) -> base::Result<()> {
    while !is_over.load(Ordering::Relaxed) {
        for answer in asked.try_iter() {
            // Who asked may have given up.
            let _ = answer.send(capture.source.stats().map(|stats| stats.seen));
        }
        if let Some(batch) = capture.source.next_batch(PATIENCE)? {
            std::hint::black_box(batch.iter().map(|packet| packet.data.len()).sum::<usize>());
        }
    }
    capture.source.stop()
}
