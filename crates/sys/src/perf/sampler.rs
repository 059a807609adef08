use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use linerate_base::{Error, ErrorKind, Result};

use super::attributes::{Attributes, Clock, Stacks, Target};
use super::record::{self, Record};
use super::ring::Ring;
use crate::capability::{self, Capability};

/// Samples of one processor or thread, while it is switched on.
#[derive(Debug)]
pub struct Sampler {
    fd: OwnedFd,
    ring: Ring,
    bytes: Vec<u8>,
}

/// Pages of the ring: 256 KiB hold some 500 stacks. Unprivileged users have 516 KiB for each processor
/// (`kernel.perf_event_mlock_kb`).
const PAGES: usize = 64;

/// `PERF_EVENT_IOC_ENABLE`, `PERF_EVENT_IOC_DISABLE`.
const ENABLE: libc::Ioctl = 0x2400;
const DISABLE: libc::Ioctl = 0x2401;

impl Sampler {
    /// Prepares samples by `clock`, `frequency` times a second, with these stacks; they begin with [`start`](Self::start).
    ///
    /// # Errors
    /// [`ErrorKind::Permission`] where `kernel.perf_event_paranoid` forbids it to processes without
    /// CAP_PERFMON; [`ErrorKind::Unsupported`] where the processor does not tell its cycles;
    /// [`ErrorKind::Gone`] when the thread has ended.
    pub fn open(clock: Clock, target: Target, frequency: u32, stacks: Stacks) -> Result<Self> {
        let fd = open(&mut Attributes::sampling(clock, frequency, stacks), target);
        let fd = fd.map_err(|e| refused(e, target))?;
        let ring = Ring::map(fd.as_fd(), PAGES);
        let ring = ring.map_err(|e| Error::system("map the ring of a sampler", e))?;
        Ok(Self { fd, ring, bytes: Vec::new() })
    }

    /// Begins, or goes on, to sample.
    ///
    /// # Errors
    /// None that can be expected of an event that is open.
    pub fn start(&self) -> Result<()> {
        self.switch(ENABLE, "switch a sampler on")
    }

    /// Samples no more; what is in the ring stays there.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn stop(&self) -> Result<()> {
        self.switch(DISABLE, "switch a sampler off")
    }

    /// What was noted since the last time.
    pub fn take(&mut self) -> impl Iterator<Item = Record> + '_ {
        self.bytes.clear();
        self.ring.take(&mut self.bytes);
        record::records(&self.bytes)
    }

    fn switch(&self, command: libc::Ioctl, asked: &str) -> Result<()> {
        // SAFETY: both commands take an integer of flags, 0, and no pointer.
        let result = unsafe { libc::ioctl(self.fd.as_raw_fd(), command, 0) };
        if result == 0 { Ok(()) } else { Err(Error::system(asked, io::Error::last_os_error())) }
    }
}

impl AsFd for Sampler {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Whether samples by the processor's cycle counter can be had; most virtual machines have none.
pub fn has_cycles() -> bool {
    // A thread's own samples are what is forbidden last.
    Sampler::open(Clock::Cycles, Target::Thread(0), 1, Stacks::Kernel).is_ok()
}

fn open(attributes: &mut Attributes, target: Target) -> io::Result<OwnedFd> {
    const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
    const NO_GROUP: libc::c_int = -1;
    let (process, cpu) = target.arguments();
    let number = libc::SYS_perf_event_open;
    let attributes: *mut Attributes = attributes;
    // SAFETY: the attributes are as long as they say, valid during the call, and only their size is written.
    let fd = unsafe { libc::syscall(number, attributes, process, cpu, NO_GROUP, CLOSE_ON_EXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })
}

fn refused(error: io::Error, target: Target) -> Error {
    let whom = match target {
        Target::Cpu(cpu) => format!("processor {cpu}"),
        Target::Thread(0) => "this thread".to_owned(),
        Target::Thread(thread) => format!("the thread {thread}"),
    };
    let error = Error::system(format!("sample {whom}"), error);
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            let error = error.as_kind(ErrorKind::Permission);
            capability::explain(error, &[Capability::Perfmon])
        }
        Some(libc::ESRCH) => error.as_kind(ErrorKind::Gone),
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
            error.as_kind(ErrorKind::Unsupported)
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::of_this_thread;
    use std::time::Duration;

    fn work(span: Duration) {
        let begun = of_this_thread();
        while of_this_thread() - begun < span {}
    }

    fn sampler_of_this_thread(stacks: Stacks) -> Option<Sampler> {
        let opened = Sampler::open(Clock::Timer, Target::Thread(0), 997, stacks);
        opened.map_err(|e| assert_eq!(e.kind(), ErrorKind::Permission, "{e}")).ok()
    }

    #[test]
    fn stacks_of_processes_come_only_where_they_are_wanted() {
        let Some(mut sampler) = sampler_of_this_thread(Stacks::Kernel) else { return };
        sampler.start().unwrap();
        work(Duration::from_millis(100));
        sampler.stop().unwrap();
        let records: Vec<_> = sampler.take().collect();
        let is_bare = |record: &Record| matches!(record, Record::Sample(s) if s.user.is_empty());
        assert!(records.len() > 20 && records.iter().all(is_bare), "{records:?}");
    }

    #[test]
    fn a_thread_that_works_is_sampled_while_samples_are_on() {
        let Some(mut sampler) = sampler_of_this_thread(Stacks::Both) else { return };
        let mut samples = |work: &dyn Fn()| {
            work();
            let records: Vec<_> = sampler.take().collect();
            let (on, off) = (sampler.start(), records.len());
            on.unwrap();
            (off, records)
        };
        assert_eq!(samples(&|| work(Duration::from_millis(20))).0, 0);
        let (_, records) = samples(&|| work(Duration::from_millis(100)));
        let stacks = records.iter().filter(|record| {
            let Record::Sample(sample) = record else { return false };
            sample.process == std::process::id() && !sample.user.is_empty()
        });
        // About a hundred, by a clock that may be late.
        assert!(stacks.count() > 20, "{records:?}");
        sampler.stop().unwrap();
        sampler.take().for_each(drop);
        work(Duration::from_millis(20));
        assert_eq!(sampler.take().count(), 0);
    }

    #[test]
    fn who_is_not_there_cannot_be_sampled() {
        let open = |target| Sampler::open(Clock::Timer, target, 997, Stacks::Both);
        let Err(error) = open(Target::Thread(0x3fff_fffe)) else {
            panic!("a thread of this number")
        };
        assert!([ErrorKind::Gone, ErrorKind::Permission].contains(&error.kind()), "{error}");
        assert!(open(Target::Cpu(1 << 20)).is_err());
    }
}
