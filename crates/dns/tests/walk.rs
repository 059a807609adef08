//! Walks through worlds of servers: sound ones, lame ones, and such as lie.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use etherparse::IpNumber;
use linerate_base::{Hop, Timestamp};
use linerate_dns::walk::Travels;
use linerate_dns::{Asker, Config, Event, Limits, Manner, Outcome, Question, Walker};
use linerate_tcp::frame::{Packet, Path};
use proptest::prelude::*;

const ROOT: &str = "192.0.2.1";
const UDP: usize = 8;
const DNS: usize = 12;
const TIMEOUT: Duration = Duration::from_secs(1);

const A: u16 = 1;
const CNAME: u16 = 5;
const TXT: u16 = 16;
const AAAA: u16 = 28;
const DS: u16 = 43;

/// What a server says to a question. Records are `owner type data`.
#[derive(Clone, Debug)]
enum Said {
    /// Ask those; addresses go along as glue.
    Refer(Vec<String>),
    /// The server is responsible, and these are the records.
    Answer(Vec<String>),
    /// It is responsible for this zone, and there are none, but these by which the name is an alias; with this code.
    Deny(u8, &'static str, Vec<String>),
    /// It is not responsible, and has this all the same.
    Lame(Vec<String>),
    Refuse,
    /// More than fits.
    Truncated,
    Nothing,
}

fn refer(records: &[&str]) -> Said {
    Said::Refer(owned(records))
}

fn answer(records: &[&str]) -> Said {
    Said::Answer(owned(records))
}

fn owned(records: &[&str]) -> Vec<String> {
    records.iter().map(|&record| record.to_owned()).collect()
}

type Serve = Box<dyn Fn(&str, &str, u16) -> Said>;

/// Servers, who is asked, and what was told.
struct World {
    serve: Serve,
    asker: Asker,
    walker: Walker,
    now: Timestamp,
    /// Bytes of every message that are others on the wire.
    damage: Vec<(usize, u8)>,
    /// Servers that no way leads to.
    lost: Vec<String>,
    /// Server and name of each query.
    asked: Vec<String>,
    told: Vec<String>,
}

impl World {
    /// `serve` says what the server at an address says to a question.
    fn new(serve: impl Fn(&str, &str, u16) -> Said + 'static) -> Self {
        let asker = Asker::new(Config {
            mac: [2; 6],
            sources: vec!["10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()],
            ports: 61_000..=65_535,
            key: [3; 16],
            manner: Manner { recursion: false, udp_size: None },
            limits: Limits::default(),
            timeout: TIMEOUT,
            attempts: 2,
            window: 1_000,
            streams: false,
        });
        let walker =
            Walker::new(vec![(ROOT.parse::<IpAddr>().unwrap(), 53).into()], [true; 2], 100);
        let now = Timestamp::from_parts(1_000, 0);
        Self {
            serve: Box::new(serve),
            asker,
            walker,
            now,
            damage: Vec::new(),
            lost: Vec::new(),
            asked: Vec::new(),
            told: Vec::new(),
        }
    }

    fn begin(&mut self, name: &str, rtype: u16, tag: u64) {
        self.walker.begin(Question::new(name, rtype).expect("a name"), tag, self.now);
    }

    /// What one walk comes to.
    fn walk(&mut self, name: &str, rtype: u16) -> String {
        self.begin(name, rtype, 7);
        self.run();
        self.told.pop().expect("an end")
    }

    /// Writes a query that is due.
    fn write(&mut self, slot: &mut [u8]) -> Option<usize> {
        let Self { asker, walker, told, now, lost, .. } = self;
        let mut ways = |to: IpAddr| {
            Ok(if lost.contains(&to.to_string()) { Hop::Nowhere } else { Hop::At([4; 6]) })
        };
        let written = asker.write(*now, slot, &mut ways, &mut |event| {
            walker.note(event, *now, &mut |event| note(told, event));
        });
        written.expect("ways")
    }

    /// Goes on until all walks have come to their ends.
    fn run(&mut self) {
        for _ in 0..5_000 {
            let Self { asker, walker, told, now, .. } = self;
            walker.go_on(asker, *now, &|_| true, &mut |event| note(told, event));
            if walker.is_idle() {
                assert!(asker.is_idle());
                return;
            }
            let mut slot = vec![0; asker.longest()];
            let mut has_sent = false;
            while let Some(length) = self.write(&mut slot) {
                has_sent = true;
                let reply = self.reply(&slot[..length]);
                let Self { asker, walker, told, now, .. } = self;
                if let Some(frame) = reply {
                    asker.hear(&frame, *now, &mut |event| {
                        walker.note(event, *now, &mut |event| note(told, event));
                    });
                }
            }
            if !has_sent {
                self.now = self.now + TIMEOUT;
                let Self { asker, walker, told, now, .. } = self;
                asker.expire(*now, &mut |event| {
                    walker.note(event, *now, &mut |event| note(told, event));
                });
            }
        }
        panic!("it does not come to an end: {:?}", self.asked);
    }

    fn reply(&mut self, query: &[u8]) -> Option<Vec<u8>> {
        let packet = Packet::parse(query).expect("a packet");
        let message = &packet.payload[UDP..];
        let (name, end) = read_name(message);
        let rtype = u16::from_be_bytes([message[end], message[end + 1]]);
        let server = packet.destination.to_string();
        self.asked.push(format!("{server} {name}"));
        let said = (self.serve)(&server, &name, rtype);
        let mut reply = said.message(&message[..end + 4])?;
        for (place, byte) in &self.damage {
            reply.get_mut(*place).into_iter().for_each(|hit| *hit = *byte);
        }
        let mut frame = vec![0; 2_000];
        let length = Path::back(&packet, [4; 6]).write(&mut frame, IpNumber::UDP, 6, |slot| {
            slot[..2].copy_from_slice(&packet.payload[2..4]);
            slot[2..4].copy_from_slice(&packet.payload[..2]);
            let length = UDP + reply.len();
            slot[4..6].copy_from_slice(&(length as u16).to_be_bytes());
            slot[UDP..length].copy_from_slice(&reply);
            length
        });
        frame.truncate(length);
        Some(frame)
    }
}

/// Tag, what came, and from which zone's server by which way.
fn note(told: &mut Vec<String>, event: &Event<'_>) {
    if !event.is_last {
        return assert!(event.route.is_none());
    }
    let route = event.route.expect("the end of a walk");
    let came = match &event.outcome {
        Outcome::Reply(reply, _) if reply.is_truncated() => "truncated".into(),
        Outcome::Reply(reply, _) => {
            let records = reply.answers().map(|record| record.to_string());
            let all: Vec<_> = route.aliases.iter().cloned().chain(records).collect();
            format!("{} {}", reply.code(), all.join(", "))
        }
        Outcome::Malformed(_) => "malformed".into(),
        Outcome::Silence => "silent".into(),
        Outcome::Lost(loss) => loss.name().into(),
    };
    let zone = route.zone;
    assert_eq!(zone.way().len(), usize::from(zone.depth()));
    let way = zone
        .way()
        .iter()
        .map(|(name, server)| format!("{name} {}", server.ip()))
        .collect::<Vec<_>>();
    told.push(format!("{} {}: {} | {}", event.tag, came.trim(), zone.name(), way.join(", ")));
}

impl Said {
    /// The message, behind the query's header and question.
    fn message(&self, query: &[u8]) -> Option<Vec<u8>> {
        const AUTHORITATIVE: u8 = 4;
        const TRUNCATED: u8 = 2;
        let none = Vec::new();
        let (flags, code, answer, authority) = match self {
            Self::Refer(records) => (0, 0, &none, records),
            Self::Answer(records) => (AUTHORITATIVE, 0, records, &none),
            Self::Deny(code, zone, records) => {
                let soa = vec![format!("{zone} SOA")];
                return Some(message(query, AUTHORITATIVE, *code, records, &soa));
            }
            Self::Lame(records) => (0, 0, records, &none),
            Self::Refuse => (0, 5, &none, &none),
            Self::Truncated => (TRUNCATED, 0, &none, &none),
            Self::Nothing => return None,
        };
        Some(message(query, flags, code, answer, authority))
    }
}

fn message(query: &[u8], flags: u8, code: u8, answer: &[String], rest: &[String]) -> Vec<u8> {
    let is_glue = |record: &&String| [" A ", " AAAA "].iter().any(|kind| record.contains(kind));
    let (glue, authority): (Vec<&String>, Vec<&String>) = rest.iter().partition(is_glue);
    let counts = [answer.len() as u8, authority.len() as u8, glue.len() as u8];
    let mut message = query.to_vec();
    (message[2], message[3]) = (0x80 | flags, code);
    message[5..DNS].copy_from_slice(&[1, 0, counts[0], 0, counts[1], 0, counts[2]]);
    answer.iter().chain(authority).chain(glue).for_each(|text| message.extend(record(text)));
    message
}

fn record(text: &str) -> Vec<u8> {
    let mut words = text.split(' ');
    let mut word = || words.next().unwrap_or_default();
    let (owner, kind, data) = (word(), word(), word());
    let (kind, data) = match kind {
        "A" | "AAAA" => match data.parse().expect("an address") {
            IpAddr::V4(address) => (A, address.octets().to_vec()),
            IpAddr::V6(address) => (AAAA, address.octets().to_vec()),
        },
        "NS" => (2, write_name(data)),
        "CNAME" => (CNAME, write_name(data)),
        "SOA" => (6, [&[0; 2][..], &[0; 20]].concat()),
        "TXT" => (TXT, [&[data.len() as u8], data.as_bytes()].concat()),
        other => panic!("{other}"),
    };
    let mut record = write_name(owner);
    record.extend(kind.to_be_bytes());
    record.extend([0, 1, 0, 0, 0x0e, 0x10]);
    record.extend((data.len() as u16).to_be_bytes());
    record.extend(data);
    record
}

fn write_name(text: &str) -> Vec<u8> {
    let labels = text.split('.').filter(|label| !label.is_empty());
    let mut name: Vec<u8> =
        labels.flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).collect();
    name.push(0);
    name
}

/// The name of the question, and where it ends.
fn read_name(message: &[u8]) -> (String, usize) {
    let (mut labels, mut at) = (Vec::new(), DNS);
    while message[at] > 0 {
        let end = at + 1 + usize::from(message[at]);
        labels.push(String::from_utf8_lossy(&message[at + 1..end]).into_owned());
        at = end;
    }
    (labels.join("."), at + 1)
}

/// A world with the domain `test` at 192.0.2.2, of which `below` says what is in it.
fn world(below: impl Fn(&str, &str, u16) -> Said + 'static) -> World {
    World::new(move |server, name, rtype| match server {
        ROOT if name.ends_with("test") => refer(&["test NS ns.test", "ns.test A 192.0.2.2"]),
        ROOT => Said::Deny(3, "", vec![]),
        _ => below(server, name, rtype),
    })
}

#[test]
fn delegations_lead_down_and_are_remembered() {
    let mut world = world(|server, _, _| match server {
        "192.0.2.2" => refer(&[
            "A.Test NS ns.a.test",
            "ns.a.test A 192.0.2.3",
            "a.test NS b.a.test",
            "b.a.test AAAA 2001:db8::3",
        ]),
        _ => answer(&["www.a.test A 203.0.113.1"]),
    });
    let told = world.walk("www.a.test", A);
    assert_eq!(told, "7 NOERROR A 203.0.113.1: a.test | . 192.0.2.1, test 192.0.2.2");
    assert_eq!(world.asked.len(), 3);
    let again = world.walk("www.A.test", A);
    assert_eq!((again, world.asked.len()), (told, 4), "the zone is known, and the way to it");
    world.now = world.now + Duration::from_secs(3_601);
    world.walk("www.a.test", A);
    assert_eq!(world.asked.len(), 7, "what was told has a time to live");
    let none = world.walk("www.nowhere", A);
    assert_eq!(none, "7 NXDOMAIN: . | ");
    assert_eq!(world.walker.counters(), Travels { referrals: 4, lame: 0, searches: 0 });
}

#[test]
fn servers_without_addresses_are_looked_for_once() {
    let mut world = world(|server, name, _| match (server, name) {
        ("192.0.2.2", name) if name.ends_with("b.test") => {
            refer(&["b.test NS ns.b.test", "ns.b.test A 192.0.2.4"])
        }
        ("192.0.2.2", _) => refer(&["a.test NS ns.b.test"]),
        ("192.0.2.4", "ns.b.test") => answer(&["ns.b.test A 192.0.2.3"]),
        ("192.0.2.3", _) => answer(&["www.a.test TXT x"]),
        _ => Said::Refuse,
    });
    (0..10).for_each(|tag| world.begin("www.a.test", TXT, tag));
    world.run();
    assert!(
        world
            .told
            .iter()
            .all(|told| told.ends_with("NOERROR TXT \"x\": a.test | . 192.0.2.1, test 192.0.2.2")),
        "{:?}",
        world.told
    );
    assert_eq!((world.told.len(), world.walker.counters().searches), (10, 1));
    assert_eq!(world.asked.iter().filter(|asked| asked.ends_with(" ns.b.test")).count(), 2);
}

#[test]
fn a_server_with_an_address_of_the_other_family_only_is_found() {
    let mut world = world(|server, name, rtype| match (server, name, rtype) {
        ("192.0.2.2", "ns.test", A) => Said::Deny(0, "test", vec![]),
        ("192.0.2.2", "ns.test", _) => answer(&["ns.test AAAA 2001:db8::3"]),
        ("192.0.2.2", ..) => refer(&["a.test NS ns.test"]),
        _ => answer(&["www.a.test A 203.0.113.1"]),
    });
    assert!(world.walk("www.a.test", A).starts_with("7 NOERROR A 203.0.113.1: a.test"));
    assert_eq!(world.asked.last().unwrap(), "2001:db8::3 www.a.test");
}

#[test]
fn aliases_are_followed_within_a_zone_and_out_of_it() {
    let mut world = world(|server, name, rtype| match (server, name) {
        ("192.0.2.2", name) if name.ends_with("a.test") => {
            refer(&["a.test NS ns.a.test", "ns.a.test A 192.0.2.3"])
        }
        ("192.0.2.2", _) => refer(&["b.test NS ns.b.test", "ns.b.test A 192.0.2.4"]),
        ("192.0.2.3", "near.a.test") if rtype == CNAME => answer(&["near.a.test CNAME www.a.test"]),
        ("192.0.2.3", "near.a.test") => {
            answer(&["near.a.test CNAME www.a.test", "www.a.test A 203.0.113.1"])
        }
        // What it says of the other zone is not its to say.
        ("192.0.2.3", "far.a.test") => {
            answer(&["far.a.test CNAME www.b.test", "www.b.test A 203.0.113.66"])
        }
        ("192.0.2.3", "none.a.test") => {
            Said::Deny(3, "a.test", owned(&["none.a.test CNAME gone.a.test"]))
        }
        ("192.0.2.3", "lost.a.test") => {
            Said::Deny(3, "b.test", owned(&["lost.a.test CNAME gone.b.test"]))
        }
        ("192.0.2.4", "www.b.test") => answer(&["www.b.test A 203.0.113.2"]),
        _ => Said::Deny(3, "b.test", vec![]),
    });
    let (a, b) = ("a.test | . 192.0.2.1, test 192.0.2.2", "b.test | . 192.0.2.1, test 192.0.2.2");
    assert_eq!(
        world.walk("near.a.test", A),
        format!("7 NOERROR CNAME www.a.test., A 203.0.113.1: {a}")
    );
    assert_eq!(world.walk("near.a.test", CNAME), format!("7 NOERROR CNAME www.a.test.: {a}"));
    assert_eq!(
        world.walk("far.a.test", A),
        format!("7 NOERROR CNAME www.b.test., A 203.0.113.2: {b}")
    );
    assert_eq!(world.walk("none.a.test", A), format!("7 NXDOMAIN CNAME gone.a.test.: {a}"));
    assert_eq!(world.walk("lost.a.test", A), format!("7 NXDOMAIN CNAME gone.b.test.: {b}"));
}

#[test]
fn aliases_that_go_in_circles_come_to_an_end() {
    let mut world = world(|server, name, _| match (server, name) {
        ("192.0.2.2", name) if name.ends_with("a.test") => {
            refer(&["a.test NS ns.a.test", "ns.a.test A 192.0.2.3"])
        }
        ("192.0.2.2", _) => refer(&["b.test NS ns.b.test", "ns.b.test A 192.0.2.4"]),
        ("192.0.2.3", _) => answer(&["x.a.test CNAME x.b.test"]),
        _ => answer(&["x.b.test CNAME x.a.test"]),
    });
    assert!(world.walk("x.a.test", A).starts_with("7 aliases"));
    assert!(world.asked.len() < 30, "{:?}", world.asked);
}

#[test]
fn to_whom_no_way_leads_is_left_for_another() {
    let serve = |server: &str, name: &str, _| match (server, name) {
        ("192.0.2.2", "www.b.test") => refer(&["b.test NS x.b.test", "x.b.test A 192.0.2.4"]),
        ("192.0.2.2", _) => refer(&[
            "a.test NS x.a.test",
            "x.a.test A 192.0.2.3",
            "x.a.test A 192.0.2.4",
            "a.test NS y.a.test",
            "y.a.test A 192.0.2.5",
        ]),
        _ => answer(&["www.a.test A 203.0.113.1"]),
    };
    let mut world = world(serve);
    world.lost = vec!["192.0.2.3".into(), "192.0.2.4".into()];
    assert!(world.walk("www.a.test", A).starts_with("7 NOERROR A 203.0.113.1: a.test"));
    assert!(world.walk("www.b.test", A).starts_with("7 unreachable: b.test"));
    assert!(!world.asked.iter().any(|asked| asked.starts_with("192.0.2.4")), "{:?}", world.asked);
}

#[test]
fn who_is_not_responsible_is_left_for_another() {
    let mut world = world(|server, _, _| match server {
        "192.0.2.2" => refer(&[
            "a.test NS x.a.test",
            "x.a.test A 192.0.2.3",
            "x.a.test A 192.0.2.4",
            "a.test NS y.a.test",
            "y.a.test A 192.0.2.5",
        ]),
        "192.0.2.3" => Said::Lame(owned(&["www.a.test A 203.0.113.66"])),
        // Upwards; RFC 1912 2.8.
        "192.0.2.4" => refer(&["test NS ns.test", "ns.test A 192.0.2.2"]),
        _ => answer(&["www.a.test A 203.0.113.1"]),
    });
    for number in 0..10 {
        let told = world.walk("www.a.test", A);
        assert!(told.starts_with("7 NOERROR A 203.0.113.1: a.test"), "{number}: {told}");
    }
    assert!(world.walker.counters().lame > 0);
}

#[test]
fn where_nobody_is_responsible_the_walk_says_so() {
    for bad in [
        Said::Lame(vec![]),
        refer(&["test NS ns.test"]),
        refer(&["a.test NS ns.a.test"]),
        refer(&["b.test NS ns.b.test"]),
        refer(&["other.www.a.test NS ns.b.test"]),
    ] {
        let said = format!("{bad:?}");
        let mut world = world(move |server, _, _| match server {
            "192.0.2.2" => {
                refer(&["a.test NS ns.a.test", "ns.a.test A 192.0.2.3", "ns.a.test A 192.0.2.4"])
            }
            _ => bad.clone(),
        });
        let told = world.walk("www.a.test", A);
        assert_eq!(told, "7 lame: a.test | . 192.0.2.1, test 192.0.2.2", "{said}");
        assert_eq!(world.asked.len(), 4, "{said}");
    }
}

#[test]
fn refusals_silence_and_cut_off_answers_are_told_in_the_end() {
    for (bad, word) in
        [(Said::Refuse, "REFUSED"), (Said::Nothing, "silent"), (Said::Truncated, "truncated")]
    {
        let mut world = world(move |server, _, _| match server {
            "192.0.2.2" => refer(&["a.test NS ns.a.test", "ns.a.test A 192.0.2.3"]),
            _ => bad.clone(),
        });
        assert!(world.walk("www.a.test", A).starts_with(&format!("7 {word}: a.test")));
    }
}

#[test]
fn where_all_refuse_whose_addresses_are_known_the_others_are_looked_for() {
    for (bad, loss) in [(Said::Refuse, "lame"), (Said::Nothing, "unreachable")] {
        for is_there in [true, false] {
            let bad = bad.clone();
            let mut world = world(move |server, name, _| match (server, name) {
                ("192.0.2.2", "ns.test") if is_there => answer(&["ns.test A 192.0.2.4"]),
                ("192.0.2.2", "ns.test") => Said::Deny(3, "test", vec![]),
                ("192.0.2.2", _) => {
                    refer(&["a.test NS ns.a.test", "ns.a.test A 192.0.2.3", "a.test NS ns.test"])
                }
                ("192.0.2.3", _) => bad.clone(),
                _ => answer(&["www.a.test A 203.0.113.1"]),
            });
            let told = world.walk("www.a.test", A);
            let expected = if is_there { "NOERROR A 203.0.113.1" } else { loss };
            assert!(told.starts_with(&format!("7 {expected}: a.test")), "{told}");
        }
    }
}

#[test]
fn servers_that_are_found_while_others_refuse_are_asked_too() {
    let mut world = world(|server, name, _| match (server, name) {
        ("192.0.2.2", "ns.test") => answer(&["ns.test A 192.0.2.4"]),
        ("192.0.2.2", "www.b.test") => refer(&["b.test NS ns.test"]),
        ("192.0.2.2", _) => {
            refer(&["a.test NS ns.a.test", "ns.a.test A 192.0.2.3", "a.test NS ns.test"])
        }
        ("192.0.2.3", _) => Said::Refuse,
        (_, name) => answer(&[&format!("{name} A 203.0.113.1")]),
    });
    for name in ["www.a.test", "www.b.test"] {
        world.begin(name, A, 7);
    }
    world.run();
    let told = &world.told;
    assert!(told.iter().all(|told| told.starts_with("7 NOERROR A 203.0.113.1")), "{told:?}");
}

#[test]
fn servers_that_can_only_be_found_by_themselves_are_not_found() {
    // RFC 9471 2.1: without its glue nobody can ask a zone whose servers are in it.
    let mut alone = world(|server, _, _| match server {
        "192.0.2.2" => refer(&["a.test NS ns.a.test"]),
        _ => Said::Refuse,
    });
    assert_eq!(alone.walk("www.a.test", A), "7 unreachable: a.test | . 192.0.2.1, test 192.0.2.2");
    let mut knot = world(|_, name, _| match name.rsplit('.').nth(1) {
        Some("a") => refer(&["a.test NS ns.b.test"]),
        Some("b") => refer(&["b.test NS ns.c.test"]),
        _ => refer(&["c.test NS ns.a.test"]),
    });
    for name in ["www.a.test", "www.b.test", "www.c.test"] {
        knot.begin(name, A, 7);
    }
    knot.run();
    assert!(
        knot.told.len() == 3 && knot.told.iter().all(|told| told.starts_with("7 unreachable")),
        "{:?}",
        knot.told
    );
}

#[test]
fn glue_of_others_is_not_believed() {
    let mut world = World::new(|server, name, _| match (server, name) {
        (ROOT, name) if name.ends_with("test") => {
            refer(&["test NS ns.test", "ns.test A 192.0.2.2"])
        }
        (ROOT, _) => refer(&["bank NS ns.bank", "ns.bank A 192.0.2.9"]),
        ("192.0.2.2", _) => {
            refer(&["a.test NS ns.bank", "ns.bank A 192.0.2.66", "www.bank A 192.0.2.66"])
        }
        ("192.0.2.9", "ns.bank") => answer(&["ns.bank A 192.0.2.9"]),
        ("192.0.2.9", _) => answer(&["www.a.test A 203.0.113.1"]),
        _ => answer(&["www.a.test A 203.0.113.66"]),
    });
    assert!(world.walk("www.a.test", A).starts_with("7 NOERROR A 203.0.113.1: a.test"));
    assert!(world.asked.iter().all(|asked| !asked.starts_with("192.0.2.66")), "{:?}", world.asked);
}

#[test]
fn who_signs_a_zone_is_asked_of_the_one_above() {
    let mut world = world(|server, name, rtype| match (server, name, rtype) {
        ("192.0.2.2", "a.test", DS) => Said::Deny(0, "test", vec![]),
        ("192.0.2.2", ..) => refer(&["a.test NS ns.a.test", "ns.a.test A 192.0.2.3"]),
        _ => answer(&["a.test A 203.0.113.1"]),
    });
    world.walk("a.test", A);
    assert_eq!(world.walk("a.test", DS), "7 NOERROR: test | . 192.0.2.1");
}

#[test]
fn blocked_servers_are_left_out() {
    let mut world = world(|_, _, _| refer(&["a.test NS ns.a.test", "ns.a.test A 192.0.2.66"]));
    world.begin("www.a.test", A, 7);
    let blocked: SocketAddr = "192.0.2.66:53".parse().unwrap();
    while !world.walker.is_idle() {
        let mut slot = vec![0; 1_000];
        let World { asker, walker, told, now, .. } = &mut world;
        let may = |address| address != blocked.ip();
        walker.go_on(asker, *now, &may, &mut |event| note(told, event));
        while let Some(length) = world.write(&mut slot) {
            let reply = world.reply(&slot[..length]).expect("a reply");
            let World { asker, walker, told, now, .. } = &mut world;
            asker.hear(&reply, *now, &mut |event| {
                walker.note(event, *now, &mut |event| note(told, event));
            });
        }
    }
    assert_eq!(world.told, ["7 unreachable: a.test | . 192.0.2.1, test 192.0.2.2"]);
}

#[test]
fn who_delegates_to_ever_more_names_cannot_multiply_queries() {
    let mut world = world(|_, name, _| {
        let records: Vec<_> = (0..16)
            .map(|n| {
                format!("{name} NS n{n}.{}x.test", name.replace(".test", "-").replace('.', "-"))
            })
            .collect();
        match name.len() < 50 {
            true => Said::Refer(records),
            false => Said::Lame(vec![]),
        }
    });
    let told = world.walk("a.test", A);
    assert!(told.starts_with("7 effort") || told.starts_with("7 unreachable"), "{told}");
    assert!(world.asked.len() < 300, "{}", world.asked.len());
}

/// What a random server says to a question of a random name: a choice of everything there is.
fn chance(seed: &[u8], server: &str, name: &str) -> Said {
    let mix = server
        .bytes()
        .chain(name.bytes())
        .fold(17_u64, |sum, byte| sum.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte));
    let pick = |salt: u64| {
        let place = (mix ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15)) % seed.len() as u64;
        u64::from(seed[place as usize])
    };
    let labels: Vec<_> = name.split('.').collect();
    let cut = labels[labels.len().saturating_sub(1 + pick(1) as usize % 3)..].join(".");
    let other = format!(
        "{}.{}",
        ["a", "b", "c", "ns"][pick(2) as usize % 4],
        ["x", "y", "x.y", "z"][pick(3) as usize % 4]
    );
    let glue = format!("{other} A 192.0.2.{}", 1 + pick(4) % 5);
    match pick(5) % 8 {
        0 => Said::Refer(vec![format!("{cut} NS {other}")]),
        1 | 2 => Said::Refer(vec![format!("{cut} NS {other}"), glue]),
        3 => Said::Answer(vec![format!("{name} CNAME {other}")]),
        4 => Said::Answer(vec![format!("{name} A 192.0.2.{}", 1 + pick(6) % 5)]),
        5 => Said::Deny((pick(7) % 2 * 3) as u8, "x", vec![]),
        6 => Said::Lame(vec![]),
        _ => Said::Nothing,
    }
}

