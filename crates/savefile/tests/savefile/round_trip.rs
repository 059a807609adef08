//! What is written is what is read.

use linerate_base::{Direction, Interface, LinkType, Timestamp, TimestampSource};
use linerate_savefile::Format;
use proptest::prelude::*;

use crate::make::Maker;
use crate::support::{Dribble, MICROS, NANOS, Owned, read, write};

fn interfaces() -> Vec<Interface> {
    let eth = Interface {
        name: "eth0".to_owned(),
        description: "the wire, \u{e4} and \u{1f980}".to_owned(),
        link_type: LinkType::ETHERNET,
        snaplen: 0,
        filter: "tcp port 80 or udp".to_owned(),
        timestamps: Some(TimestampSource::Sampled),
    };
    let sll = Interface { link_type: LinkType::LINUX_SLL2, snaplen: 300, ..Interface::default() };
    vec![eth, sll]
}

prop_compose! {
    fn any_packet(latest: i64)(
        nanos in 0..latest,
        data in prop::collection::vec(any::<u8>(), 0..300),
        more in 0..2000_u32,
        interface in 0..2_u32,
        direction in prop::sample::select(vec![Direction::Unknown, Direction::In, Direction::Out]),
    ) -> Owned {
        let link_type = interfaces()[interface as usize].link_type;
        let length = data.len() as u32 + more;
        Owned { time: Timestamp::from_nanos(nanos), data, length, interface, link_type, direction }
    }
}

/// What pcap keeps of a packet.
fn plain(mut packet: Owned, unit: i64) -> Owned {
    packet.time = Timestamp::from_nanos(packet.time.nanos() / unit * unit);
    packet.interface = 0;
    packet.link_type = LinkType::ETHERNET;
    packet.direction = Direction::Unknown;
    packet
}

const LATEST_PCAP: i64 = (u32::MAX as i64 + 1) * 1_000_000_000;

proptest! {
    #[test]
    fn pcapng(
        packets in prop::collection::vec(any_packet(i64::MAX), 0..50),
        step in 1..5000_usize,
    ) {
        let file = write(Format::Pcapng, &interfaces(), &packets);
        let outcome = read(Dribble::new(&file, step));
        prop_assert_eq!(&outcome.interfaces, &interfaces());
        prop_assert_eq!(outcome.clean(), packets);
    }

    #[test]
    fn pcap(
        packets in prop::collection::vec(any_packet(LATEST_PCAP), 0..50),
        step in 1..5000_usize,
    ) {
        for (format, unit) in [(NANOS, 1), (MICROS, 1000)] {
            let packets: Vec<_> = packets.iter().cloned().map(|p| plain(p, unit)).collect();
            let file = write(format, &interfaces(), &packets);
            prop_assert_eq!(read(Dribble::new(&file, step)).clean(), packets);
        }
    }

    #[test]
    fn pcap_of_either_byte_order(
        packets in prop::collection::vec(any_packet(LATEST_PCAP), 0..50),
        big in any::<bool>(),
        modified in any::<bool>(),
    ) {
        let packets: Vec<_> = packets.into_iter().map(|p| plain(p, 1000)).collect();
        let magic = if modified { 0xa1b2_cd34 } else { 0xa1b2_c3d4 };
        let mut file = Maker::new(big).pcap(magic, (2, 4), 0, 1);
        for p in &packets {
            let time = (p.time.seconds() as u32, p.time.subsec_nanos() / 1000);
            let extra = if modified { &[1; 8][..] } else { &[] };
            file = file.record(time, (p.data.len() as u32, p.length), extra).raw(&p.data);
        }
        prop_assert_eq!(read(&file.bytes[..]).clean(), packets);
    }

    #[test]
    fn pcapng_of_either_byte_order(
        packets in prop::collection::vec(any_packet(i64::MAX), 0..50),
        big in any::<bool>(),
    ) {
        let mut file = Maker::new(big).section();
        for interface in interfaces() {
            file = file.interface(interface.link_type.0, interface.snaplen, &[(9, &[9])]);
        }
        for p in &packets {
            let flag: u32 = match p.direction {
                Direction::Unknown => 0,
                Direction::In => 1,
                Direction::Out => 2,
            };
            let flag = if big { flag.to_be_bytes() } else { flag.to_le_bytes() };
            let ticks = p.time.nanos() as u64;
            file = file.enhanced(p.interface, ticks, p.length, &p.data, &[(2, &flag)]);
        }
        prop_assert_eq!(read(&file.bytes[..]).clean(), packets);
    }
}

#[test]
fn files_larger_than_every_buffer() {
    let packets: Vec<_> = (0..3000_i64)
        .map(|i| crate::support::packet(i, &vec![i as u8; (i * 37 % 1500) as usize]))
        .collect();
    for format in [NANOS, Format::Pcapng] {
        let file = write(format, &[crate::support::ethernet("e")], &packets);
        assert!(file.len() > 2 << 20);
        assert_eq!(read(&file[..]).clean(), packets);
        assert_eq!(read(Dribble::new(&file, 65_521)).clean(), packets);
    }
}
