//! Live capture between two hosts of a lab, by every back end.

mod any;
mod beside_tcpdump;
mod choice;
mod common;
mod delivery;
mod fanout;
mod faults;
mod gate;
mod meter;
mod overload;
mod own;
mod privilege;
mod probe;
mod tap;
mod watch;
mod xdp;
