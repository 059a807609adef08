//! What the crate says of packets made by hand, of captures, and of noise.

mod hexdump;
mod json;
mod lines;
mod robustness;
mod support;
mod tcpdump;
