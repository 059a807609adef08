//! The receiving host looks at every packet, with the time at which its driver saw it.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use linerate::base::{Packet, Source};
use linerate::capture::{self, Backend, Capture, Config, Interrupt};
use linerate::sys::cpu;

use super::ground::{Device, Ground};
use super::packets::SIZE;

/// Has `look` see every packet that comes over the wire while `send` runs, on a core of its own.
///
/// # Errors
/// Those of `send` and of the capture; when packets came that it had no room for.
pub(super) fn observe<T>(
    ground: &Ground,
    mut look: impl FnMut(&Packet<'_>) + Send,
    send: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let is_over = AtomicBool::new(false);
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let watching = scope.spawn(|| {
            ground.receiver().run(|| {
                cpu::pin(ground.other_core)?;
                let mut capture = open()?;
                // Whoever sends waits for this.
                let _ = tell.send(());
                drop(tell);
                watch(&mut capture.source, &mut look, &is_over)
            })
        });
        // Nothing comes when it could not be opened; that error is told below.
        let sent = told.recv().map(|()| send());
        is_over.store(true, Ordering::Relaxed);
        watching.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        sent.context("open a capture")?
    })
}

/// The program at the receiving driver's hook, to which each packet goes and no further.
fn open() -> Result<Capture> {
    let config = Config {
        backend: Some(Backend::TapXdp),
        snaplen: SIZE as u32,
        buffer: 256 << 20,
        exclusive: true,
        force: true,
        ..Config::new(Device::Veth.name(), Interrupt::new()?)
    };
    Ok(capture::open(&config)?)
}

fn watch(
    source: &mut dyn Source,
    look: &mut (dyn FnMut(&Packet<'_>) + Send),
    is_over: &AtomicBool,
) -> Result<()> {
    let mut is_stopped = false;
    while let Some(batch) = source.next_batch(Duration::from_millis(10))? {
        batch.iter().for_each(|packet| look(&packet));
        if !is_stopped && is_over.load(Ordering::Relaxed) {
            source.stop()?;
            is_stopped = true;
        }
    }
    let dropped = source.stats()?.dropped;
    ensure!(dropped == 0, "the receiving host had no room for {dropped} packets");
    Ok(())
}
