//! Questions against a mirror of which every address is a server, and against worse ones.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use linerate_base::{Hop, Slots, Timestamp};
use linerate_dns::{Asker, Config, Counters, Event, Limits, Loss, Manner, Outcome, Question};
use linerate_tcp::mirror::{Answer, Behaviour, Ending, Mirror};
use proptest::prelude::*;

const TIMEOUT: Duration = Duration::from_secs(1);
/// Where a message begins in a frame of IPv4, and the UDP port of whom it is for.
const MESSAGE: usize = 14 + 20 + 8;
const SOURCE_PORT: usize = 14 + 20;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_parts(1_000, 0) + Duration::from_millis(millis)
}

fn config() -> Config {
    Config {
        mac: [2; 6],
        sources: vec!["10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()],
        ports: 61_000..=65_535,
        key: [3; 16],
        manner: Manner { recursion: true, udp_size: None },
        limits: Limits::default(),
        timeout: TIMEOUT,
        attempts: 3,
        window: 1_000,
        streams: false,
    }
}

fn asker() -> Asker {
    Asker::new(config())
}

fn servers(asker: &mut Asker, addresses: &[&str]) -> linerate_dns::Candidates {
    addresses.iter().map(|address| asker.server(address.parse().unwrap())).collect()
}

fn question(number: u64) -> Question {
    Question::new(&format!("n{number}.example"), 1).expect("a name")
}

/// All queries that may leave.
fn queries(asker: &mut Asker, now: Timestamp) -> Vec<Vec<u8>> {
    let mut slot = vec![0; asker.longest()];
    let frames = std::iter::from_fn(|| {
        let mut tell = |event: &Event<'_>| panic!("{event:?}");
        let length = asker.write(now, &mut slot, &mut |_| Ok(Hop::At([4; 6])), &mut tell);
        let length = length.expect("ways")?;
        Some(slot[..length].to_vec())
    });
    frames.collect()
}

/// All queries that may leave, where nobody is reached but by these ways, and the questions that end.
fn reached(asker: &mut Asker, ways: impl Fn(&str) -> Hop, now: Timestamp) -> (usize, Vec<u64>) {
    let (mut slot, mut sent, mut ended) = (vec![0; asker.longest()], 0, Vec::new());
    loop {
        let mut tell = |event: &Event<'_>| {
            assert!(matches!(event.outcome, Outcome::Lost(Loss::Unreachable)), "{event:?}");
            assert!(event.is_last && event.server.is_none() && event.sent.is_none());
            ended.push(event.tag);
        };
        let mut ways = |to: IpAddr| Ok(ways(&to.to_string()));
        match asker.write(now, &mut slot, &mut ways, &mut tell).expect("ways") {
            Some(_) => sent += 1,
            None => return (sent, ended),
        }
    }
}

#[test]
fn a_question_waits_for_the_way_and_goes_where_one_leads() {
    let mut asker = asker();
    let both = servers(&mut asker, &["10.0.0.2:53", "10.0.0.3:53"]);
    (0..4).for_each(|number| asker.ask(question(number), number, both.clone()));
    assert_eq!(reached(&mut asker, |_| Hop::Asked, at(0)), (0, vec![]));
    assert!(!asker.has_due(at(0)), "it is not looked for all the time");
    let later = at(10);
    let second = |to: &str| if to == "10.0.0.3" { Hop::At([4; 6]) } else { Hop::Nowhere };
    assert_eq!(reached(&mut asker, second, later), (4, vec![]));
    let lost = servers(&mut asker, &["10.0.0.2:53", "10.0.0.4:53"]);
    asker.ask(question(9), 9, lost);
    assert_eq!(reached(&mut asker, |_| Hop::Nowhere, later), (0, vec![9]));
    assert_eq!(asker.room(), 1_000 - 4);
}

fn answer(query: &[u8]) -> Vec<u8> {
    let mirror = Mirror::new(Behaviour {
        mac: [4; 6],
        ports: vec![],
        answer: Answer::Bytes(vec![]),
        ending: Ending::Fin,
        one_of: 1,
    });
    let (mut region, mut lengths) = (vec![0; 2_000 * mirror.most()], Vec::new());
    mirror.answer(query, &mut Slots::new(&mut region, 2_000, 0, &mut lengths));
    region.truncate(lengths[0] as usize);
    region
}

