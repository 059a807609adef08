//! Random expressions: well-formed ones, and words in any order.

use proptest::prelude::*;

const PROTOCOLS: &[&str] = &[
    "ether", "link", "ip", "ip6", "arp", "rarp", "tcp", "udp", "sctp", "icmp", "icmp6", "igmp",
    "pim", "vrrp", "ah", "esp", "atalk", "aarp", "decnet", "lat", "iso", "isis", "clnp", "l1",
    "iih", "csnp", "stp", "ipx", "netbeui",
];

const HEADERS: &[&str] =
    &["ether", "ip", "ip6", "arp", "tcp", "udp", "sctp", "icmp", "icmp6", "igmp", "decnet", "lat"];

const PRIMITIVES: &[&str] = &[
    "vlan",
    "vlan 5",
    "mpls",
    "mpls 5",
    "pppoed",
    "pppoes",
    "pppoes 5",
    "broadcast",
    "multicast",
    "ip multicast",
    "ip6 multicast",
    "ip broadcast",
    "ether broadcast",
    "inbound",
    "outbound",
    "ifindex 3",
    "less 60",
    "greater 50",
    "llc",
    "llc s",
    "llc ui",
    "llc rnr",
    "byte 0 = 2",
    "byte 3 > 7",
    "protochain 6",
    "ip6 protochain 17",
    "ether host 2:0:0:0:0:3",
    "ether dst 2:0:0:0:0:9",
    "geneve",
    "geneve 5",
    "vxlan",
    "vxlan 5",
];

/// What is only of some link types.
const SPECIAL: &[&str] = &[
    "wlan addr1 2:0:0:0:0:9",
    "wlan addr2 2:0:0:0:0:3",
    "wlan addr3 2:0:0:0:0:7",
    "wlan addr4 2:0:0:0:0:7",
    "wlan ra 2:0:0:0:0:9",
    "wlan ta 2:0:0:0:0:3",
    "type mgt",
    "type data",
    "type ctl subtype ack",
    "type 8 subtype 0x80",
    "subtype beacon",
    "subtype qos-data",
    "dir tods",
    "dir 3",
    "radio[0] = 0",
    "radio[ip[0]] = 0",
    "lane",
    "oam",
    "connectmsg",
    "vpi 0",
    "vci (5 or 7)",
    "vci > 4",
    "ifname eth0",
    "rset foo",
    "rnr 5",
    "srnr 6",
    "reason match",
    "action pass",
    "fisu",
    "lssu",
    "msu",
    "hlssu",
    "hmsu",
    "sio 3",
    "opc >= 5",
    "dpc (773 or 5)",
    "sls < 6",
    "hopc 5",
    "link multicast",
    "link[2:2] > 5",
];

const OPERANDS: &[&str] = &[
    "10.1.2.3",
    "192.168.1.9",
    "10.1",
    "fe80::1",
    "ff02::2",
    "80",
    "443",
    "53",
    "1025",
    "167838211",
    "10.0.0.0/8",
    "fe80::/10",
    "6",
    "17",
    "1-100",
    "0x0800",
    "\\tcp",
    "\\ip",
];

const KINDS: &[&str] = &["host", "net", "port", "portrange", "proto"];

const DIRECTIONS: &[&str] =
    &["", "", "", "src", "dst", "src or dst", "src and dst", "dst or src", "dst and src"];

fn pick(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(words).prop_map(str::to_owned)
}

/// An expression that is of the language, mostly.
pub(crate) fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        3 => pick(PROTOCOLS),
        4 => pick(PRIMITIVES),
        3 => pick(SPECIAL),
        8 => qualified(),
        5 => relation(),
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            6 => (inner.clone(), connective(), inner.clone()).prop_map(|(l, c, r)| format!("{l} {c} {r}")),
            2 => (inner.clone(), connective(), pick(OPERANDS)).prop_map(|(l, c, r)| format!("{l} {c} {r}")),
            2 => inner.clone().prop_map(|e| format!("({e})")),
            2 => inner.prop_map(|e| format!("not {e}")),
        ]
    })
}

