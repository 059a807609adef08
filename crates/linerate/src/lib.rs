//! Packet I/O at line rate on a stock Linux kernel.
//!
//! This crate only gathers the others under one name:
//!
//! - [`base`]: timestamps, link types, packets, leased batches, statistics, the `Source` trait
//! - [`filter`]: the pcap-filter language, compiled
//! - [`bpf`]: the programs that it compiles to
//! - [`capture`]: live interfaces and savefiles as sources of packets
//! - [`savefile`]: pcap and pcapng, read and written
//! - [`wire`]: what a packet's bytes mean, as text and as data
//! - [`lab`]: hosts on one wire, for tests and benches
//! - [`sys`]: the kernel
//!
//! `docs/ARCHITECTURE.md` in the repository shows how they lie upon one another.

pub use linerate_base as base;
pub use linerate_bpf as bpf;
pub use linerate_capture as capture;
pub use linerate_filter as filter;
pub use linerate_lab as lab;
pub use linerate_savefile as savefile;
pub use linerate_sys as sys;
pub use linerate_wire as wire;
