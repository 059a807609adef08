//! Random pcap-filter expressions, all primitives and operators: most are valid, some are not.

use proptest::prelude::*;
use proptest::sample::select;

use crate::pool;

type Text = BoxedStrategy<String>;

/// Expressions of up to some ten primitives.
pub(crate) fn expressions() -> impl Strategy<Value = String> {
    primitive().prop_recursive(4, 12, 3, |inner| {
        let joined = || words(&[" and ", " or ", " && ", " || "]);
        prop_oneof![
            4 => join([inner.clone(), joined(), inner.clone()]),
            2 => join([inner.clone(), joined(), inner.clone(), joined(), inner.clone()]),
            2 => join([words(&["not ", "! ", "!"]), inner.clone()]),
            2 => join([literal("("), inner.clone(), literal(")")]),
            1 => join([literal("not ("), inner, literal(")")]),
        ]
        .boxed()
    })
}

/// Expressions of some hundred primitives, all valid: programs whose jumps must be relayed.
pub(crate) fn large_expressions() -> impl Strategy<Value = String> {
    let link = words(&[" or ", " or ", " or ", " and ", " or not "]);
    let parts = proptest::collection::vec(join([link, valid()]), 40..250);
    (valid(), parts).prop_map(|(first, parts)| first + &parts.concat())
}

/// Primitives that are valid on every link type.
fn valid() -> Text {
    let small = || (0..20_u32).prop_map(|n| n.to_string()).boxed();
    let port = select(pool::PORTS).prop_map(|port| port.to_string()).boxed();
    let header = words(&["ip[", "ip6[", "tcp[", "udp[", "icmp["]);
    prop_oneof![
        join([direction(), literal("host "), ipv4()]),
        join([direction(), literal("host "), ipv6()]),
        join([direction(), literal("net "), words(&["10.0.0.0/8", "192.168.1", "2001:db8::/32"])]),
        join([words(&["", "tcp ", "udp "]), direction(), literal("port "), port]),
        join([direction(), words(&["portrange 80-443", "portrange 1-7000"])]),
        join([words(&["ip proto ", "ip6 proto ", "proto "]), small()]),
        join([header, small(), words(&[":1] > ", ":2] & 15 != ", ":4] = ", "] <= "]), small()]),
        words(&["ip", "ip6", "tcp", "icmp6", "arp", "greater 60", "len < 100"]),
    ]
    .boxed()
}

fn literal(text: &'static str) -> Text {
    Just(text.to_owned()).boxed()
}

fn words(list: &'static [&'static str]) -> Text {
    select(list).prop_map(str::to_owned).boxed()
}

fn join<const N: usize>(parts: [Text; N]) -> Text {
    Vec::from(parts).prop_map(|parts| parts.concat()).boxed()
}

/// `head` alone, or followed by a number of the list.
fn with_optional(head: &'static str, number: Text) -> Text {
    prop_oneof![literal(head), join([literal(head), literal(" "), number])].boxed()
}

fn primitive() -> Text {
    prop_oneof![
        4 => host(),
        3 => net(),
        4 => port(),
        4 => protocol(),
        2 => protocol_number(),
        2 => encapsulation(),
        2 => link_layer(),
        5 => relation(),
        2 => several(),
        1 => rare_or(relation()),
    ]
    .boxed()
}

/// `usual`, except that now and then it is something that is mostly wrong.
fn rare_or(usual: Text) -> Text {
    prop_oneof![1 => rare(), 2 => usual].boxed()
}

fn direction() -> Text {
    words(&[
        "",
        "",
        "",
        "src ",
        "dst ",
        "src or dst ",
        "dst or src ",
        "src and dst ",
        "dst and src ",
    ])
}

fn host() -> Text {
    let host = words(&["host ", ""]);
    prop_oneof![
        4 => join([words(&["", "", "ip ", "arp ", "rarp "]), direction(), host.clone(), ipv4()]),
        3 => join([words(&["", "ip6 "]), direction(), host, ipv6()]),
        2 => join([words(&["ether ", "ether ", "link "]), direction(), words(&["host ", ""]), mac()]),
        1 => rare_or(join([protocol_word(), literal(" or "), direction(), literal("host "), ipv4()])),
    ]
    .boxed()
}

