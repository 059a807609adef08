//! A capture that a thread writes to a file while the program does other things.

use std::ffi::{c_char, c_int};
use std::fs::File;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use linerate::base::{Error, Matches, Result};
use linerate::capture::UserFilter;
use linerate::capture::disk::{self, Disk, DiskFile, Way};
use linerate::savefile::{self, Format, Writer};

use crate::abi::ERROR;
use crate::entry::entry;
use crate::handle::{self, Handle, Inner, Kind, Precision};
use crate::live::source::Live;
use crate::packets::Lent;
use crate::pointer;

/// Why a handle has no packets to give meanwhile.
pub(crate) const BEING_DUMPED: &str =
    "the packets go to a file, until pcap_live_dump_ended says that this has ended";

/// Bytes of a record's header in a pcap file.
const RECORD: u64 = 16;

/// The thread, which gives the capture back.
type Thread = JoinHandle<(Box<Live>, Result<()>)>;

/// A capture that is written to a file.
pub(crate) struct Dumping {
    /// `None` once it is joined.
    thread: Option<Thread>,
}

impl Dumping {
    /// Waits for the end. After a panic, which was printed, there is no capture any more.
    fn join(&mut self) -> Option<(Box<Live>, Result<()>)> {
        self.thread.take()?.join().ok()
    }
}

impl Drop for Dumping {
    fn drop(&mut self) {
        // Whoever closes the handle has told the thread to end, and does not ask how it went.
        let _ = self.join();
    }
}

/// What is written, and how much of it.
struct Dump {
    name: String,
    precision: Precision,
    /// The filter that runs in user space.
    chosen: Option<UserFilter>,
    /// Limits; 0 is none.
    most_bytes: u64,
    most_packets: u64,
    stop: Arc<AtomicBool>,
}

impl Dump {
    /// Writes what comes to the file until that has enough or somebody stops it.
    fn run(&self, live: &mut Live, file: File) -> Result<()> {
        let mut disk = Disk::new(Way::Direct);
        let precision = match self.precision {
            Precision::Micro => savefile::Precision::Micros,
            Precision::Nano => savefile::Precision::Nanos,
        };
        let options =
            savefile::Options { format: Format::Pcap(precision), ..savefile::Options::default() };
        let mut writer = Writer::new(disk.open(file), &options, live.source.interfaces())?;
        let written = self.write(live, &mut writer);
        let finished = writer.finish();
        let (output, records) = writer.into_parts();
        let closed = disk.close(output);
        if let Some(file) = closed.file.filter(|_| closed.result.is_err()) {
            // What a full disk has cut short goes, so that the file stays valid.
            let held = records.within(closed.kept, |range| disk::read_back(&file, range));
            file.set_len(held.bytes).map_err(|error| self.failed(error))?;
        }
        closed.result.map_err(|error| self.failed(error))?;
        written.and(finished.map(drop))
    }

    fn write(&self, live: &mut Live, writer: &mut Writer<DiskFile>) -> Result<()> {
        let (mut kept, mut written) = (Matches::new(), 0);
        while !self.stop.load(Ordering::Relaxed) {
            let Some(batch) = live.batch_within(Duration::MAX)? else { return Ok(()) };
            if let Some(chosen) = &self.chosen {
                chosen.select(&batch, None, &mut kept);
            }
            for (at, packet) in batch.iter().enumerate() {
                if self.chosen.is_some() && !kept.contains(at) {
                    continue;
                }
                let size = writer.size() + RECORD + packet.data.len() as u64;
                if self.most_bytes != 0 && size > self.most_bytes {
                    return Ok(());
                }
                writer.write(&packet)?;
                written += 1;
                if written == self.most_packets {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn failed(&self, error: std::io::Error) -> Error {
        Error::system(format!("write {}", self.name), error)
    }
}

/// Has a thread write the handle's packets.
fn begin(inner: &mut Inner, dump: Dump) -> c_int {
    let file = match File::create(&dump.name) {
        Ok(file) => file,
        Err(error) => {
            let error = Error::system(format!("create {}", dump.name), error);
            return inner.refuse(&error);
        }
    };
    inner.lent = Lent::default();
    let Kind::Live(mut live) = mem::replace(&mut inner.kind, Kind::Dead) else { return ERROR };
    let thread = thread::spawn(move || {
        let result = dump.run(&mut live, file);
        (live, result)
    });
    inner.kind = Kind::Dumping(Dumping { thread: Some(thread) });
    0
}

/// How far the dump is: 0 while it runs, 1 at its end, when the handle has its packets again, or an error.
fn ended(inner: &mut Inner, waits: bool) -> c_int {
    let Kind::Dumping(dumping) = &mut inner.kind else {
        inner.fail("nothing is written to a file: pcap_live_dump begins that");
        return ERROR;
    };
    if !waits && dumping.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
        return 0;
    }
    let Some((live, result)) = dumping.join() else {
        inner.fail("the thread that wrote packets to a file has failed");
        return ERROR;
    };
    inner.kind = Kind::Live(live);
    match result {
        Ok(()) => 1,
        Err(error) => inner.refuse(&error),
    }
}

entry! {
    /// Has a thread write the packets of a live capture to a file, which must not be longer than so many bytes nor have
    /// more than so many packets; 0 is no limit. Until `pcap_live_dump_ended` tells its end the handle has no packets to
    /// give. `pcap_breakloop` ends it before.
    fn pcap_live_dump(
        handle: *mut Handle,
        name: *const c_char,
        bytes: c_int,
        packets: c_int
    ) -> c_int, ERROR => {
        handle::active_or(handle, |inner| {
            let (Some(name), Kind::Live(_)) = (pointer::text(name), &inner.kind) else {
                inner.fail("packets of a live capture are written, to a file with a name");
                return ERROR;
            };
            let limit = |number: c_int| u64::try_from(number).unwrap_or(0);
            let dump = Dump {
                name: name.into(),
                precision: inner.precision,
                chosen: inner.chosen.clone(),
                most_bytes: limit(bytes),
                most_packets: limit(packets),
                stop: (*handle).stop_flag(),
            };
            begin(inner, dump)
        })
    }

    /// Whether the thread that writes packets to a file has ended: 0 while it runs, 1 at its end, or an error. Where
    /// `waits` is not 0 it is waited for.
    fn pcap_live_dump_ended(handle: *mut Handle, waits: c_int) -> c_int, ERROR => {
        let status = handle::inner_or(handle, |inner| ended(inner, waits != 0));
        if status != 0 && !handle.is_null() {
            (*handle).go_on();
        }
        status
    }
}
