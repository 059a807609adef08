//! The interface of a tap: a program is not told when it goes.

use std::os::fd::{AsFd, BorrowedFd};

use linerate_base::{Error, Result};
use linerate_sys::netlink::{LinkChange, LinkWatch};

use crate::live::watch::Link;

/// Hears of the interface, and remembers what is to be reported.
#[derive(Debug)]
pub(crate) struct Vigil {
    link: Link,
    watch: LinkWatch,
    alarm: Option<Alarm>,
    is_gone: bool,
}

/// A change for the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alarm {
    Down,
    Gone,
}

impl Vigil {
    /// Over `link`, of the calling thread's namespace, from now on.
    pub(crate) fn over(link: &Link) -> Result<Self> {
        let watch = LinkWatch::of(link.index)?;
        Ok(Self { link: link.clone(), watch, alarm: None, is_gone: false })
    }

    /// Takes note of what happened.
    pub(crate) fn hear(&mut self) -> Result<()> {
        for change in self.watch.read()? {
            match change {
                LinkChange::Down => self.alarm = self.alarm.or(Some(Alarm::Down)),
                LinkChange::Gone => {
                    self.alarm = Some(Alarm::Gone);
                    self.is_gone = true;
                }
                LinkChange::Up | LinkChange::Mtu(_) | LinkChange::Renamed(_) => {}
            }
        }
        Ok(())
    }

    /// There is something to report, once the packets before it are out.
    pub(crate) fn is_alarmed(&self) -> bool {
        self.alarm.is_some()
    }

    /// There is no interface any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// What is to be reported, once.
    pub(crate) fn take_alarm(&mut self) -> Option<Error> {
        self.alarm.take().map(|alarm| match alarm {
            Alarm::Down => self.link.down(),
            Alarm::Gone => self.link.gone(),
        })
    }

    /// That the interface went down matters no more.
    pub(crate) fn calm(&mut self) {
        self.alarm.take_if(|alarm| *alarm == Alarm::Down);
    }
}

impl AsFd for Vigil {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }
}
