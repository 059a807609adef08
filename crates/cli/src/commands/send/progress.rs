//! The live line while packets are sent.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;

use linerate::base::Stats;
use linerate::capture::disk::Stalls;
use linerate::sys::interface;

use crate::live::{EVERY, LiveLine};

/// Does the work and tells on a terminal meanwhile how many packets the interface has sent since: by its own count, as a
/// program in the kernel that sends has no time to tell.
pub(super) fn with_line<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let line = LiveLine::new(true);
    if !line.is_visible() {
        return work();
    }
    let (done, end) = mpsc::channel::<()>();
    thread::scope(|scope| {
        // Where no thread can be had, the work is done without a line.
        let draw = move || draw(name, line, &end);
        let _ = thread::Builder::new().name("progress".into()).spawn_scoped(scope, draw);
        let result = work();
        drop(done);
        result
    })
}

fn draw(name: &str, mut line: LiveLine, end: &Receiver<()>) {
    let sent = || interface::by_name(name).map_or(0, |found| found.counters.sent);
    let before = sent();
    while end.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
        // Of one that is gone the sender will tell.
        let delivered = sent().saturating_sub(before);
        line.draw(&Stats { delivered, ..Stats::default() }, Stalls::default());
    }
    line.clear();
}
