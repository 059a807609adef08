//! The command, end to end: real traffic between hosts made for the purpose, real peers.

mod bench;
mod capture;
mod connect;
mod disk;
mod doctor;
mod documents;
mod faults;
mod filter;
mod host;
mod mirrored;
mod oracle;
mod own;
mod peers;
mod privileges;
mod read;
mod replay;
mod rotation;
mod scan;
mod seen;
mod send;
mod send_faults;
mod send_live;
mod stat;
mod support;
mod threads;
mod xdp;
