//! Our programs against those who know: libpcap, tcpdump and the kernel.
//!
//! - `classic`: the reference interpreter, the checks and the text forms
//! - `extended`: translated programs in the kernel, and what its verifier prints
//! - `ancillary`: what packet sockets answer about a packet
//! - `support`: random programs, and their way to the oracles

mod ancillary;
mod classic;
mod extended;
mod support;
