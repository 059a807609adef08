//! What the options change that libpcap does not have: scopes, and IPv6 as a peer of IPv4.

use linerate_base::LinkType;
use linerate_bpf::classic::Input;
use linerate_filter::{Hermetic, Options, Verdict, compile};

fn options() -> Options<'static> {
    Options::new(LinkType::ETHERNET, &Hermetic)
}

/// The verdict of the meaning, which both programs share.
#[track_caller]
fn keeps(expression: &str, options: &Options<'_>, packet: &[u8]) -> bool {
    let input = Input { data: packet, length: packet.len() as u32, ..Input::default() };
    let [plain, optimised] = [false, true].map(|optimise| {
        let filter = compile(expression, &Options { optimise, ..*options }).expect(expression);
        filter.predicate().expect(expression);
        for cut in 0..=packet.len() {
            let cut = Input { data: &packet[..cut], ..input };
            let meant = filter.evaluate(&cut) == Verdict::True;
            assert_eq!(filter.program().run(&cut) > 0, meant, "{expression} at {cut:?}");
        }
        filter.evaluate(&input) == Verdict::True
    });
    assert_eq!(plain, optimised, "{expression}");
    plain
}

fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&[0; 12][..], &kind.to_be_bytes(), payload].concat()
}

fn ipv4(payload: &[u8]) -> Vec<u8> {
    let header = [0x45, 0, 0, 60, 0, 1, 0, 0, 64, 6, 0, 0, 10, 1, 2, 3, 10, 9, 9, 9];
    [&header[..], payload].concat()
}

fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    ethernet(0x86dd, &[&[0x60, 0, 0, 0, 0, 9, next, 64][..], &[0; 32], payload].concat())
}

/// From port 80 to port 1025, SYN and ACK.
const TCP: [u8; 20] = [0, 80, 4, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x12, 1, 0, 0, 0, 0, 0];

#[test]
fn a_tag_is_only_about_what_is_joined_by_and() {
    let plain = ethernet(0x0800, &ipv4(&TCP));
    let tagged = ethernet(0x8100, &[&[0, 5, 0x08, 0][..], &ipv4(&TCP)].concat());
    let scoped = Options { scoped: true, ..options() };
    for (expression, on_plain, on_tagged) in [
        ("vlan or ip", true, true),
        ("vlan and ip", false, true),
        ("vlan 6 or tcp port 80", true, false),
        ("not vlan and ip", true, false),
        ("not (vlan and arp) and ip", true, false),
        ("(vlan and tcp port 80) or tcp port 80", true, true),
        ("(vlan 5 or vlan 6) and ip", false, false),
        ("(vlan 5) and ip", false, true),
        ("mpls or vlan and ip", false, false),
        ("mpls or (vlan and ip)", false, true),
    ] {
        assert_eq!(keeps(expression, &scoped, &plain), on_plain, "{expression}");
        assert_eq!(keeps(expression, &scoped, &tagged), on_tagged, "{expression}, tagged");
    }
    // The rule of libpcap.
    assert!(!keeps("vlan 6 or tcp port 80", &options(), &plain));
    assert!(keeps("vlan 6 or tcp port 80", &options(), &tagged));
}

#[test]
fn extension_headers_are_followed() {
    let options6 = Options { ipv6: true, ..options() };
    let hop_by_hop = |next: u8| [&[next, 1][..], &[0; 14]].concat();
    let fragment =
        |next: u8, offset: u16| [&[next, 0][..], &offset.to_be_bytes(), &[0, 0, 0, 1]].concat();
    let authentication = |next: u8| [&[next, 4][..], &[0; 22]].concat();
    let chained = [
        ipv6(6, &TCP),
        ipv6(0, &[&hop_by_hop(6)[..], &TCP].concat()),
        ipv6(44, &[&fragment(6, 1)[..], &TCP].concat()),
        ipv6(
            0,
            &[
                &hop_by_hop(43)[..],
                &hop_by_hop(60),
                &hop_by_hop(51),
                &authentication(44),
                &fragment(60, 1),
                &hop_by_hop(6),
                &TCP,
            ]
            .concat(),
        ),
    ];
    for packet in &chained {
        for expression in [
            "tcp",
            "tcp port 80",
            "dst port 1025",
            "tcp[13] = 18",
            "tcp[tcpflags] & tcp-syn != 0",
            "ip6 proto 6",
            "not udp",
            "1 + tcp[0:2] = 81",
            "portrange 1-100 and ip6",
        ] {
            assert!(keeps(expression, &options6, packet), "{expression} of {packet:x?}");
        }
        for expression in ["udp", "port 81", "tcp[13] = 1", "udp[0:2] = 80", "icmp6[0] = 0"] {
            assert!(!keeps(expression, &options6, packet), "{expression} of {packet:x?}");
        }
    }
    let later = ipv6(44, &[&fragment(6, 8)[..], &TCP].concat());
    assert!(!keeps("port 80", &options6, &later));
    let of_old = ethernet(0x0800, &ipv4(&TCP));
    assert!(keeps("tcp[13] = 18 and src port 80", &options6, &of_old));
    // libpcap's meaning.
    assert!(!keeps("tcp port 80", &options(), &chained[1]));
    assert!(!keeps("tcp[13] = 18", &options(), &chained[0]));
}
