//! A call into the kernel that sends for a long time, and who looks after it.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use linerate_base::{Error, Result};
use linerate_sys::bpf::{LiveRun, Program};
use linerate_sys::thread::Thread;

use super::device::Device;

/// How often it is looked whether the call is to end: what is left of it is then cut off.
const GLANCE: Duration = Duration::from_millis(10);

/// How many glances later it is looked whether the device is still there.
const LOOK: u32 = 10;

/// Calls the program, again and again if need be, until `is_over`, which is asked every 10 ms, says true.
///
/// # Errors
/// When the kernel does not run the program any further; when the device goes down or away.
pub(super) fn call(
    program: &Program,
    run: &LiveRun<'_>,
    device: &Device,
    is_over: impl FnMut() -> bool + Send,
) -> Result<()> {
    let sending = Thread::current();
    let sending = sending.map_err(|e| Error::system("prepare to interrupt the program", e))?;
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (done, is_done) = mpsc::channel::<()>();
        let watch = Watch { sending, device, over: &over };
        let watch = scope.spawn(move || watch.glance(is_over, &is_done));
        let mut ended = Ok(());
        while ended.is_ok() && !over.load(Ordering::Relaxed) {
            ended = program.live_run(run).map(drop);
        }
        drop(done);
        watch.join().unwrap_or_else(|panic| resume_unwind(panic)).and(ended)
    })
}

struct Watch<'a> {
    sending: Thread,
    device: &'a Device,
    over: &'a AtomicBool,
}

impl Watch<'_> {
    /// Cuts the call off when it is over, and looks after the device: nobody tells the program that it is gone.
    fn glance(&self, mut is_over: impl FnMut() -> bool, is_done: &Receiver<()>) -> Result<()> {
        let (mut glances, mut fault) = (0, None);
        while is_done.recv_timeout(GLANCE) == Err(RecvTimeoutError::Timeout) {
            glances += 1;
            if fault.is_none() && glances % LOOK == 0 {
                fault = self.device.check().err();
            }
            if fault.is_some() || is_over() {
                self.over.store(true, Ordering::Relaxed);
                // Again and again: it may come when the call has not begun.
                self.sending.interrupt();
            }
        }
        fault.map_or_else(|| self.device.check(), Err)
    }
}