/// The same frame, without a checksum of UDP, changed.
fn changed(frame: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame[MESSAGE - 2..MESSAGE].fill(0);
    change(&mut frame);
    frame
}

/// What was told, in words: tag, attempt, server, what came, `!` for the last time.
fn hear(asker: &mut Asker, frame: &[u8], now: Timestamp) -> Vec<String> {
    let mut told = Vec::new();
    asker.hear(frame, now, &mut |event| told.push(words(event)));
    told
}

fn expire(asker: &mut Asker, now: Timestamp) -> Vec<String> {
    let mut told = Vec::new();
    asker.expire(now, &mut |event| told.push(words(event)));
    told
}

fn words(event: &Event<'_>) -> String {
    let came = match &event.outcome {
        Outcome::Reply(reply, _) => {
            let answers: Vec<_> = reply.answers().map(|record| record.to_string()).collect();
            format!("{} {}", reply.code(), answers.join(" "))
        }
        Outcome::Malformed(_) => "malformed".into(),
        Outcome::Silence => "silence".into(),
        Outcome::Lost(loss) => loss.name().into(),
    };
    let end = if event.is_last { "!" } else { "" };
    format!(
        "{} {} {} {}{end}",
        event.tag,
        event.attempt,
        event.server.expect("a server"),
        came.trim()
    )
}

#[test]
fn every_question_is_answered_once_by_either_family() {
    for server in ["192.0.2.53:53", "[2001:db8::53]:53"] {
        let mut asker = asker();
        let whom = servers(&mut asker, &[server]);
        for tag in 0..1_000 {
            asker.ask(question(tag), tag, whom.clone());
        }
        assert_eq!((asker.room(), asker.is_idle()), (0, false));
        let queries = queries(&mut asker, at(0));
        assert_eq!(queries.len(), 1_000);
        let mut told = HashSet::new();
        for query in &queries {
            told.extend(hear(&mut asker, &answer(query), at(5)));
        }
        let expected = (0..1_000).map(|tag| format!("{tag} 1 {server} NOERROR A 192.0.2.1!"));
        assert_eq!(told, expected.collect());
        assert!(asker.is_idle() && !asker.has_due(at(9_999)));
        assert_eq!(expire(&mut asker, at(9_999)), [""; 0]);
        // Nobody asked any more.
        assert_eq!(hear(&mut asker, &answer(&queries[0]), at(6)), [""; 0]);
        let counters =
            Counters { sent: 1_000, answers: 1_000, unexpected: 1, ..Counters::default() };
        assert_eq!(asker.counters(), counters);
    }
}

#[test]
fn numbers_and_ports_look_random_and_nobody_else_is_believed() {
    let mut asker = asker();
    let whom = servers(&mut asker, &["192.0.2.53:53"]);
    (0..200).for_each(|tag| asker.ask(question(tag), tag, whom.clone()));
    let queries = queries(&mut asker, at(0));
    let ids: HashSet<_> = queries.iter().map(|q| q[MESSAGE..MESSAGE + 2].to_vec()).collect();
    let ports: HashSet<_> =
        queries.iter().map(|q| q[SOURCE_PORT..SOURCE_PORT + 2].to_vec()).collect();
    assert!(ids.len() > 190 && ports.len() > 170, "{} {}", ids.len(), ports.len());
    let good = answer(&queries[0]);
    for forged in [
        changed(&good, |frame| frame[MESSAGE] ^= 1),
        changed(&good, |frame| frame[SOURCE_PORT + 3] ^= 1),
        changed(&good, |frame| frame[SOURCE_PORT + 1] ^= 1),
        // Another name; no response; no question; another class.
        changed(&good, |frame| frame[MESSAGE + 13] = b'x'),
        changed(&good, |frame| frame[MESSAGE + 2] &= 0x7f),
        changed(&good, |frame| frame[MESSAGE + 5] = 0),
        changed(&good, |frame| frame[MESSAGE + 12 + 12 + 3] = 3),
    ] {
        assert_eq!(hear(&mut asker, &forged, at(1)), [""; 0]);
    }
    let upper = changed(&good, |frame| frame[MESSAGE + 13].make_ascii_uppercase());
    assert_eq!(hear(&mut asker, &upper, at(1)).len(), 1, "case is no difference");
}

