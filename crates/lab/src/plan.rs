//! What a lab is to look like.

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::ethtool::Offload;

use crate::{Lab, build};

/// Addresses have one byte for the host's number, and 0 and 255 are taken.
const MOST_HOSTS: usize = 254;

/// A lab to be: its hosts, and what the wire between them is like.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) hosts: Vec<String>,
    pub(crate) mtu: u32,
    pub(crate) queues: u32,
    pub(crate) offloads: Vec<(Offload, bool)>,
    pub(crate) quiet: bool,
}

impl Plan {
    pub(crate) fn new() -> Self {
        Self { hosts: vec![], mtu: 1500, queues: 1, offloads: vec![], quiet: false }
    }

    /// Adds a host. The first has the addresses 10.0.0.1 and fd00::1, the second 10.0.0.2, and
    /// so on.
    #[must_use]
    pub fn host(mut self, name: impl Into<String>) -> Self {
        self.hosts.push(name.into());
        self
    }

    /// Sets the MTU of every host's interface, in bytes, instead of 1500.
    #[must_use]
    pub fn mtu(mut self, bytes: u32) -> Self {
        self.mtu = bytes;
        self
    }

    /// Gives every host's interface so many receive and transmit queues, instead of one.
    #[must_use]
    pub fn queues(mut self, count: u32) -> Self {
        self.queues = count;
        self
    }

    /// Switches an offload of every host's interface; those not named stay as the driver has
    /// them.
    #[must_use]
    pub fn offload(mut self, offload: Offload, on: bool) -> Self {
        self.offloads.push((offload, on));
        self
    }

    /// Switches every offload off: what a host sends is then on the wire as a capture shows it,
    /// checksums, segments and VLAN tags included.
    #[must_use]
    pub fn without_offloads(mut self) -> Self {
        self.offloads.extend(Offload::ALL.map(|offload| (offload, false)));
        self
    }

    /// Keeps the kernels silent: no address resolution, no multicast reports. Neighbours are
    /// entered beforehand, so both address families work and nothing is on the wire but what is
    /// sent there.
    #[must_use]
    pub fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Builds it.
    ///
    /// # Errors
    /// Without root (of the machine, or of a user namespace: see
    /// [`become_root_in_user_namespace`](crate::become_root_in_user_namespace)); when there are
    /// fewer than 2 hosts or more than 254, or two of one name; when the kernel refuses a value.
    pub fn build(self) -> Result<Lab> {
        self.check()?;
        build::build(&self)
    }

    fn check(&self) -> Result<()> {
        let refuse = |reason: String| Err(Error::new(ErrorKind::Invalid, "build a lab", reason));
        let count = self.hosts.len();
        if !(2..=MOST_HOSTS).contains(&count) {
            return refuse(format!("{count} hosts; a lab has 2 to {MOST_HOSTS}"));
        }
        let mut names: Vec<_> = self.hosts.iter().collect();
        names.sort();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => refuse(format!("two hosts are called {}", pair[0])),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_plans_are_refused_before_anything_is_made() {
        let reason = |plan: Plan| plan.build().unwrap_err().answered().to_owned();
        assert_eq!(reason(Plan::new().host("a")), "1 hosts; a lab has 2 to 254");
        assert_eq!(reason(Plan::new().host("a").host("a")), "two hosts are called a");
    }
}
