//! The filters of `bench filter`.

/// A filter and what it is called.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) text: String,
}

impl Case {
    /// libpcap takes seconds and more to compile it.
    pub(super) fn is_long(&self) -> bool {
        self.text.len() > 10_000
    }
}

/// By name, where the text is not a name itself.
const NAMED: &[(&str, &str)] = &[
    ("five ports", "tcp port 80 or 443 or 8080 or 22 or 25"),
    // About as many instructions as the founding papers' filters: 3, 21 and 50.
    ("small", "ip"),
    ("medium", "tcp port 80 and src net 10.0.0.0/8"),
    (
        "large",
        "(host 10.0.0.17 or host 10.0.0.99 or net 10.0.3.0/24) and (tcp port 80 or tcp port 443 or udp port 53)",
    ),
    ("pflua: accept all", ""),
    ("pflua: tcp", "tcp"),
    ("pflua: source port", "tcp src port 80"),
    ("pflua: source net", "src net 10.0.1.0/24"),
    ("pflua: ports, most", "portrange 0-6000"),
    ("pflua: ports, none", "portrange 0-5"),
    ("pflua: host, some", "host 10.0.0.17"),
    ("pflua: host, none", "host 192.0.2.1"),
    ("pflua: net, most", "net 10.0.0.0/22"),
    ("pflua: net, none", "net 192.0.2.0/24"),
    // Five that nothing was tuned for.
    ("handshakes", "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0 and not src and dst net 10.0.0.0/24"),
    ("payload", "tcp port 80 and (ip[2:2] - ((ip[0] & 0xf) << 2)) - ((tcp[12] & 0xf0) >> 2) != 0"),
    ("no noise", "not (arp or icmp or broadcast or multicast or port 53)"),
    ("long datagrams", "udp and greater 100 and udp[4:2] > 60"),
    ("one station", "ether src 02:00:00:00:00:01 and ip6 and not tcp port 22"),
];

pub(super) fn all() -> Vec<Case> {
    let mut cases: Vec<_> = NAMED
        .iter()
        .map(|(name, text)| Case { name: (*name).into(), text: (*text).into() })
        .collect();
    let hosts = any_of("host", (0..10).map(|i| format!("10.0.0.{}", 17 * i)));
    let ports =
        any_of("port", [80, 443, 53, 22, 25, 123, 993, 8080, 3306, 5432].map(|p| p.to_string()));
    cases.push(Case { name: "10 hosts".into(), text: hosts.clone() });
    cases.push(Case { name: "10 ports".into(), text: ports.clone() });
    cases.push(Case {
        name: "10 hosts and 10 ports".into(),
        text: format!("({hosts}) and ({ports})"),
    });
    cases.push(Case { name: "10 hosts or 10 ports".into(), text: format!("{hosts} or {ports}") });
    let many = any_of("host", (0..1000).map(|i| format!("10.{}.{}.7", i >> 8, i & 255)));
    cases.push(Case { name: "1000 hosts".into(), text: many });
    cases
}

fn any_of(kind: &str, items: impl IntoIterator<Item = String>) -> String {
    let terms: Vec<_> = items.into_iter().map(|item| format!("{kind} {item}")).collect();
    terms.join(" or ")
}