#[test]
fn who_is_silent_is_left_for_another_and_may_answer_late() {
    let mut asker = asker();
    let whom = servers(&mut asker, &["192.0.2.1:53", "192.0.2.2:53"]);
    asker.ask(question(7), 7, whom);
    let mut seen = Vec::new();
    for attempt in 0..3 {
        let now = at(1_000 * attempt);
        let [query] = &queries(&mut asker, now)[..] else { panic!("one query") };
        seen.push(query.clone());
        assert_eq!(expire(&mut asker, now + TIMEOUT / 2), [""; 0]);
        if attempt < 2 {
            assert_eq!(expire(&mut asker, now + TIMEOUT).len(), 1);
        }
    }
    let servers: Vec<_> = seen.iter().map(|query| query[30 + 3]).collect();
    assert!(servers == [1, 2, 1] || servers == [2, 1, 2], "{servers:?}");
    assert_ne!(seen[0][MESSAGE..MESSAGE + 2], seen[2][MESSAGE..MESSAGE + 2], "a new number");
    let late = hear(&mut asker, &answer(&seen[0]), at(2_100));
    assert_eq!(late, [format!("7 1 192.0.2.{}:53 NOERROR A 192.0.2.1!", servers[0])]);
    assert!(asker.is_idle());
    assert_eq!(expire(&mut asker, at(9_000)), [""; 0], "it was answered");
}

#[test]
fn in_the_end_silence_is_told() {
    let mut asker = asker();
    let whom = servers(&mut asker, &["192.0.2.1:53"]);
    asker.ask(question(7), 7, whom);
    let mut told = Vec::new();
    for second in 0..5 {
        queries(&mut asker, at(1_000 * second));
        told.extend(expire(&mut asker, at(1_000 * (second + 1))));
    }
    let silence = |attempt| format!("7 {attempt} 192.0.2.1:53 silence");
    assert_eq!(told, [silence(1), silence(2), silence(3) + "!"]);
    assert_eq!((asker.counters().sent, asker.counters().silent), (3, 3));
    assert!(asker.is_idle());
}

#[test]
fn who_refuses_and_who_makes_no_sense_is_left_for_another() {
    let mut asker = asker();
    let whom = servers(&mut asker, &["192.0.2.1:53", "192.0.2.2:53"]);
    asker.ask(question(7), 7, whom);
    let [query] = &queries(&mut asker, at(0))[..] else { panic!("one query") };
    let refusal = changed(&answer(query), |frame| frame[MESSAGE + 3] |= 5);
    let told = hear(&mut asker, &refusal, at(1));
    assert!(told[0].contains("REFUSED") && !told[0].ends_with('!'), "{told:?}");
    let [query] = &queries(&mut asker, at(2))[..] else { panic!("one query") };
    // The record's name points to itself: RFC 1035 4.1.4 wants a prior name.
    let end = MESSAGE + 12 + 12 + 4;
    let looping = changed(&answer(query), |frame| frame[end + 1] = (end - MESSAGE) as u8);
    let told = hear(&mut asker, &looping, at(3));
    assert!(told[0].ends_with("malformed"), "{told:?}");
    let [query] = &queries(&mut asker, at(4))[..] else { panic!("one query") };
    let none = changed(&answer(query), |frame| frame[MESSAGE + 3] |= 3);
    let told = hear(&mut asker, &none, at(5));
    assert!(told[0].contains("NXDOMAIN") && told[0].ends_with('!'), "{told:?}");
}

#[test]
fn equal_questions_are_told_apart() {
    let mut asker = asker();
    let whom = servers(&mut asker, &["192.0.2.1:53"]);
    (1..4).for_each(|tag| asker.ask(question(7), tag, whom.clone()));
    assert_eq!(asker.room(), 997);
    let queries = queries(&mut asker, at(0));
    for (query, tag) in queries.iter().zip(1..4) {
        let told = hear(&mut asker, &answer(query), at(1));
        assert!(told[0].starts_with(&format!("{tag} 1 ")), "{told:?}");
    }
    assert_eq!((asker.room(), asker.is_idle()), (1_000, true));
}

