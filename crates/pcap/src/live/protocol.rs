//! Packets of one protocol, as packet sockets of Linux can be bound to one.

use std::ffi::c_int;
use std::sync::Arc;

use linerate::base::LinkType;
use linerate::capture::{Config, Directions};
use linerate::exec::Engine;
use linerate::filter::{self, Options};

use super::source::everywhere;
use crate::names::resolver::System;

/// `ETH_P_ALL` of `linux/if_ether.h`.
const ALL: u16 = 3;

/// The EtherType that a program asks for; `None` for all.
pub(super) fn wanted(protocol: c_int) -> Option<u16> {
    u16::try_from(protocol).ok().filter(|protocol| ![0, ALL].contains(protocol))
}

/// Sees packets of the protocol only. Those that the host sends a socket of one protocol does not see.
pub(super) fn restrict(
    config: &mut Config,
    protocol: u16,
    link_type: LinkType,
) -> Result<(), filter::Error> {
    let text = format!("ether proto {protocol}");
    let filter = filter::compile(&text, &Options::new(link_type, &System))?;
    let user = Arc::new(Engine::new(&filter));
    config.filter = Some(everywhere(&text, None, user, config, link_type));
    config.direction = Directions::In;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_protocols_are_no_restriction() {
        assert_eq!([0, 3, -1, 0x10000, 0x806].map(wanted), [None, None, None, None, Some(0x806)]);
    }
}
