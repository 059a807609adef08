//! What filters mean where libpcap cannot be asked: names, savefiles, chains, tunnels.

use linerate_base::LinkType;
use linerate_bpf::classic::{Ancillary, Input, ancillary};
use linerate_filter::{
    ErrorKind, Hermetic, Options, Resolver, Target, Transport, Verdict, compile,
};
use std::net::IpAddr;

/// Asserts the verdict of the meaning and of both programs.
#[track_caller]
fn assert_verdict(expression: &str, options: &Options<'_>, input: &Input<'_>, expected: bool) {
    for optimise in [false, true] {
        let filter = compile(expression, &Options { optimise, ..*options }).expect(expression);
        assert_eq!(filter.evaluate(input) == Verdict::True, expected, "{expression}: meaning");
        assert_eq!(filter.program().run(input) > 0, expected, "{expression}: program");
    }
}

fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&[0; 12][..], &kind.to_be_bytes(), payload].concat()
}

fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let header = [0x45, 0, 0, 60, 0, 1, 0, 0, 64, protocol, 0, 0, 10, 1, 2, 3, 10, 9, 9, 9];
    ethernet(0x0800, &[&header[..], payload].concat())
}

/// Knows `server`, `lab`, `app` and `gateway`.
struct Names;

impl Resolver for Names {
    fn hosts(&self, name: &str) -> Vec<IpAddr> {
        let addresses: &[&str] =
            if name == "server" { &["10.1.2.3", "fe80::1", "10.7.7.7"] } else { &[] };
        addresses.iter().map(|address| address.parse().expect("an address")).collect()
    }

    fn network(&self, name: &str) -> Option<u32> {
        (name == "lab").then_some(10)
    }

    fn service(&self, name: &str, transport: Transport) -> Option<u16> {
        match (name, transport) {
            ("app", Transport::Tcp) => Some(80),
            ("app", Transport::Udp) => Some(81),
            ("log", Transport::Udp) => Some(514),
            _ => None,
        }
    }

    fn protocol(&self, name: &str) -> Option<u8> {
        (name == "shim").then_some(6)
    }

    fn ethernet(&self, name: &str) -> Option<[u8; 6]> {
        (name == "gateway0").then_some([0; 6])
    }
}

fn named() -> Options<'static> {
    Options::new(LinkType::ETHERNET, &Names)
}

#[test]
fn names_are_looked_up_by_what_they_qualify() {
    let packet = ipv4(6, &[0, 80, 1, 1]);
    let input = Input::whole(&packet);
    for expression in
        ["host server", "ip src server", "src net lab", "port app", "tcp port app", "ip proto shim"]
    {
        assert_verdict(expression, &named(), &input, true);
    }
    assert_verdict("ether src gateway0", &named(), &input, true);
    assert_verdict("ip6 host server", &named(), &input, false);
    assert_verdict("dst host server", &named(), &input, false);
    assert_verdict("port log", &named(), &input, false);
}

#[test]
fn a_name_of_another_transport_is_refused() {
    for expression in
        ["udp port app", "tcp port log", "host nobody", "net server", "ether host server"]
    {
        assert!(compile(expression, &named()).is_err(), "{expression}");
    }
    let error = compile("host nobody", &named()).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Name);
}

#[test]
fn a_short_packet_is_rejected_even_under_not() {
    let options = Options::new(LinkType::ETHERNET, &Hermetic);
    let packet = ipv4(6, &[]);
    assert_verdict("not tcp port 80", &options, &Input::whole(&packet[..33]), false);
    assert_verdict("not udp port 80", &options, &Input::whole(&packet[..33]), true);
    let filter = compile("not ip", &options).expect("compiles");
    assert_eq!(filter.evaluate(&Input::whole(&packet[..13])), Verdict::Reject);
    assert_eq!(filter.evaluate(&Input::whole(&packet)), Verdict::False);
}

#[test]
fn savefiles_have_the_ipv6_families_of_every_system() {
    let user = Options::new(LinkType::LOOP, &Hermetic);
    let kernel = Options { target: Target::Kernel, ..user };
    for (family, in_savefile, live) in [
        (24, true, false),
        (28, true, false),
        (30, true, false),
        (10, false, true),
        (2, false, false),
    ] {
        let packet = [0, 0, 0, family, 0x60];
        assert_verdict("ip6", &user, &Input::whole(&packet), in_savefile);
        assert_verdict("ip6", &kernel, &Input::whole(&packet), live);
    }
}

#[test]
fn a_protocol_chain_steps_over_authentication_headers() {
    let options = Options::new(LinkType::ETHERNET, &Hermetic);
    // Two headers of 12 and 16 bytes (RFC 4302 2.2), then UDP.
    let first = [&[51, 1][..], &[0; 10]].concat();
    let second = [&[17, 2][..], &[0; 14]].concat();
    let packet = ipv4(51, &[first, second, vec![0; 8]].concat());
    assert_verdict("ip protochain 17", &options, &Input::whole(&packet), true);
    assert_verdict("ip protochain 51", &options, &Input::whole(&packet), true);
    assert_verdict("ip protochain 6", &options, &Input::whole(&packet), false);
    // Cut in the second header, the end of the chain is not known.
    assert_verdict("not ip protochain 6", &options, &Input::whole(&packet[..46]), false);
    // A header that claims to follow itself for ever ends with the packet.
    let endless = ipv4(51, &[51, 0xfe].repeat(40));
    assert_verdict("not ip protochain 6", &options, &Input::whole(&endless), false);
}