fn net() -> Text {
    let head = |protocols| join([words(protocols), direction(), literal("net ")]);
    let head4 = || head(&["", "", "ip ", "arp ", "rarp "]);
    let head6 = || head(&["", "ip6 "]);
    let length = |largest: u32| (0..=largest).prop_map(|n| n.to_string()).boxed();
    let masked4 = (select(pool::IPV4), 0..=32_u32).prop_map(|(address, length)| {
        let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
        let network = (u32::from_be_bytes(address) & mask).to_be_bytes();
        format!("{}/{length}", dotted(network))
    });
    let masked6 = (select(pool::IPV6), 0..=128_u32).prop_map(|(address, length)| {
        let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
        let address = std::net::Ipv6Addr::from(address).to_bits() & mask;
        format!("{}/{length}", std::net::Ipv6Addr::from_bits(address))
    });
    let unmasked = prop_oneof![
        join([head4(), words(&["10.0", "192.168"]), literal("/"), length(16)]),
        join([head(&["ip ", "ip6 "]), ipv4(), literal("/"), length(33)]),
        join([head6(), ipv6(), literal("/"), length(129)]),
        join([
            head4(),
            words(&["10.0.0.0", "192.168.1.0"]),
            literal(" mask "),
            words(&["255.0.0.0", "0.0.0.0", "255.0.255.0", "255.255",])
        ]),
    ];
    prop_oneof![
        6 => join([head4(), masked4.boxed()]),
        6 => join([head6(), masked6.boxed()]),
        4 => join([head4(), words(&["10", "10.0", "192.168", "10.0.3", "192.168.1", "224", "0"])]),
        2 => join([head4(), words(&["10.0.0.0", "192.168.1.0"]), literal(" mask "), words(&[
            "255.255.255.0", "255.255.255.255",
        ])]),
        1 => unmasked,
    ]
    .boxed()
}

fn port() -> Text {
    let head = || join([words(&["", "tcp ", "udp ", "sctp "]), direction()]);
    let number = || select(pool::PORTS).prop_map(|port| port.to_string()).boxed();
    prop_oneof![
        5 => join([head(), literal("port "), number()]),
        1 => join([head(), literal("port "), words(&["http", "domain", "0x50", "ssh"])]),
        3 => join([head(), literal("portrange "), number(), literal("-"), number()]),
    ]
    .boxed()
}

fn protocol_word() -> Text {
    words(&[
        "ip", "ip6", "arp", "rarp", "tcp", "udp", "sctp", "icmp", "icmp6", "igmp", "igrp", "pim",
        "vrrp", "carp", "ah", "esp", "atalk", "aarp", "decnet", "lat", "moprc", "mopdl", "sca",
        "iso", "clnp", "esis", "isis", "l1", "l2", "iih", "lsp", "snp", "csnp", "psnp", "stp",
        "ipx", "netbeui",
    ])
}

fn protocol() -> Text {
    prop_oneof![4 => words(&["ip", "ip6", "tcp", "udp", "icmp", "icmp6", "arp"]), 3 => protocol_word()]
        .boxed()
}

fn protocol_number() -> Text {
    let number = || select(pool::PROTOCOLS).prop_map(|n| n.to_string()).boxed();
    let name = || words(&[r"\tcp", r"\udp", r"\icmp", "ospf", r"\ah", r"\esp", r"\pim", r"\sctp"]);
    let transport = || prop_oneof![3 => number(), 1 => name(), 1 => words(&["256", "300"])].boxed();
    let ethertype = select(pool::ETHERTYPES).prop_map(|n| n.to_string());
    let link = prop_oneof![
        3 => ethertype,
        1 => select(pool::SAPS).prop_map(|n| n.to_string()),
        2 => words(&[
            r"\ip", r"\ip6", r"\arp", r"\rarp", r"\atalk", r"\aarp", r"\decnet", r"\lat", r"\moprc",
            r"\mopdl", r"\iso", r"\stp", r"\ipx", r"\netbeui", "loopback", r"\sca",
        ]),
        1 => words(&["65536", "0x5dd", "1500", "1536"]),
    ];
    prop_oneof![
        4 => join([words(&["proto ", "ip proto ", "ip6 proto "]), transport()]),
        2 => join([words(&["protochain ", "ip protochain ", "ip6 protochain "]), transport()]),
        4 => join([words(&["ether proto ", "link proto "]), link.boxed()]),
        1 => join([literal("iso proto "), words(&[r"\clnp", r"\esis", r"\isis", "129", "130", "131"])]),
        1 => join([literal("isis proto "), words(&["15", "16", "18", "20", "24", "27"])]),
    ]
    .boxed()
}

