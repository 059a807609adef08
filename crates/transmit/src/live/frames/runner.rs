//! The thread on which the program runs while there are frames.

use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use linerate_base::{Error, Result};
use linerate_sys::bpf::{LiveRun, Program};
use linerate_sys::cpu;
use linerate_sys::frame_ring::Counts;

use super::super::device::Device;
use super::super::watch;

/// Frames that go to the driver together.
pub(super) const BATCH: u32 = 64;

/// So many glances, of 10 ms, without a frame, and the thread sleeps.
const IDLE: u32 = 100;

/// What the thread and the sink know of each other.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) counts: Arc<Counts>,
    pub(super) device: Device,
    /// False: the thread sleeps, or is about to, and takes no frame.
    pub(super) is_running: AtomicBool,
    pub(super) is_closing: AtomicBool,
    /// Why the thread takes no more frames, until the sink has told it.
    fault: Mutex<Option<Error>>,
}

impl Shared {
    pub(super) fn new(counts: Arc<Counts>, device: Device) -> Self {
        let [is_running, is_closing] = [false; 2].map(AtomicBool::new);
        Self { counts, device, is_running, is_closing, fault: Mutex::new(None) }
    }

    /// While it is held the thread takes no frame, if it has a fault.
    pub(super) fn fault(&self) -> MutexGuard<'_, Option<Error>> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }

    /// Sleeps until there are frames and no fault; false when there will be no more.
    fn wait(&self) -> bool {
        loop {
            self.is_running.store(false, Ordering::Release);
            // Either this thread sees the frames that the sink publishes, or the sink sees that it sleeps.
            fence(Ordering::SeqCst);
            if self.is_closing() {
                return false;
            }
            if self.counts.pending() > 0 {
                let fault = self.fault();
                if fault.is_none() {
                    self.is_running.store(true, Ordering::Release);
                    return true;
                }
            }
            thread::park();
        }
    }
}

/// Sends what is published, on `core` if possible, until the sink closes. `frame` is one of the full length.
pub(super) fn run(shared: &Shared, program: &Program, frame: &[u8], core: Option<usize>) {
    if let Some(core) = core {
        // On another core it works as well, if not as fast.
        let _ = cpu::pin(core);
    }
    while shared.wait() {
        if let Err(error) = shared.device.check().and_then(|()| send(shared, program, frame)) {
            *shared.fault() = Some(error);
        }
    }
}

/// Until there have been no frames for a while.
fn send(shared: &Shared, program: &Program, frame: &[u8]) -> Result<()> {
    let (mut taken, mut idle) = (0, 0);
    let is_over = || {
        let before = std::mem::replace(&mut taken, shared.counts.taken());
        idle = if before == taken && shared.counts.pending() == 0 { idle + 1 } else { 0 };
        idle == IDLE || shared.is_closing()
    };
    // A call costs some 24 ms, so it lasts until the watch ends it. Of the loopback interface every namespace has one.
    let run = LiveRun { frame, interface: 0, repeat: u32::MAX, batch: BATCH };
    watch::call(program, &run, &shared.device, is_over)
}
