//! Packet I/O at line rate on a stock Linux kernel.
//!
//! This crate only gathers the others under one name:
//!
//! - [`base`]: timestamps, link types, packets, leased batches, statistics, the `Source` trait
//! - [`filter`]: the pcap-filter language, compiled
//! - [`bpf`]: the programs that it compiles to
//! - [`exec`]: filters run over batches of packets
//! - [`capture`]: live interfaces and savefiles as sources of packets
//! - [`transmit`]: templates of packets, pacing, and interfaces as sinks of packets
//! - [`scan`]: stateless probes of many targets
//! - [`dns`]: many questions of DNS at once
//! - [`tcp`]: the client side of TCP in user space
//! - [`savefile`]: pcap and pcapng, read and written
//! - [`wire`]: what a packet's bytes mean, as text and as data
//! - [`profile`]: where each packet's time goes, and where packets are lost
//! - [`lab`]: hosts on one wire, for tests and benches
//! - [`sys`]: the kernel
//!
//! ```
//! use linerate::base::{LinkType, Matches, Result, Source};
//! use linerate::exec::Engine;
//! use linerate::filter::{Hermetic, Options, compile};
//! use std::time::Duration;
//!
//! /// How many Ethernet packets of a source are of encrypted web traffic.
//! fn count(source: &mut impl Source) -> Result<usize> {
//!     let filter = compile("tcp port 443", &Options::new(LinkType::ETHERNET, &Hermetic))?;
//!     let engine = Engine::new(&filter);
//!     let (mut matches, mut count) = (Matches::new(), 0);
//!     while let Some(batch) = source.next_batch(Duration::from_secs(1))? {
//!         engine.run(&batch, None, &mut matches);
//!         count += matches.count();
//!     }
//!     Ok(count)
//! }
//! ```
//!
//! `docs/ARCHITECTURE.md` in the repository shows how they lie upon one another.

pub use linerate_base as base;
pub use linerate_bpf as bpf;
pub use linerate_capture as capture;
pub use linerate_dns as dns;
pub use linerate_exec as exec;
pub use linerate_filter as filter;
pub use linerate_lab as lab;
pub use linerate_profile as profile;
pub use linerate_savefile as savefile;
pub use linerate_scan as scan;
pub use linerate_sys as sys;
pub use linerate_tcp as tcp;
pub use linerate_transmit as transmit;
pub use linerate_wire as wire;
