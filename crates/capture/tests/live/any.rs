//! All interfaces at once, cooked.

use linerate_base::{Direction, ErrorKind, LinkType};
use linerate_capture::{ANY, Backend, Config, open};
use linerate_lab::traffic::{send_frames, tagged};

use crate::common::*;

/// The cooked header of a frame of [`frame`] that came from the wire, for interface `index`.
fn sll2(protocol: u16, index: u32, packet_type: u8) -> Vec<u8> {
    let mut header = protocol.to_be_bytes().to_vec();
    header.extend([0, 0]);
    header.extend(index.to_be_bytes());
    header.extend([0, 1, packet_type, 6, 2, 0, 0, 0, 0, 0x98, 0, 0]);
    header
}

const OTHER_HOST: u8 = 3;
const OUTGOING: u8 = 4;

#[test]
fn packets_of_two_interfaces_tell_where_they_come_from() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for backend in BY_SOCKET {
        let config = Config { interface: ANY.into(), ..config(b, backend) };
        let mut capture = open_on(b, &config);
        assert_eq!(capture.interface.link_type, LinkType::LINUX_SLL2);
        let sent = frame(1, 100);
        send_frames(lab.host("a"), std::slice::from_ref(&sent)).unwrap();
        let first = fetch(&mut capture.source, 1).remove(0);
        assert_eq!(first.data[..20], sll2(ETHER_TYPE, b.interface_index(), OTHER_HOST));
        assert_eq!((&first.data[20..], first.length), (&sent[14..], 106));
        b.run(|| {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.send_to(&[7; 100], socket.local_addr().unwrap()).unwrap();
        });
        let second = fetch(&mut capture.source, 1).remove(0);
        assert_eq!(second.data[..2], [8, 0]);
        assert_eq!(second.data[20], 0x45);
        let names: Vec<_> = capture.source.interfaces().iter().map(|i| i.name.as_str()).collect();
        assert_eq!(names, [ANY, b.interface(), "lo"], "{backend}");
        assert_eq!((first.interface, second.interface), (1, 2));
    }
}

#[test]
fn cooked_packets_have_their_tags_both_ways() {
    let Some(lab) = quiet_pair() else { return };
    let plain = frame(1, 100);
    let sent = tagged(&plain, 5);
    for backend in BY_SOCKET {
        for (host, direction, packet_type) in
            [("b", Direction::In, OTHER_HOST), ("a", Direction::Out, OUTGOING)]
        {
            let host = lab.host(host);
            let config = Config { interface: ANY.into(), ..config(host, backend) };
            let mut capture = open_on(host, &config);
            send_frames(lab.host("a"), std::slice::from_ref(&sent)).unwrap();
            let packet = &fetch(&mut capture.source, 1)[0];
            let mut expected = sll2(0x8100, host.interface_index(), packet_type);
            expected.extend(&sent[14..]);
            assert_eq!(packet.data, expected, "{backend} {direction:?}");
            assert_eq!((packet.length, packet.direction), (110, direction));
        }
    }
}

#[test]
fn the_older_cooked_header_can_be_asked_for() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for backend in BY_SOCKET {
        let link_type = Some(LinkType::LINUX_SLL);
        let config = Config { interface: ANY.into(), link_type, ..config(b, backend) };
        let mut capture = open_on(b, &config);
        send_frames(lab.host("a"), &frames(1, 100)).unwrap();
        let packet = &fetch(&mut capture.source, 1)[0];
        let header = [0, OTHER_HOST, 0, 1, 0, 6, 2, 0, 0, 0, 0, 0x98, 0, 0, 0x88, 0xb5];
        assert_eq!(packet.data[..16], header, "{backend}");
        assert_eq!((packet.data.len(), packet.length), (102, 102));
    }
}

#[test]
fn a_link_type_that_the_interface_does_not_have_is_refused() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let config = Config { link_type: Some(LinkType::RAW), ..config(b, Backend::Ring) };
    let error = b.run(|| open(&config).map(drop)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.answered(), "it delivers EN10MB");
}
