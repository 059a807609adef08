//! The mistakes that people make most, and what to write instead.
//!
//! A table of habits from other languages (Wireshark's display filters, iptables, upper case) and of
//! near misses of this one. Only expressions that do not compile get here, so a hint never speaks of a
//! word that was understood; each says what the language has, not what the user meant.

use crate::error::ErrorKind;
use crate::syntax::Span;
use crate::syntax::token::lookup;
use std::net::{IpAddr, Ipv4Addr};

/// No hint repeats more of the expression than this, in bytes.
const LONGEST: usize = 60;

/// Words of other tools, and the words here.
const WORDS: &[(&str, &str)] = &[
    ("ipv4", "ip"),
    ("ipv6", "ip6"),
    ("icmpv6", "icmp6"),
    ("eth", "ether"),
    ("ethernet", "ether"),
    ("sport", "src port"),
    ("dport", "dst port"),
];

/// Fields of Wireshark's display filters, and tests of them here.
const FIELDS: &[(&str, &str)] = &[
    ("ip.addr", "host 192.0.2.1"),
    ("ip.src", "src host 192.0.2.1"),
    ("ip.dst", "dst host 192.0.2.1"),
    ("ip.proto", "ip proto 6"),
    ("ip.ttl", "ip[8] = 64"),
    ("ipv6.addr", "host 2001:db8::1"),
    ("ipv6.src", "src host 2001:db8::1"),
    ("ipv6.dst", "dst host 2001:db8::1"),
    ("tcp.port", "tcp port 80"),
    ("tcp.srcport", "tcp src port 80"),
    ("tcp.dstport", "tcp dst port 80"),
    ("tcp.flags.syn", "tcp[tcpflags] & tcp-syn != 0"),
    ("tcp.flags.ack", "tcp[tcpflags] & tcp-ack != 0"),
    ("tcp.flags.fin", "tcp[tcpflags] & tcp-fin != 0"),
    ("tcp.flags.reset", "tcp[tcpflags] & tcp-rst != 0"),
    ("udp.port", "udp port 53"),
    ("udp.srcport", "udp src port 53"),
    ("udp.dstport", "udp dst port 53"),
    ("eth.addr", "ether host 00:00:5e:00:53:01"),
    ("eth.src", "ether src 00:00:5e:00:53:01"),
    ("eth.dst", "ether dst 00:00:5e:00:53:01"),
    ("eth.type", "ether proto 0x0800"),
    ("vlan.id", "vlan 100"),
    ("icmp.type", "icmp[icmptype] = icmp-echo"),
    ("frame.len", "len > 100"),
];

/// What to write instead of what is at `span`, or just before it, if it is a mistake of the table.
pub(crate) fn hint(kind: ErrorKind, expression: &str, span: Span) -> Option<String> {
    let (before, at) = words_at(expression, span.start)?;
    match kind {
        ErrorKind::Syntax => {
            let joined = || joined(before, at);
            word(at).or_else(joined).or_else(|| word(last_word(before)))
        }
        ErrorKind::Name => joined(before, at),
        _ => None,
    }
}

/// What ends a word; a comma, colon or hyphen may be in one that should have been two.
fn ends_word(c: char) -> bool {
    c.is_whitespace() || "()[]!=<>&|\\".contains(c)
}

/// The whole word around the byte at `place`, and all that is before it.
fn words_at(expression: &str, place: usize) -> Option<(&str, &str)> {
    let (before, after) = expression.split_at_checked(place)?;
    let before = before.trim_end_matches(|c| !ends_word(c));
    let end = place + after.find(ends_word).unwrap_or(after.len());
    Some((before, &expression[before.len()..end]))
}

fn last_word(text: &str) -> &str {
    text.trim_end_matches(ends_word).rsplit(ends_word).next().unwrap_or_default()
}

/// A word that stands for something else here.
fn word(word: &str) -> Option<String> {
    let lower = word.to_ascii_lowercase();
    if let Some((_, ours)) = FIELDS.iter().find(|(field, _)| *field == lower) {
        return Some(format!(
            "`{word}` is of Wireshark's display filters; a capture filter is such as `{ours}`"
        ));
    }
    if let Some((_, ours)) = WORDS.iter().find(|(theirs, _)| *theirs == lower) {
        return Some(format!("`{word}` is `{ours}` in this language"));
    }
    (lower != word && lookup(&lower).is_some())
        .then(|| format!("keywords are in lower case: `{lower}`"))
}

