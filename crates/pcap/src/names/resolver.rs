//! Names in expressions, looked up as the name functions do.

use std::net::IpAddr;

use linerate::filter::{Hermetic, Resolver, Transport};

use super::{ether, host, port, protocol};

/// Asks the system; the commonest services and protocols are known where it has no list of them.
pub(crate) struct System;

impl Resolver for System {
    fn hosts(&self, name: &str) -> Vec<IpAddr> {
        let mut addresses = host::addresses(name);
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    fn network(&self, name: &str) -> Option<u32> {
        host::network(name)
    }

    fn service(&self, name: &str, transport: Transport) -> Option<u16> {
        let by = match transport {
            Transport::Tcp => c"tcp",
            Transport::Udp => c"udp",
        };
        port::service(name, by).or_else(|| Hermetic.service(name, transport))
    }

    fn protocol(&self, name: &str) -> Option<u8> {
        let known = protocol::ip_protocol(name).and_then(|number| number.try_into().ok());
        known.or_else(|| Hermetic.protocol(name))
    }

    fn ethernet(&self, name: &str) -> Option<[u8; 6]> {
        ether::of_host(name)
    }
}
