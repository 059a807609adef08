//! The words of the language.

use std::collections::HashMap;
use std::fmt;
use std::net::Ipv6Addr;
use std::sync::LazyLock;

/// A word or sign of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// A number, or a constant's name such as `tcp-syn`.
    Number(u32),
    /// A name that is no keyword, or any word after a backslash.
    Name(&'a str),
    /// `10.1` to `10.1.2.3`, not yet checked.
    Dotted(&'a str),
    /// An IPv6 address.
    Ipv6(Ipv6Addr),
    /// A MAC address in any of its five notations.
    Ethernet([u8; 6]),
    /// `$1f`, an ARCnet address.
    Arcnet(u8),
    /// A keyword, aliases folded together.
    Keyword(Keyword),
    /// A sign.
    Sign(Sign),
    /// The end of the expression.
    End,
}

/// Signs, those spelt as words included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Colon,
    OpenBracket,
    CloseBracket,
    Open,
    Close,
    Less,
    Greater,
    Equal,
    LessEqual,
    GreaterEqual,
    NotEqual,
    And,
    Or,
    Not,
    Ampersand,
    Bar,
    Caret,
    ShiftLeft,
    ShiftRight,
}

/// Protocols that have a name in the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Protocol {
    Link,
    Ip,
    Arp,
    Rarp,
    Sctp,
    Tcp,
    Udp,
    Icmp,
    Igmp,
    Igrp,
    Pim,
    Vrrp,
    Carp,
    /// The pseudo-header before an 802.11 frame.
    Radio,
    Ip6,
    Icmp6,
    Ah,
    Esp,
    Atalk,
    Aarp,
    Decnet,
    Lat,
    Sca,
    Moprc,
    Mopdl,
    Iso,
    Esis,
    Isis,
    Clnp,
    IsisL1,
    IsisL2,
    IsisIih,
    IsisLsp,
    IsisSnp,
    IsisCsnp,
    IsisPsnp,
    Stp,
    Ipx,
    Netbeui,
}

impl Protocol {
    /// The keyword.
    pub(crate) fn name(self) -> &'static str {
        word(Keyword::Protocol(self))
    }
}

/// The first keyword of a kind, for messages.
pub(crate) fn word(keyword: Keyword) -> &'static str {
    KEYWORDS.iter().find(|(_, known)| *known == keyword).map_or("", |(word, _)| word)
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Words with a meaning of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyword {
    Protocol(Protocol),
    Src,
    Dst,
    Host,
    Net,
    Mask,
    Port,
    PortRange,
    Proto,
    ProtoChain,
    Gateway,
    Less,
    Greater,
    Byte,
    Broadcast,
    Multicast,
    Len,
    Inbound,
    Outbound,
    IfIndex,
    Vlan,
    Mpls,
    PppoeDiscovery,
    PppoeSession,
    Geneve,
    Vxlan,
    Llc,
    /// `rnr` and `rulenum`: a kind of LLC frame, or a rule number of PF's log.
    Rnr,
    /// A field of PF's log.
    Pf(Pf),
    WlanType,
    WlanSubtype,
    WlanDirection,
    /// One of a frame's addresses, a direction among qualifiers.
    Wlan(WlanAddress),
    /// A kind of ATM cell.
    Atm(Atm),
    /// A kind of MTP2 signal unit.
    Mtp2(Mtp2),
    /// A number in a header of ATM or of SS7.
    Field(Field),
}

/// Fields of PF's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pf {
    Interface,
    Ruleset,
    Rule,
    SubRule,
    Reason,
    Action,
}

/// The addresses of an 802.11 frame, by place and by role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WlanAddress {
    First,
    Second,
    Third,
    Fourth,
    Receiver,
    Transmitter,
}

/// Kinds of ATM cells: by pseudo-header, by virtual channel, by the message in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atm {
    Lane,
    MetaSignalling,
    Broadcast,
    Oam,
    OamEndToEnd,
    OamSegment,
    Signalling,
    Ilmi,
    Connect,
    MetaConnect,
}

/// Signal units, with the length field of 6 bits or that of high-speed links, of 9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mtp2 {
    FillIn,
    LinkStatus,
    Message,
    FastFillIn,
    FastLinkStatus,
    FastMessage,
}

/// Numbers of headers that are compared by keyword; `Fast` ones are of high-speed links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Vpi,
    Vci,
    Sio,
    Opc,
    Dpc,
    Sls,
    FastSio,
    FastOpc,
    FastDpc,
    FastSls,
}

