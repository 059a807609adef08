//! Any bytes as the answer to a query: no panic, and no event of a question that was not asked.
//!
//! The query's number and question are put before them, or the number alone, so that all else is looked at.

#![no_main]

use std::sync::Arc;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use linerate_base::{Hop, Timestamp};
use linerate_dns::{Asker, Config, Event, Limits, Manner, Outcome, Question};

/// Where a message begins in a frame of IPv4, and where its question ends.
const MESSAGE: usize = 14 + 20 + 8;
const QUESTION: usize = MESSAGE + 12 + 13 + 4;

fuzz_target!(|bytes: &[u8]| {
    let Some((&[kind, flags], bytes)) = bytes.split_first_chunk() else { return };
    let mut asker = Asker::new(Config {
        mac: [2; 6],
        sources: vec![[10, 0, 0, 1].into()],
        ports: 61_000..=65_535,
        key: [3; 16],
        manner: Manner { recursion: true, udp_size: None },
        limits: Limits::default(),
        timeout: Duration::from_secs(1),
        attempts: 2,
        window: 10,
        streams: flags & 1 != 0,
    });
    let server = asker.server(([192, 0, 2, 53], 53).into());
    asker.ask(Question::new("example.com", 1).expect("a name"), 7, Arc::new([server]));
    let mut query = vec![0; asker.longest()];
    let (now, mut early) = (Timestamp::EPOCH, |event: &Event<'_>| panic!("{event:?}"));
    let written = asker.write(now, &mut query, &mut |_| Ok(Hop::At([4; 6])), &mut early);
    let length = written.expect("a way").expect("it may leave");
    query.truncate(length);
    let known = if kind & 1 == 0 { QUESTION } else { MESSAGE + 2 };
    let frame = answer(&query[..known], bytes);
    let mut tell = |event: &Event<'_>| {
        assert_eq!(event.tag, 7);
        if let Outcome::Reply(reply, _) = &event.outcome {
            reply.code().to_string();
            reply.answers().for_each(|record| drop((record.to_string(), record.owner().to_string())));
        }
    };
    asker.hear(&frame, Timestamp::EPOCH, &mut tell);
    if let Some(stream) = asker.next_stream(Timestamp::EPOCH) {
        asker.streamed(stream.ticket, Some(&frame[MESSAGE..]), Timestamp::EPOCH, &mut tell);
    }
    asker.expire(Timestamp::EPOCH + Duration::from_secs(1), &mut tell);
});

/// A frame back, with these bytes behind what is known of it.
fn answer(known: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut frame = [known, &bytes[..bytes.len().min(1_400)]].concat();
    let (addresses, ports) = ([26..30, 30..34], [34..36, 36..38]);
    for [one, other] in [addresses, ports] {
        let was = frame[one.clone()].to_vec();
        frame.copy_within(other.clone(), one.start);
        frame[other].copy_from_slice(&was);
    }
    if let Some(flags) = frame.get_mut(MESSAGE + 2) {
        *flags |= 0x80;
    }
    let length = (frame.len() - 34) as u16;
    frame[38..40].copy_from_slice(&length.to_be_bytes());
    // RFC 768: there is no checksum.
    frame[40..42].fill(0);
    frame[16..18].copy_from_slice(&(length + 20).to_be_bytes());
    frame[24..26].fill(0);
    let words = frame[14..34].chunks_exact(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    frame[24..26].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    frame
}
