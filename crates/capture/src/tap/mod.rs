//! The tap: a program in the kernel copies packets into memory that it shares with us.
//!
//! The way of a packet through the files here: [`program`] runs in the kernel, at the hooks to which
//! [`attachment`] ties it; it filters, stamps, copies and publishes. [`walk`] finds the packets in one
//! ring, [`intake`] merges those of several, [`stamps`] turns their times into ours. [`doze`] decides
//! how to wait for them, [`vigil`] watches the interface meanwhile. [`setup`] decides where it goes, [`build`]
//! puts it together, in rings of a [`size`] that fits, with what the [`driver`] can tell.

pub(crate) mod attachment;
pub(crate) mod build;
pub(crate) mod doze;
pub(crate) mod driver;
pub(crate) mod intake;
pub(crate) mod program;
pub(crate) mod setup;
pub(crate) mod size;
pub(crate) mod stamps;
pub(crate) mod vigil;
pub(crate) mod walk;

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use linerate_base::{Batch, Error, Interface, Result, Source, Stats};
use linerate_sys::event;
use linerate_sys::tap_ring::Doorbell;

use crate::Interrupt;
use crate::live::watch::Losses;
use crate::live::{after, left};
use crate::lookout::{self, Lookout};
use crate::own::responder::Responder;
use attachment::Attachment;
use doze::{Doze, Nap};
use intake::Intake;
use vigil::Vigil;

/// A source of packets that a program in the kernel captures, or of the share of one thread.
#[derive(Debug)]
pub(crate) struct TapSource {
    pub(crate) intake: Intake,
    pub(crate) attachment: Arc<Attachment>,
    pub(crate) interfaces: [Interface; 1],
    pub(crate) doorbell: Doorbell,
    pub(crate) interrupt: Interrupt,
    pub(crate) vigil: Vigil,
    pub(crate) doze: Doze,
    pub(crate) responder: Option<Responder>,
    pub(crate) losses: Option<Losses>,
    pub(crate) has_stopped: bool,
    pub(crate) has_ended: bool,
    /// Where others wait for packets.
    pub(crate) lookout: Option<Lookout>,
}

/// What to do when no packet is there.
enum Idle {
    /// Look again.
    Again,
    /// Return without packets: the time is up, or the wait was interrupted.
    Nothing,
    /// There will be no more.
    End,
}

impl Source for TapSource {
    fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    fn next_batch(&mut self, wait: Duration) -> Result<Option<Batch<'_>>> {
        let wait = self.await_news(wait)?;
        let found = self.find(wait);
        self.watch_on(found.is_err());
        Ok(found?.map(|packets| match packets {
            0 => Batch::empty(&self.interfaces),
            _ => Batch::new(self.intake.region(), self.intake.descriptors(), &self.interfaces),
        }))
    }

    fn stats(&mut self) -> Result<Stats> {
        let interface_dropped = self.losses.as_mut().and_then(Losses::count);
        Ok(Stats { interface_dropped, ..self.intake.stats() })
    }

    /// When the links are gone and every processor has left what it was doing, no program runs, and all
    /// that was captured is published.
    fn stop(&mut self) -> Result<()> {
        self.attachment.detach();
        self.has_stopped = true;
        self.vigil.calm();
        self.watch_on(false);
        Ok(())
    }

    fn watch(&mut self) -> Result<BorrowedFd<'_>> {
        let lookout = match self.lookout.take() {
            Some(lookout) => lookout,
            None => {
                Lookout::over(&[self.doorbell.as_fd(), self.interrupt.as_fd(), self.vigil.as_fd()])?
            }
        };
        Ok((*self.lookout.insert(lookout)).as_fd())
    }
}

impl TapSource {
    /// Takes the next packets; returns how many came in time, `None` at the end.
    fn find(&mut self, wait: Duration) -> Result<Option<usize>> {
        self.intake.release();
        self.gather(wait)?;
        let mut deadline = None;
        loop {
            let draining = self.has_stopped || self.vigil.is_alarmed();
            let packets = self.intake.fetch(draining)?;
            if let Some(responder) = &self.responder {
                responder.answer(self.intake.region(), self.intake.questions());
            }
            if packets > 0 {
                self.doze.found(self.intake.is_cut());
                return Ok(Some(packets));
            }
            match self.idle(*deadline.get_or_insert_with(|| after(wait)))? {
                Idle::Again => {}
                Idle::Nothing => return Ok(Some(0)),
                Idle::End => return Ok(None),
            }
        }
    }

    /// Waits, if others can, until there is something to look at; returns how long to wait after a look.
    fn await_news(&self, wait: Duration) -> Result<Duration> {
        let wait = lookout::wait(self.lookout.as_ref(), wait)?;
        if self.lookout.is_some() {
            self.doorbell.silence();
        }
        Ok(wait)
    }

    /// After a look, has the doorbell rung for those who wait from outside; says when to look again though it does
    /// not ring. At once after a fault, as there may be more to tell.
    fn watch_on(&mut self, after_fault: bool) {
        let Some(lookout) = &self.lookout else { return };
        let nap = self.doze.gather(Duration::MAX);
        let nap = nap.unwrap_or_else(|| self.doze.idle(Duration::MAX, self.intake.holds_some()));
        let has_news = after_fault || self.has_stopped || self.has_ended || self.vigil.is_alarmed();
        let sleeps = !has_news && self.intake.arm(nap.bytes);
        lookout.ask_after(if sleeps { nap.limit } else { Duration::ZERO });
    }

    /// Lets packets gather for a moment where they come so quickly that each look finds a few only.
    fn gather(&mut self, wait: Duration) -> Result<()> {
        if self.has_stopped {
            return Ok(());
        }
        let Some(nap) = self.doze.gather(wait) else { return Ok(()) };
        self.sleep(nap).map(drop)
    }

    /// Waits until `deadline` for packets, after none were found.
    fn idle(&mut self, deadline: Instant) -> Result<Idle> {
        if self.has_ended {
            return Ok(Idle::End);
        }
        if let Some(fault) = self.vigil.take_alarm() {
            self.has_ended = self.vigil.is_gone();
            return Err(fault);
        }
        if self.has_stopped {
            self.has_ended = true;
            return Ok(Idle::End);
        }
        let nap = self.doze.idle(left(deadline), self.intake.holds_some());
        let interrupted = self.sleep(nap)?;
        let look = !interrupted && (self.vigil.is_alarmed() || Instant::now() < deadline);
        Ok(if look || self.intake.has_news() { Idle::Again } else { Idle::Nothing })
    }

    /// Sleeps until the doorbell rings, the interface changes, somebody interrupts, which is told, or
    /// the nap is over.
    fn sleep(&mut self, nap: Nap) -> Result<bool> {
        if !self.intake.arm(nap.bytes) {
            return Ok(false);
        }
        let fds = [self.doorbell.as_fd(), self.interrupt.as_fd(), self.vigil.as_fd()];
        let woken = event::poll(fds, nap.limit);
        self.intake.disarm();
        let [doorbell, interrupt, link] =
            woken.map_err(|e| Error::system("wait for packets", e))?;
        if doorbell.readable {
            self.doorbell.silence();
        }
        if link.readable || link.failed {
            self.vigil.hear()?;
        }
        Ok(interrupt.readable)
    }
}
