//! Waiting for packets, and for what happens to the interface.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::event::{self, Readiness};
use linerate_sys::netlink::{LinkChange, LinkWatch};

use crate::Interrupt;
use crate::live::port::Idle;
use crate::live::watch::Link;
use crate::lookout::{self, Lookout};

/// What is done while no packets are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// The driver is polled again.
    Never,
    /// Wait for a packet.
    Sleep,
    /// The same, but packets that come in a stream are left to themselves so long.
    Nap(Duration),
}

/// How a source stands, from its opening to its end.
#[derive(Debug)]
pub(super) struct Wait {
    link: Link,
    watch: LinkWatch,
    interrupt: Interrupt,
    rest: Rest,
    /// Packets came since the last nap.
    is_busy: bool,
    is_stopped: bool,
    /// What to report when the queues are empty.
    fault: Option<Error>,
    has_ended: bool,
    /// Where others wait for packets.
    lookout: Option<Lookout>,
}

impl Wait {
    pub(super) fn new(link: Link, watch: LinkWatch, interrupt: Interrupt, rest: Rest) -> Self {
        Self {
            link,
            watch,
            interrupt,
            rest,
            is_busy: false,
            is_stopped: false,
            fault: None,
            has_ended: false,
            lookout: None,
        }
    }

    /// Takes note that packets came.
    pub(super) fn found_packets(&mut self) {
        self.is_busy = true;
    }

    /// No packets are let in any more: the end comes when the queues are empty.
    pub(super) fn stop(&mut self) {
        self.is_stopped = true;
        self.fault.take_if(|fault| fault.kind() == ErrorKind::Down);
        self.watch_on();
    }

    /// A descriptor on which others can wait for packets of `sockets`.
    pub(super) fn watch(&mut self, sockets: &[BorrowedFd<'_>]) -> Result<BorrowedFd<'_>> {
        let lookout = match self.lookout.take() {
            Some(lookout) => lookout,
            None => {
                Lookout::over(&[&[self.interrupt.as_fd(), self.watch.as_fd()], sockets].concat())?
            }
        };
        Ok((*self.lookout.insert(lookout)).as_fd())
    }

    /// Waits, if others can, until there is something to look at; returns how long to wait after a look.
    pub(super) fn await_news(&self, wait: Duration) -> Result<Duration> {
        lookout::wait(self.lookout.as_ref(), wait)
    }

    /// After a look, says when to look again though no descriptor has anything to tell.
    pub(super) fn watch_on(&self) {
        let Some(lookout) = &self.lookout else { return };
        let has_news = self.is_stopped || self.has_ended || self.fault.is_some();
        lookout.ask_after(if has_news { Duration::ZERO } else { Duration::MAX });
    }

    /// Waits until `deadline` for packets on `sockets`, after none were found.
    ///
    /// # Errors
    /// The fault of the interface, once the packets before it are out.
    pub(super) fn idle(&mut self, deadline: Instant, sockets: &[BorrowedFd<'_>]) -> Result<Idle> {
        if let Some(fault) = self.fault.take() {
            self.has_ended |= fault.kind() == ErrorKind::Gone;
            return Err(fault);
        }
        if self.is_stopped || self.has_ended {
            self.has_ended = true;
            return Ok(Idle::End);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let longest = match self.rest {
            Rest::Nap(nap) if std::mem::take(&mut self.is_busy) => {
                self.sleep(nap.min(left), deadline, &[])?;
                return Ok(Idle::Again);
            }
            Rest::Nap(_) | Rest::Sleep => left,
            Rest::Never => Duration::ZERO,
        };
        self.sleep(longest, deadline, sockets)
    }

    /// Between packets of a stream no socket is waited for: the kernel then wakes nobody for each of
    /// them.
    fn sleep(
        &mut self,
        longest: Duration,
        deadline: Instant,
        sockets: &[BorrowedFd<'_>],
    ) -> Result<Idle> {
        let (interrupt, news, packets) = self.poll(longest, sockets)?;
        if news.readable || packets.failed {
            self.look_at_link()?;
        }
        let look_again = news.readable || packets.readable || Instant::now() < deadline;
        Ok(if interrupt.readable || !look_again { Idle::Nothing } else { Idle::Again })
    }

    /// How the interrupt, the watch and any of the sockets are.
    fn poll(
        &self,
        longest: Duration,
        sockets: &[BorrowedFd<'_>],
    ) -> Result<(Readiness, Readiness, Readiness)> {
        let fds = [&[self.interrupt.as_fd(), self.watch.as_fd()], sockets].concat();
        let ready =
            event::poll_all(&fds, longest).map_err(|e| Error::system("wait for packets", e))?;
        let any = |property: fn(&Readiness) -> bool| ready[2..].iter().any(property);
        let packets = Readiness { readable: any(|r| r.readable), failed: any(|r| r.failed) };
        Ok((ready[0], ready[1], packets))
    }

    /// What happened last is what counts.
    fn look_at_link(&mut self) -> Result<()> {
        for change in self.watch.read()? {
            match change {
                LinkChange::Down => self.fault = Some(self.link.down()),
                LinkChange::Gone => self.fault = Some(self.link.gone()),
                LinkChange::Up => self.fault = None,
                LinkChange::Mtu(_) | LinkChange::Renamed(_) => {}
            }
        }
        Ok(())
    }
}
