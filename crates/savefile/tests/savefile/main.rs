//! The readers and writers from outside, on files made here, on damaged ones and on real ones.

mod captures;
mod compression;
mod damage;
mod make;
mod pcap;
mod pcapng;
mod rotation;
mod round_trip;
mod support;
mod wireshark;
mod writing;
