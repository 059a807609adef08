//! The hardware address that is filled in, and what is said of it.

use crate::{packet, template};

/// Where the first packet goes, and the notes.
fn first(text: &str) -> ([u8; 6], Vec<String>) {
    let template = template(text);
    let packet = packet(&template, 0);
    (packet[..6].try_into().unwrap(), template.notes().to_vec())
}

#[test]
fn destinations_on_the_wire_share_the_address_of_the_first_that_can_have_one() {
    let (mac, notes) = first("IP(dst=permute('10.9.0.0/24'))/UDP()");
    assert_eq!(mac, [2, 0, 10, 9, 0, 2]);
    let note = "Ether.dst: 02:00:0a:09:00:02, that of 10.9.0.2, for all 256 values of IP.dst; \
                Ether(dst=...) names another";
    assert_eq!(notes, [note]);
    let (mac, notes) = first("IP(dst=['239.1.2.3', '239.1.2.4'])/UDP()");
    assert_eq!(mac, [1, 0, 0x5e, 1, 2, 3]);
    assert!(notes[0].contains("that of 239.1.2.3, for all 2 values"), "{notes:?}");
}

#[test]
fn one_destination_a_gateway_and_an_address_that_was_given_need_no_words() {
    for text in [
        "IP(dst='10.9.0.7')/UDP()",
        "IP(dst='192.0.2.0/24')/UDP()",
        "Ether(dst='02:00:00:00:00:99')/IP(dst='10.9.0.0/24')/UDP()",
        "IP(dst='255.255.255.255')/UDP()",
        "ARP(pdst='10.9.0.0/24')",
    ] {
        assert_eq!(first(text).1, [""; 0], "{text}");
    }
}

#[test]
fn what_goes_to_all_on_the_wire_is_said() {
    for text in ["Ether()", "Ether(type=0x88b5)/'x'", "ARP(op='is-at', pdst='10.9.0.7')"] {
        let (mac, notes) = first(text);
        assert_eq!((mac, notes.len()), ([0xff; 6], 1), "{text}");
        assert!(notes[0].contains("as the packets name nobody"), "{notes:?}");
    }
}
