//! What the kernel counts anyway: snapshots, and what lies between two of them.

mod captures;
mod machine;

use std::time::{Duration, Instant};

use linerate_base::Result;
use linerate_sys::ethtool;
use linerate_sys::interface::{self, Counters};

pub use captures::{Buffer, Capture, CaptureCounts, CaptureId, Watcher};
pub use machine::{Softirqs, Softnet};

/// Everything at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    at: Instant,
    /// The interfaces that were asked for.
    pub interfaces: Vec<InterfaceCounts>,
    /// What the kernel's receiving half of all CPUs counts together.
    pub softnet: Softnet,
    /// Softirqs of all CPUs.
    pub softirqs: Softirqs,
    /// Time in which somebody waited for storage (`/proc/pressure/io`); `None` where the kernel does not tell.
    pub storage: Option<Duration>,
    /// Packet sockets and taps, whoever has them.
    pub captures: Vec<Capture>,
}

/// What an interface counts.
#[derive(Clone, Debug)]
pub struct InterfaceCounts {
    /// Its name.
    pub name: String,
    /// Its index.
    pub index: u32,
    /// Its driver.
    pub driver: Option<String>,
    /// The kernel's counters.
    pub counters: Counters,
    /// The driver's own, by its names.
    pub driver_counters: Vec<(String, u64)>,
}

impl Snapshot {
    /// Asks for everything, as far as it may be known: of one interface, or of all that are up.
    ///
    /// # Errors
    /// When there is no such interface.
    pub fn take(interface: Option<&str>, watcher: &mut Watcher) -> Result<Self> {
        let interfaces = match interface {
            Some(name) => vec![interface::by_name(name)?],
            None => interface::list()?.into_iter().filter(|interface| interface.is_up).collect(),
        };
        let interfaces: Vec<_> = interfaces.into_iter().map(InterfaceCounts::of).collect();
        let indices: Vec<_> = interfaces.iter().map(|interface| interface.index).collect();
        Ok(Self {
            at: Instant::now(),
            captures: watcher.captures(&indices),
            interfaces,
            softnet: Softnet::read(),
            softirqs: Softirqs::read(),
            storage: machine::storage(),
        })
    }

    /// What happened since `earlier`. Interfaces and captures that were not there then are left out.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Difference {
        let interfaces = self.interfaces.iter().filter_map(|now| {
            let before = earlier.interfaces.iter().find(|before| before.index == now.index)?;
            Some(now.since(before))
        });
        let captures = self.captures.iter().filter_map(|now| {
            let before = earlier.captures.iter().find(|before| before.id == now.id)?;
            Some(Capture { counts: now.counts.since(before.counts), ..now.clone() })
        });
        Difference {
            elapsed: self.at - earlier.at,
            interfaces: interfaces.collect(),
            captures: captures.collect(),
            softnet: self.softnet.since(earlier.softnet),
            softirqs: self.softirqs.since(earlier.softirqs),
            storage: self.storage.zip(earlier.storage).map(|(now, before)| now - before),
        }
    }
}

/// What happened between two snapshots.
#[derive(Clone, Debug)]
pub struct Difference {
    /// How long it took.
    pub elapsed: Duration,
    /// What the interfaces counted.
    pub interfaces: Vec<InterfaceCounts>,
    /// What captures counted; what waits in their buffers is that of the end.
    pub captures: Vec<Capture>,
    /// See [`Snapshot::softnet`].
    pub softnet: Softnet,
    /// See [`Snapshot::softirqs`].
    pub softirqs: Softirqs,
    /// See [`Snapshot::storage`].
    pub storage: Option<Duration>,
}

impl InterfaceCounts {
    fn of(interface: interface::Interface) -> Self {
        Self {
            // An interface that went away meanwhile has no counters.
            driver_counters: ethtool::statistics(&interface.name).unwrap_or_default(),
            name: interface.name,
            index: interface.index,
            driver: interface.driver,
            counters: interface.counters,
        }
    }

    fn since(&self, before: &Self) -> Self {
        let (now, then) = (&self.counters, &before.counters);
        // Drivers may begin anew, as when the interface was set down.
        let counters = Counters {
            received: now.received.saturating_sub(then.received),
            received_bytes: now.received_bytes.saturating_sub(then.received_bytes),
            received_dropped: now.received_dropped.saturating_sub(then.received_dropped),
            received_missed: now.received_missed.saturating_sub(then.received_missed),
            sent: now.sent.saturating_sub(then.sent),
            sent_bytes: now.sent_bytes.saturating_sub(then.sent_bytes),
            sent_dropped: now.sent_dropped.saturating_sub(then.sent_dropped),
        };
        let by_driver = self.driver_counters.iter().zip(&before.driver_counters);
        let by_driver = by_driver
            .filter(|((now, _), (then, _))| now == then)
            .map(|((name, now), (_, then))| (name.clone(), now.saturating_sub(*then)));
        Self { counters, driver_counters: by_driver.collect(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_lab::traffic::Flow;
    use linerate_lab::{Lab, need};

    #[test]
    fn a_difference_has_what_came_between_and_nothing_else() {
        if !need::root() {
            return;
        }
        let lab = Lab::plan().host("a").host("b").quiet().build().unwrap();
        let (a, b) = (lab.host("a"), lab.host("b"));
        let take = || b.run(|| Snapshot::take(None, &mut Watcher::new().0).unwrap());
        Flow::ipv4(a, b, 5000, 7).send_frames(7, 10).unwrap();
        let before = take();
        Flow::ipv4(a, b, 5000, 7).send_frames(500, 10).unwrap();
        let between = take().since(&before);
        let wire = between.interfaces.iter().find(|i| i.index == b.interface_index()).unwrap();
        assert_eq!(wire.counters.received, 500);
        assert_eq!(wire.driver.as_deref(), Some("veth"));
        assert!(between.softnet.processed >= 500, "{between:?}");
        assert!(between.captures.is_empty(), "{between:?}");
    }

    #[test]
    fn an_interface_that_is_not_there_is_named() {
        let error = Snapshot::take(Some("no-such-link"), &mut Watcher::new().0).unwrap_err();
        assert!(error.asked().contains("no-such-link"), "{error}");
    }
}
