//! From where a target is visited.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use linerate_tcp::{Flow, Key};

use crate::Target;

/// From which address and port a target is visited: always the same ones, so that a SYN that is sent again is the same.
#[derive(Clone, Debug)]
pub struct Doors {
    ipv4: Option<(usize, IpAddr)>,
    ipv6: Option<(usize, IpAddr)>,
    ports: RangeInclusive<u16>,
    key: Key,
}

impl Doors {
    /// From these ports of a client's local addresses, of each family the last one. The port to a target is a MAC of it with
    /// this key.
    pub fn new(locals: &[IpAddr], ports: RangeInclusive<u16>, key: Key) -> Self {
        let last = |is_ipv4| {
            let mut numbered = locals.iter().copied().enumerate();
            numbered.rfind(|(_, address)| address.is_ipv4() == is_ipv4)
        };
        Self { ipv4: last(true), ipv6: last(false), ports, key }
    }

    /// The number of the local address, and the port.
    ///
    /// # Panics
    /// For a target of a family that there is no address of.
    pub fn to(&self, target: Target) -> (usize, u16) {
        let (local, end) = self.find(target).expect("an address of the target's family");
        (local, end.port())
    }

    /// True when this flow is the one by which its remote end is visited.
    pub(super) fn are(&self, flow: &Flow) -> bool {
        let target = Target { address: flow.remote.ip(), port: flow.remote.port() };
        self.find(target).is_some_and(|(_, end)| end == flow.local)
    }

    fn find(&self, target: Target) -> Option<(usize, SocketAddr)> {
        let (local, address) = if target.address.is_ipv4() { self.ipv4 } else { self.ipv6 }?;
        let remote = SocketAddr::new(target.address, target.port);
        let mac = self.key.mac(&Flow { local: SocketAddr::new(address, 0), remote });
        let count = u64::from(*self.ports.end() - *self.ports.start()) + 1;
        Some((local, SocketAddr::new(address, *self.ports.start() + (mac.0 % count) as u16)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_one_door_and_nobody_else_comes_by_it() {
        let locals = ["fd00::1", "10.0.0.1"].map(|text| text.parse().unwrap());
        let doors = Doors::new(&locals, 40_000..=40_999, Key::new([3; 16]));
        let target = Target { address: "10.9.0.1".parse().unwrap(), port: 80 };
        let (local, port) = doors.to(target);
        assert_eq!((local, doors.to(target)), (1, (local, port)));
        assert!((40_000..=40_999).contains(&port));
        let flow = |local: &str, port: u16, remote: &str| Flow {
            local: (local.parse::<IpAddr>().unwrap(), port).into(),
            remote: remote.parse().unwrap(),
        };
        assert!(doors.are(&flow("10.0.0.1", port, "10.9.0.1:80")));
        for other in [
            flow("10.0.0.2", port, "10.9.0.1:80"),
            flow("10.0.0.1", port ^ 1, "10.9.0.1:80"),
            flow("10.0.0.1", port, "10.9.0.1:81"),
            flow("fd00::1", port, "[fd00::2]:80"),
        ] {
            assert!(!doors.are(&other), "{other:?}");
        }
        assert_eq!(doors.to(Target { address: "fd00::2".parse().unwrap(), port: 80 }).0, 0);
        assert!(!Doors::new(&locals[1..], 1..=9, Key::new([3; 16])).are(&flow(
            "fd00::1",
            1,
            "[fd00::2]:80"
        )));
    }
}
