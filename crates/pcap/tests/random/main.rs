//! Savefiles and filters that chance makes, by the C functions.

mod check;

use proptest::collection::vec;
use proptest::prelude::*;

/// A pcap file of this machine with packets of any bytes, some of it overwritten and the end cut off.
fn savefiles() -> impl Strategy<Value = Vec<u8>> {
    let packets = vec(vec(any::<u8>(), 0..80), 0..20);
    let faults = vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    (packets, any::<u8>(), faults, 0..40_usize).prop_map(|(packets, link, faults, cut)| {
        let link = if link % 4 == 0 { u32::from(link) } else { 1 };
        let mut bytes: Vec<u8> = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, link]
            .into_iter()
            .flat_map(u32::to_ne_bytes)
            .collect();
        for packet in packets {
            let length = packet.len() as u32;
            bytes.extend([1, 2, length, length].into_iter().flat_map(u32::to_ne_bytes));
            bytes.extend(packet);
        }
        for (place, byte) in faults {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(bytes.len().saturating_sub(cut));
        bytes
    })
}

proptest! {
    #[test]
    fn a_filter_keeps_of_a_savefile_what_it_keeps_of_each_packet(
        filter in any::<[u8; 4]>(),
        bytes in prop_oneof![savefiles(), vec(any::<u8>(), 0..200)],
    ) {
        check::check(filter, &bytes);
    }
}