#[test]
fn vxlan_looks_inside() {
    let options = Options::new(LinkType::ETHERNET, &Hermetic);
    let inner = ipv4(17, &[0, 53, 0, 53, 0, 8, 0, 0]);
    let header = [8, 0, 0, 0, 0, 0, 7, 0];
    let udp = [&[0, 9, 0x12, 0xb5, 0, 0, 0, 0][..], &header, &inner].concat();
    let packet = ipv4(17, &udp);
    let input = Input::whole(&packet);
    for (expression, expected) in [
        ("vxlan", true),
        ("vxlan 7", true),
        ("vxlan 8", false),
        ("vxlan 7 and udp port 53", true),
        ("vxlan and tcp", false),
        ("udp port 53", false),
        ("vxlan and ether host 0:0:0:0:0:0", true),
    ] {
        assert_verdict(expression, &options, &input, expected);
    }
}

#[test]
fn tags_in_metadata_and_among_the_bytes() {
    let kernel = Options { target: Target::Kernel, ..Options::new(LinkType::ETHERNET, &Hermetic) };
    let inner = ipv4(6, &[0, 80, 1, 1]);
    let in_band = ethernet(0x8100, &[&[0, 5][..], &inner[12..]].concat());
    let tag = Ancillary { vlan_tci: Some(0x2005), ..Ancillary::default() };
    let taken_off = Input { ancillary: tag, ..Input::whole(&inner) };
    for input in [Input::whole(&in_band), taken_off] {
        for (expression, expected) in [
            ("vlan", true),
            ("vlan 5", true),
            ("vlan 6", false),
            ("vlan 5 and tcp port 80", true),
            ("vlan and udp", false),
            ("vlan and vlan", false),
            ("not vlan", false),
        ] {
            assert_verdict(expression, &kernel, &input, expected);
        }
    }
    assert_verdict("vlan", &kernel, &Input::whole(&inner), false);
    // In a savefile there is no metadata.
    let user = Options::new(LinkType::ETHERNET, &Hermetic);
    assert_verdict("vlan 5 and tcp", &user, &Input::whole(&in_band), true);
    assert_verdict("vlan", &user, &taken_off, false);
}

#[test]
fn cooked_headers_are_hidden_in_the_kernel() {
    let packet = ipv4(6, &[0, 80, 1, 1]);
    let [payload, header] = [packet[14..].to_vec(), vec![0; 20]];
    let mut cooked = [header, payload.clone()].concat();
    (cooked[0], cooked[7], cooked[10]) = (0x08, 3, ancillary::OUTGOING);
    let user = Options::new(LinkType::LINUX_SLL2, &Hermetic);
    let kernel = Options { target: Target::Kernel, ..user };
    let known = Ancillary {
        protocol: Some(0x0800),
        packet_type: Some(ancillary::OUTGOING),
        interface_index: Some(3),
        ..Ancillary::default()
    };
    let seen = Input { ancillary: known, ..Input::whole(&payload) };
    for (expression, expected) in [
        ("ip", true),
        ("arp", false),
        ("tcp port 80", true),
        ("src net 10.1 and not udp", true),
        ("outbound", true),
        ("inbound", false),
        ("ifindex 3", true),
        ("len = 44 and greater 44 and less 44", true),
        ("ip[9] = 6", true),
        ("stp", false),
    ] {
        assert_verdict(expression, &user, &Input::whole(&cooked), expected);
        assert_verdict(expression, &kernel, &seen, expected);
    }
    for expression in ["link[0] = 8", "byte 0 = 8"] {
        assert_verdict(expression, &user, &Input::whole(&cooked), true);
        let error = compile(expression, &kernel).expect_err("hidden");
        assert!(error.kind() == ErrorKind::Hidden && error.user_space_can());
    }
}

#[test]
fn direction_needs_metadata() {
    let user = Options::new(LinkType::ETHERNET, &Hermetic);
    let refused = compile("inbound", &user).expect_err("refused");
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    let with_metadata = Options { metadata: true, ..user };
    let known = Ancillary {
        packet_type: Some(ancillary::OUTGOING),
        interface_index: Some(3),
        ..Ancillary::default()
    };
    let input = Input { ancillary: known, ..Input::whole(&[]) };
    assert_verdict("outbound and ifindex 3", &with_metadata, &input, true);
    assert_verdict("inbound or ifindex 4", &with_metadata, &input, false);
    // What is not known rejects.
    assert_verdict("inbound", &with_metadata, &Input::whole(&[]), false);
    assert_verdict("not inbound", &with_metadata, &Input::whole(&[]), false);
}

#[test]
fn an_error_is_also_the_project_wide_error() {
    let error = compile("host nobody", &named()).expect_err("refused");
    let error = linerate_base::Error::from(error);
    assert_eq!(error.kind(), linerate_base::ErrorKind::NotFound);
    assert!(error.to_string().starts_with("compile the filter `host nobody`: unknown host"));
}