/// What moves the offsets for the rest of the expression.
fn encapsulation() -> Text {
    let number = |strategy: BoxedStrategy<u32>| strategy.prop_map(|n| n.to_string()).boxed();
    let vlan = number(select(pool::VLANS).prop_map(u32::from).boxed());
    let session = number(select(pool::SESSIONS).prop_map(u32::from).boxed());
    prop_oneof![
        4 => with_optional("vlan", vlan),
        3 => with_optional("mpls", number(select(pool::LABELS).boxed())),
        1 => literal("pppoed"),
        2 => with_optional("pppoes", session),
        3 => with_optional("geneve", number(select(pool::VNIS).boxed())),
    ]
    .boxed()
}

fn link_layer() -> Text {
    prop_oneof![
        2 => words(&["broadcast", "ether broadcast", "ip broadcast"]),
        2 => words(&["multicast", "ether multicast", "ip multicast", "ip6 multicast"]),
        1 => join([words(&["less ", "greater "]), (0..130_u32).prop_map(|n| n.to_string()).boxed()]),
        2 => words(&[
            "llc", "llc i", "llc s", "llc u", "llc rr", "llc rnr", "llc rej", "llc ui", "llc ua",
            "llc disc", "llc sabme", "llc test", "llc xid", "llc frmr",
        ]),
        1 => words(&["inbound", "outbound", "ifindex 1", "ifindex 0", "ifindex 7"]),
    ]
    .boxed()
}

fn rare() -> Text {
    let byte = words(&["=", ">", "<"]);
    prop_oneof![
        1 => join([literal("byte "), (0..40_u32).prop_map(|n| n.to_string()).boxed(), literal(" "),
            byte, literal(" "), (0..256_u32).prop_map(|n| n.to_string()).boxed()]),
        1 => join([literal("decnet "), direction(), words(&["host ", ""]), words(&["1.1", "63.1023"])]),
        1 => words(&[
            "gateway 10.0.0.1", "radio", "slip", "wlan host 0:0:0:0:0:1", "type mgt", "subtype ack",
            "host 256.1.1.1", "net 10.1.1.1.1", "port", "host", "tcp tcp", "ip host", "not", "()",
            "tcp portrange 80", "vci 5", "lane", "metac", "rnr", "on eth0", "reason match",
            "dir tods", "ra 0:0:0:0:0:1", "fddi host 0:0:0:0:0:1", "tr broadcast", "$12", "ppp",
            "ether host 10.0.0.1", "vlan 4096", "mpls 1048576", "pppoes 65536", "geneve 16777216",
            "tcp proto 6", "arp proto 6", "atalk proto 6", "llc sabm", "llc x", "ip port 80",
            "ip6 src portrange 1-2", "port 65536", "tcp host 10.0.0.1", "lat host 10.0.0.1",
            "stp net 10.0.0.0/8", "ip[0:3] = 1", "tcp[0:0] = 1", "radio[1] = 1", "stp[2] = 2",
            "ip6 net 10", "arp host fe80::1", "udp port http", "link broadcast", "len = 08",
            "4294967296 = len", "0x = len", "0xfffffffff = len", "iso[2] = 1", "carp[0] = 1",
            "ether host 10.0.0.1", "ip host fe80::1", "ip6 host 10.0.0.1", "net fe80::1 mask 10",
            "host 10.0.0.1/8", "port 80-90", "ip portrange http-https", "tcp[", "ip[0:3] = 1",
        ]),
        1 => literal(""),
    ]
    .boxed()
}

/// Qualifiers that later identifiers inherit.
fn several() -> Text {
    let joined = || words(&[" or ", " and ", " or not ", " and not "]);
    let ports = || select(pool::PORTS).prop_map(|port| port.to_string()).boxed();
    let ranges = words(&["80-90", "7000-7009", "443"]);
    prop_oneof![
        join([port(), joined(), ports()]),
        join([port(), joined(), ports(), joined(), ports()]),
        join([literal("(tcp port "), ports(), joined(), ports(), literal(")")]),
        join([literal("tcp port ("), ports(), joined(), ports(), literal(")")]),
        join([host(), joined(), ipv4()]),
        join([host(), joined(), ipv6(), joined(), ipv4()]),
        join([net(), joined(), words(&["10.0", "192.168.1.0/24", "10.0.0.0/8"])]),
        join([literal("udp portrange 1-100"), joined(), ranges]),
        join([literal("ether host "), mac(), joined(), mac()]),
        join([literal("ip proto "), words(&["6", "17"]), joined(), words(&["50", r"\icmp"])]),
        join([host(), joined(), port(), joined(), ports()]),
    ]
    .boxed()
}

