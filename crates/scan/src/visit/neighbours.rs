//! Peers that name their neighbours.

use std::net::SocketAddr;

use crate::Target;

/// Fields in which a peer of Gnutella names others: whom to try instead ("Gnutella 0.6", RFC draft of 2002, 2.2), and what it
/// tells to crawlers.
const FIELDS: [&str; 5] = ["x-try", "x-try-ultrapeers", "x-try-hubs", "peers", "leaves"];

/// The peers that an answer to a handshake of Gnutella names, `address:port` each, in the fields before the first empty line. What
/// makes no sense is passed over.
pub(super) fn neighbours(answer: &[u8]) -> impl Iterator<Item = Target> {
    let lines = answer.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let lines = lines.take_while(|line| !line.is_empty());
    let fields = lines.filter_map(|line| {
        let (name, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
        FIELDS.iter().any(|field| name.eq_ignore_ascii_case(field)).then_some(value)
    });
    fields.flat_map(|value| value.split(',')).filter_map(peer)
}

/// Some tell behind the address when they saw it last.
fn peer(text: &str) -> Option<Target> {
    let end: SocketAddr = text.split_ascii_whitespace().next()?.parse().ok()?;
    (end.port() != 0).then_some(Target { address: end.ip(), port: end.port() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(answer: &str) -> Vec<String> {
        let name = |target: Target| SocketAddr::new(target.address, target.port).to_string();
        neighbours(answer.as_bytes()).map(name).collect()
    }

    #[test]
    fn neighbours_are_read_from_all_fields_that_name_them() {
        let answer = "GNUTELLA/0.6 503 Full\r\nX-Try: 192.0.2.1:6346, 192.0.2.2:80\r\nUser-Agent: x\r\n\
             x-try-ultrapeers: [2001:db8::1]:6346,192.0.2.3:1 2004-01-01T00:00Z\r\n\r\nPeers: 192.0.2.4:1\r\n";
        let expected = ["192.0.2.1:6346", "192.0.2.2:80", "[2001:db8::1]:6346", "192.0.2.3:1"];
        assert_eq!(found(answer), expected);
    }

    #[test]
    fn what_makes_no_sense_is_passed_over() {
        let answer =
            "X-Try: 192.0.2.1, ,:1,192.0.2.1:99999,192.0.2.1:0,a:1,192.0.2.9:7\r\nPeers\r\n";
        assert_eq!(found(answer), ["192.0.2.9:7"]);
        assert_eq!(found("\r\nX-Try: 192.0.2.1:1"), [""; 0]);
        // A list that was cut off: its last entry is not told from a whole one, but for what is behind the port.
        assert_eq!(found("X-Try: 192.0.2.1:6346,192.0.2."), ["192.0.2.1:6346"]);
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..80), text in "(X-Try: )?[0-9:.,\\[\\] \r\n]{0,60}") {
            neighbours(&bytes).for_each(drop);
            neighbours(text.as_bytes()).for_each(drop);
        }
    }
}