/// What `word` means, if it means anything.
pub(crate) fn lookup(word: &str) -> Option<Token<'static>> {
    static WORDS: LazyLock<HashMap<&str, Token<'_>>> = LazyLock::new(|| {
        let keywords = KEYWORDS.iter().map(|(name, k)| (*name, Token::Keyword(*k)));
        let constants = CONSTANTS.iter().map(|(name, n)| (*name, Token::Number(*n)));
        let signs = [("and", Sign::And), ("or", Sign::Or), ("not", Sign::Not)];
        keywords.chain(constants).chain(signs.map(|(name, s)| (name, Token::Sign(s)))).collect()
    });
    WORDS.get(word).copied()
}

macro_rules! keywords {
    ($($name:literal $keyword:ident $(($argument:ident))?,)*) => {
        &[$(($name, keywords!(@ $keyword $($argument)?))),*]
    };
    (@ Wlan $argument:ident) => { Keyword::Wlan(WlanAddress::$argument) };
    (@ $keyword:ident $argument:ident) => { Keyword::$keyword($keyword::$argument) };
    (@ $keyword:ident) => { Keyword::$keyword };
}

/// Keywords as libpcap 1.10.3's scanner has them, and `vxlan`, which came after it.
const KEYWORDS: &[(&str, Keyword)] = keywords! {
    "dst" Dst, "src" Src,
    "link" Protocol(Link), "ether" Protocol(Link), "ppp" Protocol(Link), "slip" Protocol(Link),
    "fddi" Protocol(Link), "tr" Protocol(Link), "wlan" Protocol(Link),
    "arp" Protocol(Arp), "rarp" Protocol(Rarp), "ip" Protocol(Ip),
    "sctp" Protocol(Sctp), "tcp" Protocol(Tcp), "udp" Protocol(Udp),
    "icmp" Protocol(Icmp), "igmp" Protocol(Igmp), "igrp" Protocol(Igrp), "pim" Protocol(Pim),
    "vrrp" Protocol(Vrrp), "carp" Protocol(Carp), "radio" Protocol(Radio),
    "ip6" Protocol(Ip6), "icmp6" Protocol(Icmp6), "ah" Protocol(Ah), "esp" Protocol(Esp),
    "atalk" Protocol(Atalk), "aarp" Protocol(Aarp), "decnet" Protocol(Decnet),
    "lat" Protocol(Lat), "sca" Protocol(Sca), "moprc" Protocol(Moprc), "mopdl" Protocol(Mopdl),
    "iso" Protocol(Iso), "esis" Protocol(Esis), "es-is" Protocol(Esis),
    "isis" Protocol(Isis), "is-is" Protocol(Isis), "l1" Protocol(IsisL1), "l2" Protocol(IsisL2),
    "iih" Protocol(IsisIih), "lsp" Protocol(IsisLsp), "snp" Protocol(IsisSnp),
    "csnp" Protocol(IsisCsnp), "psnp" Protocol(IsisPsnp), "clnp" Protocol(Clnp),
    "stp" Protocol(Stp), "ipx" Protocol(Ipx), "netbeui" Protocol(Netbeui),
    "host" Host, "net" Net, "mask" Mask, "port" Port, "portrange" PortRange,
    "proto" Proto, "protochain" ProtoChain, "gateway" Gateway,
    "type" WlanType, "subtype" WlanSubtype, "direction" WlanDirection, "dir" WlanDirection,
    "address1" Wlan(First), "addr1" Wlan(First), "address2" Wlan(Second), "addr2" Wlan(Second),
    "address3" Wlan(Third), "addr3" Wlan(Third), "address4" Wlan(Fourth), "addr4" Wlan(Fourth),
    "ra" Wlan(Receiver), "ta" Wlan(Transmitter),
    "less" Less, "greater" Greater, "byte" Byte, "broadcast" Broadcast, "multicast" Multicast,
    "len" Len, "length" Len, "inbound" Inbound, "outbound" Outbound, "ifindex" IfIndex,
    "vlan" Vlan, "mpls" Mpls, "pppoed" PppoeDiscovery, "pppoes" PppoeSession,
    "geneve" Geneve, "vxlan" Vxlan, "llc" Llc,
    "lane" Atm(Lane), "metac" Atm(MetaSignalling), "bcc" Atm(Broadcast), "oam" Atm(Oam),
    "oamf4" Atm(Oam), "oamf4ec" Atm(OamEndToEnd), "oamf4sc" Atm(OamSegment), "sc" Atm(Signalling),
    "ilmic" Atm(Ilmi), "connectmsg" Atm(Connect), "metaconnect" Atm(MetaConnect),
    "vpi" Field(Vpi), "vci" Field(Vci),
    "on" Pf(Interface), "ifname" Pf(Interface), "rset" Pf(Ruleset), "ruleset" Pf(Ruleset),
    "rnr" Rnr, "rulenum" Rnr, "srnr" Pf(SubRule), "subrulenum" Pf(SubRule),
    "reason" Pf(Reason), "action" Pf(Action),
    "fisu" Mtp2(FillIn), "lssu" Mtp2(LinkStatus), "lsu" Mtp2(LinkStatus), "msu" Mtp2(Message),
    "hfisu" Mtp2(FastFillIn), "hlssu" Mtp2(FastLinkStatus), "hmsu" Mtp2(FastMessage),
    "sio" Field(Sio), "opc" Field(Opc), "dpc" Field(Dpc), "sls" Field(Sls),
    "hsio" Field(FastSio), "hopc" Field(FastOpc), "hdpc" Field(FastDpc), "hsls" Field(FastSls),
};