fn relation() -> Text {
    let sign = || words(&["=", "==", "!=", "<", ">", "<=", ">=", " = ", " != ", " > "]);
    prop_oneof![
        6 => join([accessor(), sign(), number()]),
        3 => join([arithmetic(), sign(), arithmetic()]),
        1 => join([number(), sign(), arithmetic()]),
        1 => join([words(&["tcp[tcpflags] & "]), words(&["tcp-syn", "(tcp-syn|tcp-fin)", "tcp-ack",
            "(tcp-rst|tcp-ack)", "tcp-ece", "tcp-cwr", "tcp-push"]), words(&[" != 0", "== tcp-syn"])]),
        1 => join([words(&["icmp[icmptype]", "icmp[icmpcode]", "icmp6[icmp6type]", "icmp6[icmp6code]"]),
            words(&["=", "!="]), words(&["icmp-echo", "icmp-echoreply", "icmp-unreach", "0", "1",
            "icmp6-echo", "icmp6-neighborsolicit", "icmp6-routeradvert", "icmp6-packettoobig"])]),
    ]
    .boxed()
}

fn number() -> Text {
    prop_oneof![
        6 => (0..20_u32).prop_map(|n| n.to_string()),
        2 => words(&["0x45", "0x60", "255", "0xffff", "4294967295", "0x80000000", "0x800", "020", "64"]),
        1 => any::<u32>().prop_map(|n| n.to_string()),
    ]
    .boxed()
}

fn accessor() -> Text {
    let header = words(&[
        "ether", "link", "ip", "ip", "ip6", "ip6", "tcp", "tcp", "udp", "udp", "icmp", "icmp6",
        "arp", "rarp", "sctp", "igmp", "igrp", "pim", "vrrp", "carp", "decnet", "lat", "moprc",
        "mopdl", "atalk", "ppp", "sca",
    ]);
    let offset = prop_oneof![
        8 => (0..24_u32).prop_map(|n| n.to_string()),
        1 => words(&["0xfffffffe", "2147483647", "65535", "-1", "ip[0]&15", "tcp[12]>>2", "ether[5]"]),
    ];
    let size = words(&["", "", ":1", ":2", ":2", ":4"]);
    join([header, literal("["), offset.boxed(), size, literal("]")])
}

fn arithmetic() -> Text {
    let leaf = prop_oneof![4 => accessor(), 2 => number(), 1 => literal("len")];
    let tree = leaf.prop_recursive(3, 8, 2, |inner| {
        let sign = words(&["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", " - ", " + "]);
        prop_oneof![
            6 => join([inner.clone(), sign, inner.clone()]),
            2 => join([literal("("), inner.clone(), literal(")")]),
            1 => join([literal("-"), inner.clone()]),
            2 => join([words(&["ether[", "ip[", "tcp[", "udp[", "ip6["]), inner, literal("]")]),
        ]
        .boxed()
    });
    tree.boxed()
}

fn dotted(address: [u8; 4]) -> String {
    std::net::Ipv4Addr::from(address).to_string()
}

fn ipv4() -> Text {
    select(pool::IPV4).prop_map(dotted).boxed()
}

fn ipv6() -> Text {
    select(pool::IPV6).prop_map(|address| std::net::Ipv6Addr::from(address).to_string()).boxed()
}

fn mac() -> Text {
    let text = |m: [u8; 6], style: u8| {
        let [a, b, c, d, e, f] = m;
        match style {
            0 => format!("{a:x}:{b:x}:{c:x}:{d:x}:{e:x}:{f:x}"),
            1 => format!("{a:02x}-{b:02x}-{c:02x}-{d:02x}-{e:02x}-{f:02x}"),
            2 => format!("{a:02x}{b:02x}.{c:02x}{d:02x}.{e:02x}{f:02x}"),
            3 => format!("{a:02X}.{b:02X}.{c:02X}.{d:02X}.{e:02X}.{f:02X}"),
            _ => format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}"),
        }
    };
    (select(pool::MAC), 0..8_u8).prop_map(move |(mac, style)| text(mac, style)).boxed()
}
