//! Templates against etherparse, which reads headers and computes checksums on its own.

mod checked;
mod errors;
mod fields;
mod filled;
mod messages;
mod partial;
mod rewritten;
mod walks;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use linerate_base::{Error, ErrorKind, Result};
use linerate_transmit::template::{self, NextHop, Surroundings};
use linerate_transmit::{Blocklist, Template};

/// A host with both kinds of addresses and a gateway for those of documentation (RFC 5737).
struct Host;

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const GATEWAY: [u8; 6] = [2, 0, 0, 0, 0, 0xfe];

impl Surroundings for Host {
    fn mac(&self) -> [u8; 6] {
        MAC
    }

    fn ipv4(&self) -> Option<Ipv4Addr> {
        Some(Ipv4Addr::new(10, 9, 0, 1))
    }

    fn ipv6(&self) -> Option<Ipv6Addr> {
        Some(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1))
    }

    fn next_hop(&self, destination: IpAddr) -> Result<NextHop> {
        match destination {
            IpAddr::V4(address) if address.octets()[0] == 127 => {
                Err(Error::new(ErrorKind::NotFound, "find a route", "there is no route"))
            }
            // Neighbours, each with the end of its address.
            IpAddr::V4(address) if address.octets()[0] == 10 => {
                let [_, a, b, c] = address.octets();
                Ok(NextHop { address: destination, mac: [2, 0, 10, a, b, c] })
            }
            _ => Ok(NextHop { address: Ipv4Addr::new(10, 9, 0, 254).into(), mac: GATEWAY }),
        }
    }

    fn may_be_neighbour(&self, address: IpAddr) -> bool {
        !matches!(address, IpAddr::V4(v4) if matches!(v4.octets(), [10, 9, 0, 0 | 1 | 255]))
    }
}

fn compile(text: &str) -> template::Result<Template> {
    Template::compile(text, &Host, &Blocklist::default(), 1)
}

/// The template, or a panic that shows what is wrong with it.
fn template(text: &str) -> Template {
    compile(text).unwrap_or_else(|error| panic!("{error}"))
}

/// The packet of a number.
fn packet(template: &Template, number: u64) -> Vec<u8> {
    let mut slot = vec![0xaa; template.longest()];
    let length = template.fill(number, &mut slot);
    slot.truncate(length);
    slot
}