proptest! {
    #[test]
    fn every_walk_comes_to_one_end_whatever_is_damaged(
        // Behind the number and the question.
        damage in prop::collection::vec((28..140_usize, any::<u8>()), 1..8),
        counts in prop::option::of([0..4_u8, 0..4_u8, 0..4_u8]),
    ) {
        let mut world = world(|server, _, _| match server {
            "192.0.2.2" => refer(&["a.test NS ns.a.test", "ns.a.test A 192.0.2.3", "a.test NS ns.test"]),
            _ => answer(&["www.a.test CNAME a.test", "a.test CNAME b.a.test", "b.a.test A 203.0.113.1"]),
        });
        world.damage = damage;
        world.damage.extend(counts.iter().flat_map(|counts| [7, 9, 11].into_iter().zip(*counts)));
        world.begin("www.a.test", A, 7);
        world.run();
        prop_assert_eq!(world.told.len(), 1, "{:?}", world.told);
    }

    #[test]
    fn every_walk_comes_to_one_end_whatever_servers_say(seed in prop::collection::vec(any::<u8>(), 8..64)) {
        let mut world = World::new(move |server, name, _| chance(&seed, server, name));
        let names = ["a.x", "b.x", "www.x.y", "a.z", "c.x.y", "ns.z", "x", "a.a.a.x"];
        (0..).zip(names).for_each(|(tag, name)| world.begin(name, A, tag));
        world.run();
        let mut ends = HashMap::new();
        for told in &world.told {
            *ends.entry(told.split(' ').next().expect("a tag").to_owned()).or_insert(0) += 1;
        }
        prop_assert!(ends.len() == names.len() && ends.values().all(|count| *count == 1), "{:?}", world.told);
        prop_assert_eq!(world.walker.room(), 100);
        prop_assert!(world.asked.len() < names.len() * 2 * 130);
    }
}
