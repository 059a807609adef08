//! Programs for the kernel against those that tcpdump makes for a live capture, where VLAN tags may
//! have been taken off the packet: over packets of every kind, with and without such a tag.

use crate::common;
use linerate_base::LinkType;
use linerate_bpf::classic::{Ancillary, Input, Instruction, Program};
use linerate_filter::{Hermetic, Options, Target, Verdict, compile};
use std::process::Command;

/// Not among them: `geneve` after `vlan`, whose positions libpcap 1.10 then keeps in words that it
/// has not zeroed.
const EXPRESSIONS: &[&str] = &[
    "vlan",
    "vlan 5",
    "vlan 6",
    "vlan 5 and ip",
    "vlan and tcp port 80",
    "vlan 6 and vlan 5 and ip6",
    "vlan and vlan",
    "not vlan",
    "not vlan 5 and ip",
    "ip or vlan",
    "ip or vlan and arp",
    "(ip or vlan) and arp",
    "(ip or vlan 5) and tcp",
    "vlan or ip",
    "vlan and mpls 1000 and tcp",
    "vlan and pppoes and ip",
    "vlan and ip[0] = 69",
    "vlan and tcp[13] = 18",
    "vlan and ether[12:2] = 0x8100",
    "vlan and ether host 2:0:0:0:0:3",
    "vlan and stp",
    "vlan and host 10.1.2.3",
    "vlan and ip6 host fe80::1",
    "inbound",
    "outbound and ip",
    "ifindex 3",
    "not ifindex 3",
];

/// tcpdump's unoptimised program for the loopback interface, whose link type is Ethernet.
fn theirs(expression: &str) -> Program {
    let output = Command::new("tcpdump")
        .args(["-O", "-ddd", "-i", "lo", "-s", "262144", expression])
        .output()
        .expect("tcpdump runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let instructions: Vec<_> = text.lines().skip(1).map(instruction).collect();
    Program::new(instructions).expect("a program")
}

fn instruction(line: &str) -> Instruction {
    let numbers: Vec<u32> = line.split(' ').map(|n| n.parse().expect("a number")).collect();
    let [code, jt, jf, k] = numbers[..] else {
        panic!("four numbers, not {line}");
    };
    Instruction { code: code as u16, jt: jt as u8, jf: jf as u8, k }
}

#[test]
fn agrees_with_tcpdump_on_a_live_interface() {
    if !linerate_lab::need::root() || !linerate_lab::need::program("tcpdump", "tcpdump") {
        return;
    }
    let packets = common::packets(LinkType::ETHERNET);
    let known = |packet_type, interface, vlan_tci| Ancillary {
        packet_type: Some(packet_type),
        interface_index: Some(interface),
        vlan_tci,
        ..Ancillary::default()
    };
    let metadata = [known(0, 3, None), known(4, 3, Some(0x2005)), known(1, 4, Some(6))];
    for expression in EXPRESSIONS {
        let theirs = theirs(expression);
        let options = Options::new(LinkType::ETHERNET, &Hermetic);
        let ours = compile(expression, &Options { target: Target::Kernel, ..options });
        let ours = ours.expect(expression);
        assert!(ours.program().fits_kernel(), "{expression}");
        for (packet, ancillary) in packets.iter().flat_map(|p| metadata.map(|m| (p, m))) {
            for cut in 0..=packet.len() {
                let input = Input { data: &packet[..cut], length: packet.len() as u32, ancillary };
                let expected = theirs.run(&input);
                assert_eq!(
                    ours.program().run(&input),
                    expected,
                    "{expression} at {cut}: {packet:x?}"
                );
                let accepted = ours.evaluate(&input) == Verdict::True;
                assert_eq!(accepted, expected > 0, "{expression} at {cut}: {packet:x?}");
            }
        }
    }
}
