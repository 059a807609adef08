//! Mistakes are pointed at, and say what to do.

use linerate_transmit::{Blocklist, Template};
use proptest::prelude::*;

use crate::{Host, compile};

/// What the error of an expression says.
fn error(text: &str) -> String {
    match compile(text) {
        Ok(_) => panic!("no error: {text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_caret_stands_under_the_mistake() {
    assert_eq!(
        error("IP(dst=\"192.0.2.1\")/TCP(dport=80000)"),
        "TCP.dport has 16 bits: at most 65535\n  \
         IP(dst=\"192.0.2.1\")/TCP(dport=80000)\n  \
         \u{20}                             ^^^^^"
    );
    assert_eq!(
        error("IP(dst='192.0.2.1')/TCP(options=[('WScale', 7), ('MSS', 70000)])"),
        "MSS has 16 bits: at most 65535\n  \
         IP(dst='192.0.2.1')/TCP(options=[('WScale', 7), ('MSS', 70000)])\n \
         \u{20}                                                        ^^^^^"
    );
    assert_eq!(
        error("Ip()/TCP()"),
        "there is no layer `Ip`\n  Ip()/TCP()\n  ^^\n  did you mean IP?"
    );
}

#[test]
fn every_mistake_has_words_of_its_own() {
    for (text, words) in [
        ("TCP()", "TCP cannot be the first layer"),
        ("Ether()/TCP()", "TCP cannot follow Ether"),
        ("IP(dst='192.0.2.1')/TCP()/IP()", "IP cannot follow TCP"),
        ("IP(dest='192.0.2.1')", "its fields are version, ihl,"),
        ("IP(dst=192.0.2.1)", "addresses are written in quotes"),
        ("IP(dst='192.0.2.300')", "`192.0.2.300` is no value of IP.dst"),
        ("IP(dst='2001:db8::1')", "is no value of IP.dst"),
        ("IPv6(dst='192.0.2.1')", "is no value of IPv6.dst"),
        ("IP(dst=[])", "IP.dst has no value"),
        ("IP(dst='192.0.2.1', dst='192.0.2.1')", "IP.dst is given twice"),
        ("IP('192.0.2.1')", "IP takes its fields by name"),
        ("IP(dst=shuffle('192.0.2.1'))", "there may be one of seq(...), permute(...), random(...)"),
        ("IP(dst=permute(random('192.0.2.1')))", "`random` is no value of IP.dst"),
        ("IP(dst=permute(x='192.0.2.1'))", "permute takes values without names"),
        ("IP(dst='192.0.2.1')/TCP(flags='X')", "write letters of FSRPAUECN"),
        ("IP(dst='192.0.2.1', flags='XX')", "write a number, or one of MF, DF"),
        ("IP(dst='192.0.2.1', ttl=256)", "IP.ttl has 8 bits: at most 255"),
        ("IP(dst='192.0.2.1', ttl='9-1')", "is no value of IP.ttl"),
        ("Ether(dst='1:2:3')", "is no value of Ether.dst"),
        ("Ether(dst='x:y:z:1:2:3')", "write six bytes in hexadecimal"),
        ("IP(dst='192.0.2.1')/UDP()/Raw(size=70000)", "Raw.size has 16 bits"),
        ("IP(dst='192.0.2.1')/UDP()/Raw(size=65535)", "packets have at most 65535"),
        ("IP(dst='192.0.2.1')/UDP()/Raw('abc', size=2-9)", "the load has 3 bytes, more than this"),
        ("IP(dst='192.0.2.1')/UDP()/Raw(load=7)", "Raw.load is text in quotes"),
        ("IP(dst='192.0.2.1')/UDP()/Raw(size=1-2)/Raw('x')", "must be the last"),
        ("IP(dst='192.0.2.1')/UDP()/DNS(qd='a')", "DNS.qd is a question"),
        ("IP(dst='192.0.2.1')/UDP()/DNS(qd=DNSQR(qname='a..b'))", "labels have 1 to 63 bytes"),
        ("IP(dst='192.0.2.1')/UDP()/DNS(qd=DNSQR(qtype=[1,2]))", "DNSQR.qtype is one value"),
        ("IP(dst='192.0.2.1')/UDP()/DNS(qd=DNSQR(name='a'))", "DNSQR has no field `name`"),
        ("IP(dst='192.0.2.1')/UDP()/DNS(qd=DNSQR(qname=['a', 7]))", "text in quotes, or a list"),
        ("IP(dst='192.0.2.1')/UDP()/DNS(qd=DNSQR(qname=[]))", "DNSQR.qname has no value"),
        ("IP(dst='192.0.2.1')/UDP()/DNS(qd=DNSQR(qname=['a', 'b']))/Raw('x')", "must be the last"),
        ("IP(dst='192.0.2.1', ttl=None)", "`None` is no value of IP.ttl"),
        ("IP(dst='192.0.2.1', ttl=(9, 1))", "this range ends before it begins"),
        ("IP(dst='192.0.2.1', ttl=(1, 2, 3))", "a range is two numbers"),
        ("IP(dst='192.0.2.1')/TCP(options=7)", "TCP.options is a list"),
        ("IP(dst='192.0.2.1')/TCP(options=['MSS'])", "this is no option of TCP"),
        ("IP(dst='192.0.2.1')/TCP(options=[('MSS',)])", "expected a value"),
        ("IP(dst='192.0.2.1')/TCP(options=[('MSS', 1, 2)])", "a name and a value"),
        ("IP(dst='192.0.2.1')/TCP(options=[('mss', 1)])", "those with names are EOL, NOP, MSS"),
        ("IP(dst='192.0.2.1')/TCP(options=[('MSS', 65536)])", "MSS has 16 bits: at most 65535"),
        ("IP(dst='192.0.2.1')/TCP(options=[('MSS', None)])", "MSS has one number"),
        ("IP(dst='192.0.2.1')/TCP(options=[('NOP', 1)])", "NOP has no value: write None"),
        ("IP(dst='192.0.2.1')/TCP(options=[('Timestamp', 1)])", "Timestamp has 2 numbers"),
        ("IP(dst='192.0.2.1')/TCP(options=[('SAck', 1)])", "SAck has 2 to 8 numbers"),
        ("IP(dst='192.0.2.1')/TCP(options=[(1, '')])", "numbers from 2 to 255"),
        ("IP(dst='192.0.2.1')/TCP(options=[(30, 1)])", "is text in quotes"),
        (
            "IP(dst='192.0.2.1')/TCP(options=[('SAck', (1, 2, 3, 4, 5, 6, 7, 8)), ('Timestamp', (1, 2))])",
            "these options have 44 bytes: at most 40",
        ),
        ("IP(dst='192.0.2.1')/UDP(sport=RandNum())", "UDP.sport has no value"),
        ("IP(dst='192.0.2.1')/UDP(sport=RandNum(9, 1))", "this range ends before it begins"),
        ("IPv6(dst=RandIP6())", "these are more than 2^64 values"),
        ("Ether(src='02:00:00:00:00:00/49')", "write six bytes in hexadecimal"),
        ("IP(dst='192.0.2.1')/'a'*70000", "at most 65535 bytes"),
        ("'GET /'", "Raw cannot be the first layer"),
        ("IP()/UDP()", "no hardware address for 127.0.0.1: there is no route"),
        ("IPv6(dst='2001::/32')", "these are more than 2^64 values"),
        ("IPv6(dst='2001:db8::/64')/UDP(dport=[1,2])", "there are more than 2^64 combinations"),
        (
            "IPv6(dst=permute('2001:db8::/64'))/UDP(dport=permute(1,2))",
            "more than 2^64 combinations",
        ),
    ] {
        let error = error(text);
        assert!(error.contains(words), "{text}: {error}");
    }
}

#[test]
fn too_many_fields_and_checksums_are_errors() {
    let text = format!("IP(dst='192.0.2.1')/{}UDP()", "IP(dst='192.0.2.1')/".repeat(9));
    assert!(error(&text).contains("at most 8 work"));
    let text = format!(
        "IP(dst='192.0.2.1')/{}UDP()",
        "IP(dst='192.0.2.1', chksum=1, id=1-2, ttl=1-2, tos=1-2)/".repeat(6)
    );
    assert!(error(&text).contains("at most 16 can"), "{}", error(&text));
}

#[test]
fn a_constant_destination_may_be_blocked_too() {
    let blocklist = Blocklist::parse("192.0.2.0/24", "f").unwrap();
    let text = "IP(dst='192.0.2.1')/UDP()";
    let error = Template::compile(text, &Host, &blocklist, 1).unwrap_err();
    assert!(error.message().contains("no address that is not blocked"), "{error}");
}

#[test]
fn the_largest_space_is_allowed() {
    assert_eq!(compile("IPv6(dst=permute('2001:db8::/64'))/UDP()").unwrap().count(), 1 << 64);
}

proptest! {
    #[test]
    fn no_expression_makes_it_panic(
        parts in prop::collection::vec(prop::sample::select(PARTS), 0..24),
    ) {
        if let Ok(template) = compile(&parts.concat()) {
            crate::packet(&template, 3);
        }
    }
}

const PARTS: &[&str] = &[
    "Ether(",
    "IP(",
    "IPv6(",
    "UDP(",
    "TCP(",
    "Raw(",
    "DNS(",
    "ICMP(",
    "Dot1Q(",
    "ARP(",
    ")",
    ")/",
    "/",
    ",",
    "dst=",
    "src=",
    "size=",
    "load=",
    "'192.0.2.0/24'",
    "'::/64'",
    "'x'",
    "1-9",
    "0",
    "65535",
    "[",
    "]",
    "permute(",
    "random(",
    "RandShort()",
    "RandIP(",
    "'abc'*3",
    "ICMP(type=3)/IP(dst='192.0.2.1')/",
    "\"imix\"",
    "ttl=",
    "dport=",
    "qd=DNSQR(",
    "qname=['a', 'bc']",
    "options=[('MSS', 1460), ('NOP', None)",
    "ICMPv6ND_NS(",
    "IP(dst='192.0.2.1')/",
    "UDP()/",
    "Raw(size=1-9)",
    "TCP(dport=1-9)",
    "IP(dst='192.0.2.1')/UDP()",
];
