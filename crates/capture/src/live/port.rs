//! The kernel's side of a live source: socket, gate, counters, and waiting for packets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use linerate_base::{Error, ErrorKind, Result, Stats};
use linerate_sys::event::{self, Readiness};
use linerate_sys::packet_socket::PacketSocket;

use super::gate::Gate;
use super::ledger::Ledger;
use super::left;
use super::watch::{Link, LinkState, Losses};
use crate::Interrupt;
use crate::lookout::{self, Lookout};

/// What to do when no packet is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// Look again: there may be packets.
    Again,
    /// Return without packets: the time is up, or the wait was interrupted.
    Nothing,
    /// There will be no more.
    End,
}

/// A bound socket, and what is known about it.
#[derive(Debug)]
pub(crate) struct Port {
    socket: PacketSocket,
    gate: Gate,
    link: Link,
    losses: Option<Losses>,
    interrupt: Interrupt,
    ledger: Ledger,
    /// Batches since the kernel's counters were read.
    unread: u32,
    /// An unbound socket until the port is stopped; see [`Port::stop`].
    barrier: Option<PacketSocket>,
    /// Set once no more packets come in: until when those in the buffer may still come out.
    draining: Option<Instant>,
    /// What to report when the buffer is empty.
    fault: Option<Error>,
    is_down: bool,
    has_ended: bool,
    /// Where others wait for packets.
    lookout: Option<Lookout>,
}

/// The kernel's counters have 32 bits and are set back when read: read them every so many batches.
const READ_AFTER: u32 = 4096;

/// How often to look whether an interface that is down came back or went away: the kernel tells
/// neither to a socket that was told of the first.
const LOOK_AFTER: Duration = Duration::from_millis(200);

/// How often to look for the last packets.
const DRAIN_AFTER: Duration = Duration::from_millis(1);

/// The longest that a buffer can take to give out its last packets: the kernel closes the last
/// block of a ring within two retire times, which are far shorter.
const DRAIN: Duration = Duration::from_secs(2);

impl Port {
    /// `socket` is bound to `link` and stands behind `gate`; `barrier` is a socket like it that
    /// was never bound. `losses` are those that the source tells.
    pub(crate) fn new(
        socket: PacketSocket,
        gate: Gate,
        link: Link,
        losses: Option<Losses>,
        interrupt: Interrupt,
        barrier: PacketSocket,
    ) -> Self {
        Self {
            socket,
            gate,
            link,
            losses,
            interrupt,
            ledger: Ledger::default(),
            unread: 0,
            barrier: Some(barrier),
            draining: None,
            fault: None,
            is_down: false,
            has_ended: false,
            lookout: None,
        }
    }

    pub(crate) fn socket(&self) -> &PacketSocket {
        &self.socket
    }

    /// Counts packets that are lent out.
    pub(crate) fn deliver(&mut self, packets: usize) -> Result<()> {
        self.ledger.deliver(packets);
        self.unread += 1;
        if self.unread >= READ_AFTER { self.read_counters() } else { Ok(()) }
    }

    fn read_counters(&mut self) -> Result<()> {
        let asked = || format!("read the counters of {}", self.link.name);
        let counted = self.socket.take_statistics().map_err(|e| Error::system(asked(), e))?;
        self.ledger.add(counted);
        self.unread = 0;
        Ok(())
    }

    /// What became of every packet.
    pub(crate) fn stats(&mut self) -> Result<Stats> {
        self.read_counters()?;
        let seen = self.gate.seen(self.ledger.passed);
        let stats = self.ledger.stats(seen.unwrap_or(self.ledger.passed));
        let interface_dropped = self.losses.as_mut().and_then(Losses::count);
        Ok(Stats { filtered_uncounted: seen.is_none(), interface_dropped, ..stats })
    }

    /// Lets no packet through any more. Those in the buffer can still be fetched.
    ///
    /// A packet that passed the gate on another core may not be counted yet. Closing a packet socket
    /// returns only when every core has left the receive path that it was in (`synchronize_net` in
    /// `packet_release`, net/packet/af_packet.c, Linux 6.18), so one that has no other use is closed.
    pub(crate) fn stop(&mut self) -> Result<()> {
        let Some(barrier) = self.barrier.take() else { return Ok(()) };
        Gate::close(self.socket.as_fd())?;
        drop(barrier);
        self.fault.take_if(|fault| fault.kind() == ErrorKind::Down);
        self.draining = Some(Instant::now() + DRAIN);
        self.watch_on();
        Ok(())
    }

