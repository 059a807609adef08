//! Any bytes as a savefile and a filter, by libpcap's functions: no panic, and a filter that is set keeps what it keeps of
//! each packet by itself.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/pcap/tests/random/check.rs"]
mod check;

fuzz_target!(|bytes: &[u8]| {
    if let Some((filter, savefile)) = bytes.split_first_chunk() {
        check::check(*filter, savefile);
    }
});