fn connective() -> impl Strategy<Value = String> {
    pick(&["and", "or", "and", "or", "&&", "||", "and not", "or not"])
}

fn qualified() -> impl Strategy<Value = String> {
    let protocol = prop_oneof![3 => Just(String::new()), 2 => pick(PROTOCOLS)];
    let matching = prop_oneof![
        Just(("host", "10.1.2.3")),
        Just(("host", "192.168.1.9")),
        Just(("host", "fe80::1")),
        Just(("net", "10.0.0.0/8")),
        Just(("net", "192.168")),
        Just(("net", "fe80::/10")),
        Just(("port", "80")),
        Just(("port", "53")),
        Just(("port", "(80 or 443)")),
        Just(("portrange", "50-100")),
        Just(("proto", "6")),
        Just(("proto", "17")),
    ];
    let any = (prop::sample::select(KINDS), prop::sample::select(OPERANDS));
    let rest = prop_oneof![5 => matching, 1 => any];
    (protocol, pick(DIRECTIONS), rest).prop_map(|(protocol, direction, (kind, operand))| {
        format!("{protocol} {direction} {kind} {operand}")
    })
}

fn relation() -> impl Strategy<Value = String> {
    let sign = pick(&["=", "!=", "<", ">", "<=", ">=", "=="]);
    (arithmetic(), sign, arithmetic()).prop_map(|(l, s, r)| format!("{l} {s} {r}"))
}

fn arithmetic() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        (0..20_u32).prop_map(|n| n.to_string()),
        any::<u32>().prop_map(|n| format!("{n:#x}")),
        Just("tcp-syn".to_owned()),
    ];
    let leaf = prop_oneof![
        4 => number,
        1 => Just("len".to_owned()),
        5 => (pick(HEADERS), 0..40_u32, prop::sample::select(vec!["", ":1", ":2", ":4", ":3"]))
            .prop_map(|(header, at, size)| format!("{header}[{at}{size}]")),
    ];
    leaf.prop_recursive(4, 12, 2, |inner| {
        let operator = pick(&["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"]);
        prop_oneof![
            6 => (inner.clone(), operator, inner.clone()).prop_map(|(l, o, r)| format!("{l} {o} {r}")),
            2 => inner.clone().prop_map(|e| format!("({e})")),
            1 => inner.clone().prop_map(|e| format!("- {e}")),
            2 => (pick(HEADERS), inner).prop_map(|(header, e)| format!("{header}[{e}]")),
        ]
    })
}

const WORDS: &[&str] = &[
    "and",
    "or",
    "not",
    "!",
    "(",
    ")",
    "(",
    ")",
    "ip",
    "tcp",
    "ether",
    "arp",
    "src",
    "dst",
    "host",
    "net",
    "port",
    "portrange",
    "proto",
    "protochain",
    "gateway",
    "10.1.2.3",
    "10.1",
    "80",
    "22",
    "443",
    "::1",
    "fe80::/10",
    "10.0.0.0/8",
    "mask",
    "255.0",
    "1-5",
    "1:2:3:4:5:6",
    "\\tcp",
    "\\ip",
    "len",
    "=",
    "<",
    ">",
    "!=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "&",
    "|",
    "^",
    "<<",
    "[",
    "]",
    ":",
    "ip[0]",
    "tcp[13]",
    "vlan",
    "mpls",
    "pppoes",
    "less",
    "greater",
    "byte",
    "broadcast",
    "multicast",
    "inbound",
    "ifindex",
    "llc",
    "rnr",
    "ui",
    "addr1",
    "ta",
    "wlan",
    "type",
    "mgt",
    "subtype",
    "beacon",
    "dir",
    "tods",
    "lane",
    "vpi",
    "opc",
    "oam",
    "msu",
    "radio",
    "on",
    "reason",
    "action",
    "pass",
    "5",
    "0",
    "tcp-syn",
    "$5",
    "1",
    "decnet",
    "iso",
    "0x10",
];

/// Words in any order.
pub(crate) fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(WORDS), 0..10).prop_map(|words| words.join(" "))
}