    /// A descriptor on which others can wait for packets.
    pub(crate) fn watch(&mut self) -> Result<BorrowedFd<'_>> {
        let lookout = match self.lookout.take() {
            Some(lookout) => lookout,
            None => Lookout::over(&[self.socket.as_fd(), self.interrupt.as_fd()])?,
        };
        Ok((*self.lookout.insert(lookout)).as_fd())
    }

    /// Waits, if others can, until there is something to look at; returns how long to wait after a look.
    pub(crate) fn await_news(&self, wait: Duration) -> Result<Duration> {
        lookout::wait(self.lookout.as_ref(), wait)
    }

    /// After a look, says when to look again though the socket has nothing to tell.
    pub(crate) fn watch_on(&self) {
        let Some(lookout) = &self.lookout else { return };
        lookout.ask_after(match self {
            Self { has_ended: true, .. } | Self { fault: Some(_), .. } => Duration::ZERO,
            Self { draining: Some(_), .. } => DRAIN_AFTER,
            Self { is_down: true, .. } => LOOK_AFTER,
            _ => Duration::MAX,
        });
    }

    /// Waits until `deadline` for packets, after none were found.
    ///
    /// # Errors
    /// The fault of the interface, once the packets before it are out.
    pub(crate) fn idle(&mut self, deadline: Instant) -> Result<Idle> {
        if self.has_ended {
            return Ok(Idle::End);
        }
        let Some(limit) = self.draining else { return self.wait(deadline) };
        if self.is_drained(limit)? {
            return self.end();
        }
        self.wait_for_rest(deadline, limit)
    }

    fn is_stopped(&self) -> bool {
        self.barrier.is_none()
    }

    fn is_drained(&mut self, limit: Instant) -> Result<bool> {
        self.read_counters()?;
        Ok(self.ledger.pending() == 0 || Instant::now() >= limit)
    }

    /// An interface that is only down may come back; everything else is the end.
    fn end(&mut self) -> Result<Idle> {
        self.draining = None;
        self.is_down = self.fault.as_ref().is_some_and(|fault| fault.kind() == ErrorKind::Down);
        self.has_ended = !self.is_down;
        match self.fault.take() {
            Some(fault) => Err(fault),
            None => Ok(Idle::End),
        }
    }

    /// Without heeding the interrupt: the end is near anyway.
    fn wait_for_rest(&mut self, deadline: Instant, limit: Instant) -> Result<Idle> {
        let [socket] = poll([self.socket.as_fd()], left(deadline.min(limit)))?;
        self.after_wait(socket, deadline)
    }

    fn wait(&mut self, deadline: Instant) -> Result<Idle> {
        let limit = if self.is_down { LOOK_AFTER } else { Duration::MAX };
        let fds = [self.socket.as_fd(), self.interrupt.as_fd()];
        let [socket, interrupt] = poll(fds, left(deadline).min(limit))?;
        if self.is_down {
            self.look_at_link()?;
        }
        if interrupt.readable { Ok(Idle::Nothing) } else { self.after_wait(socket, deadline) }
    }

    fn after_wait(&mut self, socket: Readiness, deadline: Instant) -> Result<Idle> {
        if socket.failed {
            self.take_fault()?;
        }
        let look_again = socket.readable || socket.failed || Instant::now() < deadline;
        Ok(if look_again { Idle::Again } else { Idle::Nothing })
    }

    /// Takes the error that waits on the socket.
    fn take_fault(&mut self) -> Result<()> {
        let asked = || format!("capture on {}", self.link.name);
        match self.socket.take_error().map_err(|e| Error::system(asked(), e))? {
            Some(error) => self.fail(error),
            None => Ok(()),
        }
    }

    /// Takes note of an error that the socket gave.
    ///
    /// # Errors
    /// The error itself when it is not about the interface.
    pub(crate) fn fail(&mut self, error: io::Error) -> Result<()> {
        if error.kind() != io::ErrorKind::NetworkDown {
            return Err(Error::system(format!("capture on {}", self.link.name), error));
        }
        self.is_down = false;
        self.look_at_link()
    }

    /// Finds out how the interface is, and remembers a change for the worse as a fault.
    fn look_at_link(&mut self) -> Result<()> {
        let fault = match self.link.state(&self.socket)? {
            LinkState::Up => None,
            LinkState::Down if self.is_down || self.is_stopped() => return Ok(()),
            LinkState::Down => Some(self.link.down()),
            LinkState::Gone => Some(self.link.gone()),
        };
        self.is_down = false;
        if fault.is_some() {
            self.draining.get_or_insert_with(|| Instant::now() + DRAIN);
            self.fault = fault;
        }
        Ok(())
    }
}

fn poll<const N: usize>(fds: [BorrowedFd<'_>; N], timeout: Duration) -> Result<[Readiness; N]> {
    event::poll(fds, timeout).map_err(|e| Error::system("wait for packets", e))
}
