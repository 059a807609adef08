//! Names and numbers: of link types, time stamps, the library itself, hosts, services and hardware addresses.

pub mod datalink;
pub mod ether;
pub mod host;
pub mod port;
pub mod protocol;
pub(crate) mod resolver;
mod rest;
pub mod tstamp;
pub mod version;