/// Named numbers, as libpcap 1.10.3's scanner has them.
const CONSTANTS: &[(&str, u32)] = &[
    ("icmptype", 0),
    ("icmpcode", 1),
    ("icmp-echoreply", 0),
    ("icmp-unreach", 3),
    ("icmp-sourcequench", 4),
    ("icmp-redirect", 5),
    ("icmp-echo", 8),
    ("icmp-routeradvert", 9),
    ("icmp-routersolicit", 10),
    ("icmp-timxceed", 11),
    ("icmp-paramprob", 12),
    ("icmp-tstamp", 13),
    ("icmp-tstampreply", 14),
    ("icmp-ireq", 15),
    ("icmp-ireqreply", 16),
    ("icmp-maskreq", 17),
    ("icmp-maskreply", 18),
    ("icmp6type", 0),
    ("icmp6code", 1),
    ("icmp6-destinationunreach", 1),
    ("icmp6-packettoobig", 2),
    ("icmp6-timeexceeded", 3),
    ("icmp6-parameterproblem", 4),
    ("icmp6-echo", 128),
    ("icmp6-echoreply", 129),
    ("icmp6-multicastlistenerquery", 130),
    ("icmp6-multicastlistenerreportv1", 131),
    ("icmp6-multicastlistenerdone", 132),
    ("icmp6-routersolicit", 133),
    ("icmp6-routeradvert", 134),
    ("icmp6-neighborsolicit", 135),
    ("icmp6-neighboradvert", 136),
    ("icmp6-redirect", 137),
    ("icmp6-routerrenum", 138),
    ("icmp6-nodeinformationquery", 139),
    ("icmp6-nodeinformationresponse", 140),
    ("icmp6-ineighbordiscoverysolicit", 141),
    ("icmp6-ineighbordiscoveryadvert", 142),
    ("icmp6-multicastlistenerreportv2", 143),
    ("icmp6-homeagentdiscoveryrequest", 144),
    ("icmp6-homeagentdiscoveryreply", 145),
    ("icmp6-mobileprefixsolicit", 146),
    ("icmp6-mobileprefixadvert", 147),
    ("icmp6-certpathsolicit", 148),
    ("icmp6-certpathadvert", 149),
    ("icmp6-multicastrouteradvert", 151),
    ("icmp6-multicastroutersolicit", 152),
    ("icmp6-multicastrouterterm", 153),
    ("tcpflags", 13),
    ("tcp-fin", 0x01),
    ("tcp-syn", 0x02),
    ("tcp-rst", 0x04),
    ("tcp-push", 0x08),
    ("tcp-ack", 0x10),
    ("tcp-urg", 0x20),
    ("tcp-ece", 0x40),
    ("tcp-cwr", 0x80),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_listed_twice() {
        let mut words: Vec<_> = KEYWORDS.iter().map(|(name, _)| *name).collect();
        words.extend(CONSTANTS.iter().map(|(name, _)| *name));
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
    }

    #[test]
    fn aliases_share_a_meaning() {
        assert_eq!(lookup("length"), lookup("len"));
        assert_eq!(lookup("wlan"), Some(Token::Keyword(Keyword::Protocol(Protocol::Link))));
        assert_eq!(lookup("tcp-ece"), Some(Token::Number(0x40)));
        assert_eq!(lookup("batadv"), None);
    }
}
