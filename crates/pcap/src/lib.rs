//! libpcap's C functions on linerate's engines: a library that programs load in place of the system's.
//!
//! - [`abi`]: the structs and numbers that programs were compiled with
//! - `entry`: what every function does at the boundary: nothing unwinds across it
//! - `pointer`: what may be done with a caller's pointers
//! - [`handle`]: what a `pcap_t` is, and what went wrong with it
//! - [`init`]: the beginning, of which `pcap_init` tells
//! - [`names`]: link types, time stamps, versions, hosts, services, hardware addresses
//! - [`filter`]: expressions compiled, programs run and printed
//! - [`savefile`]: savefiles read and written through the caller's `FILE *`
//! - [`status`]: what went wrong, in words
//! - [`live`]: captures on interfaces, and the interfaces
//! - [`packets`]: packets, one by one or by a callback
//! - [`send`]: packets sent, one by one or by queues
//! - [`winpcap`]: what WinPcap has and libpcap has not
//! - [`options`]: the options of libpcap 1.11
//!
//! `docs/libpcap.md` lists what is other than in libpcap. Who calls a function keeps to its manual page of libpcap
//! 1.10; what a page forbids is as wrong here. Null handles are answered by an error.
//!
//! Sources: `pcap/pcap.h`, `pcap/bpf.h`, `pcap/namedb.h` and the manual pages of libpcap 1.10.3.

pub mod abi;
mod entry;
pub mod filter;
pub mod handle;
pub mod init;
pub mod live;
pub mod names;
pub mod options;
pub mod packets;
mod pointer;
pub mod savefile;
pub mod send;
pub mod status;
pub mod winpcap;
