//! What is sent is what arrives.

use std::collections::HashSet;

use linerate_transmit::End;
use linerate_transmit::sink::Backend;

use crate::common::*;

#[test]
fn every_packet_arrives_once_whole_and_in_order() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let text = format!(
        "IP(dst='{}')/UDP(sport=permute(1-3000), dport=9)/Raw(size=random(1-1472))",
        b.ipv4()
    );
    let template = template(a, &text);
    let sent = expected(&template, 3000);
    for backend in Backend::ALL {
        let mut capture = listen(b);
        let (report, result) = send(a, backend, &once(&template));
        result.unwrap_or_else(|error| panic!("{backend}: {error}"));
        assert_eq!((report.end, report.stats.sent), (Some(End::Complete), 3000), "{backend}");
        let bytes = sent.iter().map(|packet| packet.len() as u64).sum::<u64>();
        assert_eq!(report.stats.sent_bytes, bytes, "{backend}");
        assert!(fetch(&mut capture, 3000) == sent, "{backend}: other packets than were sent");
    }
}

#[test]
fn the_ring_is_chosen_without_a_word() {
    let Some(lab) = quiet_pair() else { return };
    let opened = open_on(lab.host("a"), None, 1514).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((opened.backend, opened.notes), (Backend::Ring, vec![]));
}

#[test]
fn a_prefix_is_walked_once_on_the_wire() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let text = "Ether(dst='02:00:00:00:00:99')/IP(dst=permute('10.64.0.0/17'))/TCP(flags='S')";
    let template = template(a, text);
    let mut capture = listen(b);
    let (report, result) = send(a, Backend::Ring, &once(&template));
    result.unwrap();
    assert_eq!(report.stats.sent, 1 << 15);
    let packets = fetch(&mut capture, 1 << 15);
    let addresses: HashSet<_> = packets.iter().map(|packet| packet[30..34].to_vec()).collect();
    assert_eq!((packets.len(), addresses.len()), (1 << 15, 1 << 15));
}

#[test]
fn the_hosts_own_addresses_and_the_neighbours_are_filled_in() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    for text in [format!("IP(dst='{}')/UDP()", b.ipv4()), format!("IPv6(dst='{}')/UDP()", b.ipv6())]
    {
        let packet = &expected(&template(a, &text), 1)[0];
        assert_eq!((&packet[..6], &packet[6..12]), (&b.mac()[..], &a.mac()[..]), "{text}");
    }
}