/// What several words joined by a comma, colon or hyphen are instead.
fn joined(before: &str, word: &str) -> Option<String> {
    if word.contains(',') && !before.ends_with('[') {
        return Some(alternatives(last_word(before), word));
    }
    let (first, last) = word.split_once([':', '-']).filter(|_| word.len() <= LONGEST)?;
    let is_port = |text: &str| text.parse::<u16>().is_ok();
    if !is_port(last) {
        return None;
    }
    if let Ok(address) = first.parse::<Ipv4Addr>() {
        let tests = format!("(host {address} and port {last})");
        return Some(format!("an address and a port are two tests, such as `{tests}`"));
    }
    (is_port(first) && last_word(before).starts_with("port"))
        .then(|| format!("a range of ports is `portrange {first}-{last}`"))
}

/// The ports or addresses of a list as operands of `kind`; an example where they are not all such.
fn alternatives(kind: &str, list: &str) -> String {
    let is_operand = |text: &str| match kind {
        "port" => text.parse::<u16>().is_ok(),
        "host" => text.parse::<IpAddr>().is_ok(),
        _ => false,
    };
    let known = list.len() <= LONGEST && list.split(',').all(is_operand);
    let (kind, list) = if known { (kind, list) } else { ("port", "80,443") };
    format!("alternatives are such as `{kind} ({})`", list.replace(',', " or "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hermetic, Options, compile};
    use linerate_base::LinkType;
    use proptest::prelude::*;

    fn options() -> Options<'static> {
        Options::new(LinkType::ETHERNET, &Hermetic)
    }

    #[test]
    fn what_the_hints_say_to_write_compiles() {
        for (_, ours) in FIELDS {
            assert!(compile(ours, &options()).is_ok(), "{ours}");
        }
        for ours in ["port (80 or 443)", "(host 192.0.2.1 and port 80)", "portrange 80-90"] {
            assert!(compile(ours, &options()).is_ok(), "{ours}");
        }
        for (theirs, ours) in WORDS {
            let words = ours.split(' ');
            assert!(lookup(theirs).is_none() && words.map(lookup).all(|word| word.is_some()));
        }
    }

    #[test]
    fn every_field_gets_its_hint_wherever_it_stands() {
        for (field, ours) in FIELDS {
            for text in ["F == 1", "F==1", "tcp and F == 1", "tcp and F", "!(F eq 1)"] {
                let error = compile(&text.replace('F', field), &options()).expect_err("refused");
                assert!(error.to_string().contains(ours), "{error}");
            }
        }
    }

    #[test]
    fn other_mistakes_get_none() {
        for text in ["ip[0:3,4] = 1", "ip[0:1:2] = 1", "ether host 0:1", "host a-b", "port a-b"] {
            let error = compile(text, &options()).expect_err("refused").to_string();
            assert!(error.ends_with('^'), "{error}");
        }
    }
    #[test]
    fn hints_are_short() {
        let zeroes = "0".repeat(100_000);
        for word in ["80,".repeat(100_000), format!("{zeroes}80-90"), format!("{zeroes}1:1")] {
            let error = compile(&format!("port {word}"), &options()).expect_err("refused");
            assert!(error.to_string().len() < 500, "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_mistake_can_be_shown(
            text in r"((port|host|IP|tcp\.port|é|[0-9a-f]{1,3}|[-,:. ()\[=\\])){0,12}",
        ) {
            if let Err(error) = compile(&text, &options()) {
                prop_assert!(!error.to_string().is_empty());
            }
        }

        #[test]
        fn any_place_can_be_asked_about(text in ".{0,40}", start in 0..200_usize) {
            let span = Span { start, end: start };
            for kind in [ErrorKind::Syntax, ErrorKind::Name] {
                prop_assert!(hint(kind, &text, span).is_none_or(|hint| !hint.is_empty()));
            }
        }
    }
}