#[test]
fn an_answer_to_an_earlier_question_is_none_to_the_same_one_asked_later() {
    let mut asker = asker();
    let whom = servers(&mut asker, &["192.0.2.1:53"]);
    for tag in 0..100 {
        asker.ask(question(7), tag, whom.clone());
        let [query] = &queries(&mut asker, at(0))[..] else { panic!("one query") };
        assert_eq!(hear(&mut asker, &answer(query), at(1)).len(), 1);
        asker.ask(question(7), tag, whom.clone());
        let [later] = &queries(&mut asker, at(2))[..] else { panic!("one query") };
        let ends = |query: &[u8]| query[SOURCE_PORT..MESSAGE + 2].to_vec();
        assert_eq!(
            hear(&mut asker, &answer(query), at(3)).len(),
            usize::from(ends(later) == ends(query))
        );
        hear(&mut asker, &answer(later), at(4));
    }
    assert!(asker.is_idle() && asker.counters().unexpected > 90, "{:?}", asker.counters());
}

#[test]
fn a_refusal_may_leave_the_question_out_and_an_answer_may_not() {
    for (code, is_taken) in [(1, true), (4, true), (0, false), (3, false)] {
        let mut asker = Asker::new(Config { attempts: 1, ..config() });
        let whom = servers(&mut asker, &["192.0.2.1:53"]);
        asker.ask(question(7), 7, whom);
        let [query] = &queries(&mut asker, at(0))[..] else { panic!("one query") };
        let bare = changed(&answer(query), |frame| {
            frame[MESSAGE + 3] |= code;
            frame[MESSAGE + 4..MESSAGE + 12].fill(0);
        });
        let told = hear(&mut asker, &bare, at(1));
        assert_eq!(told.len(), usize::from(is_taken), "{told:?}");
        assert_eq!(asker.counters().unexpected, u64::from(!is_taken));
    }
}

#[test]
fn limits_hold_queries_back() {
    let limits = Limits { server: Duration::from_millis(100), network: Duration::ZERO };
    let mut asker = Asker::new(Config { limits, ..config() });
    let whom = servers(&mut asker, &["192.0.2.1:53"]);
    (0..20).for_each(|tag| asker.ask(question(tag), tag, whom.clone()));
    let counts: Vec<_> = (0..10).map(|step| queries(&mut asker, at(100 * step)).len()).collect();
    assert_eq!(counts, [1; 10]);
}

#[test]
fn edns_tells_the_size() {
    let manner = Manner { recursion: false, udp_size: Some(1_232) };
    let mut asker = Asker::new(Config { manner, ..config() });
    let whom = servers(&mut asker, &["192.0.2.1:53"]);
    asker.ask(question(7), 7, whom);
    let query = queries(&mut asker, at(0)).remove(0);
    assert_eq!(query[MESSAGE + 2..MESSAGE + 12], [0, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
    assert!(query.ends_with(&[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]));
}

proptest! {
    #[test]
    fn nothing_panics_and_no_other_question_is_answered(
        damage in prop::collection::vec((0..80_usize, any::<u8>()), 0..6), cut in 0..80_usize,
    ) {
        let mut asker = asker();
        let whom = servers(&mut asker, &["192.0.2.1:53"]);
        asker.ask(question(7), 7, whom);
        let query = queries(&mut asker, at(0)).remove(0);
        let good = answer(&query);
        let mut frame = changed(&good, |frame| {
            for (place, byte) in damage {
                if let Some(hit) = frame.get_mut(MESSAGE + place) {
                    *hit = byte;
                }
            }
        });
        frame.truncate(frame.len() - cut.min(frame.len() - MESSAGE));
        let mut told = Vec::new();
        asker.hear(&frame, at(1), &mut |event| {
            told.push((words(event), event.server.expect("a server")));
        });
        if let Some((_, server)) = told.first() {
            prop_assert_eq!(frame[MESSAGE..MESSAGE + 2].to_vec(), query[MESSAGE..MESSAGE + 2].to_vec());
            prop_assert_eq!(*server, "192.0.2.1:53".parse::<SocketAddr>().unwrap());
        }
    }
}
