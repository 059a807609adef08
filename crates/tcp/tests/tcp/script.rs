//! The client segment by segment: what the RFCs say of each case.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use etherparse::IpNumber;
use linerate_base::{Batch, Descriptor, Interface, LinkType, Slots, Timestamp};
use linerate_tcp::frame::{ETHERNET, Packet, Path};
use linerate_tcp::quote::Trouble;
use linerate_tcp::segment::{Control, Header, Options, Segment, Timestamps};
use linerate_tcp::{Application, Client, Config, End, Flow, Local, Next, Refusal, Seq};

const OURS: &str = "10.0.0.1";
const THEIRS: &str = "10.0.0.2";
pub(crate) const PORT: u16 = 40_000;
const ACK: Control = Control::ACK;
const SYN_ACK: Control = Control(0x12);
const RST_ACK: Control = Control(0x14);
/// The peer's first number.
pub(crate) const PEER: Seq = Seq(u32::MAX - 2);
const SLOT: usize = 1_514;

/// What the application was told, and what it wants.
#[derive(Default)]
pub(crate) struct User {
    request: u32,
    pub(crate) then: Option<Next>,
    awaits: bool,
    pub(crate) opened: usize,
    pub(crate) received: Vec<u8>,
    pub(crate) ended: Vec<End>,
    refused: Vec<Refusal>,
}

impl Application for User {
    fn opened(&mut self, _: u32, _: &Flow, _: Option<Duration>) -> Next {
        self.opened += 1;
        if self.request > 0 { Next::Send(self.request) } else { Next::Wait }
    }

    fn write(&mut self, _: u32, _: &Flow, offset: u32, into: &mut [u8]) {
        (offset..).zip(into).for_each(|(index, byte)| *byte = index as u8);
    }

    fn received(&mut self, _: u32, data: &[u8]) -> Next {
        self.received.extend(data);
        self.then.unwrap_or(Next::Wait)
    }

    fn ended(&mut self, _: u32, _: &Flow, end: End) {
        self.ended.push(end);
    }

    fn awaits(&self, _: &Flow) -> bool {
        self.awaits
    }

    fn refused(&mut self, _: &Flow, refusal: Refusal) {
        self.refused.push(refusal);
    }
}

pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) user: User,
    now: Timestamp,
    pub(crate) isn: Seq,
    next_hop: Option<[u8; 6]>,
}

/// A segment of ours.
#[derive(Debug)]
pub(crate) struct Sent {
    header: Header,
    data: Vec<u8>,
}

impl World {
    fn new(change: impl FnOnce(&mut Config), user: User) -> Self {
        let local = Local { address: OURS.parse().unwrap(), ports: PORT..=PORT + 9, mac: [2; 6] };
        let mut config = Config::new(vec![local], [1; 16]);
        change(&mut config);
        let now = Timestamp::from_parts(1_000, 0);
        let client = Client::new(config, now).unwrap();
        let mut world = Self { client, user, now, isn: Seq(0), next_hop: Some([4; 6]) };
        world.isn = world.syn(PORT).header.seq;
        world
    }

    fn syn(&self, port: u16) -> Sent {
        let mut slot = [0; SLOT];
        let remote = SocketAddr::new(THEIRS.parse().unwrap(), 80);
        let length = self.client.syn(&mut slot, 0, port, remote, [4; 6], self.now);
        sent(&slot[..length])
    }

    /// One with an open connection, whose peer has these options.
    pub(crate) fn open(request: u32, options: Options) -> Self {
        let mut world = Self::new(|_| {}, User { request, ..User::default() });
        world.segment(SYN_ACK, PEER, 0, &[], options);
        assert_eq!(world.user.opened, 1);
        world
    }

    fn header(&self, control: Control, seq: Seq, acked: u32, options: Options) -> Header {
        Header { seq, ack: self.isn + 1 + acked, control, window: 1_000, options }
    }

    /// The peer sends a segment that acknowledges so many bytes.
    fn segment(&mut self, control: Control, seq: Seq, acked: u32, data: &[u8], options: Options) {
        let header = self.header(control, seq, acked, options);
        self.frame(&frame(&header, PORT, data));
    }

    fn data(&mut self, start: u32, data: &[u8]) {
        self.segment(ACK, PEER + 1 + start, 0, data, Options::default());
    }

    pub(crate) fn frame(&mut self, frame: &[u8]) {
        let length = frame.len() as u32;
        let descriptor = Descriptor { captured: length, length, ..Descriptor::default() };
        let interfaces = [Interface { link_type: LinkType::ETHERNET, ..Interface::default() }];
        let descriptors = [descriptor];
        let batch = Batch::new(frame, &descriptors, &interfaces);
        self.client.receive(&batch, self.now, &mut self.user);
    }

    pub(crate) fn pass(&mut self, span: Duration) {
        self.now = self.now + span;
        self.client.advance(self.now, &mut self.user);
    }

    pub(crate) fn sent(&mut self) -> Vec<Sent> {
        let (mut region, mut lengths) = (vec![0; 64 * SLOT], vec![]);
        let mut slots = Slots::new(&mut region, SLOT, 0, &mut lengths);
        self.client.fill(&mut slots, &|_| self.next_hop, &mut self.user);
        let slots = region.chunks(SLOT).zip(lengths);
        slots.map(|(slot, length)| sent(&slot[..length as usize])).collect()
    }

    fn sent_one(&mut self) -> Sent {
        let mut all = self.sent();
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }
}

fn sent(frame: &[u8]) -> Sent {
    let packet = Packet::parse(frame).expect("an IP packet");
    let segment = Segment::parse(&packet, false).expect("sound");
    assert_eq!((&frame[..6], &frame[6..12]), (&[4; 6][..], &[2; 6][..]));
    Sent { header: segment.header, data: segment.payload.to_vec() }
}

fn path() -> Path {
    let [source, destination] = [THEIRS, OURS].map(|name| name.parse::<IpAddr>().unwrap());
    Path { mac: [4; 6], next_hop: [2; 6], source, destination }
}

pub(crate) fn frame(header: &Header, port: u16, data: &[u8]) -> Vec<u8> {
    let mut slot = vec![0; 200 + data.len()];
    let length = header.write(&mut slot, &path(), (80, port), |payload| {
        payload[..data.len()].copy_from_slice(data);
        data.len()
    });
    slot.truncate(length);
    slot
}

pub(crate) fn none() -> Options {
    Options::default()
}

pub(crate) fn all() -> Options {
    let timestamps = Some(Timestamps { value: 500, echo: 0 });
    Options { mss: Some(500), window_scale: Some(4), sack_permitted: true, timestamps, ..none() }
}

fn stamped(value: u32) -> Options {
    Options { timestamps: Some(Timestamps { value, echo: 0 }), ..none() }
}

fn blocks(sent: &Sent) -> Vec<(u32, u32)> {
    let from_first = |seq: Seq| seq.since(PEER + 1);
    sent.header.options.blocks().iter().map(|b| (from_first(b.0), from_first(b.1))).collect()
}

#[test]
fn the_third_segment_acknowledges_and_asks() {
    let mut world = World::open(20, none());
    let third = world.sent_one();
    assert_eq!((third.header.seq, third.header.ack), (world.isn + 1, PEER + 1));
    assert_eq!(third.header.control, ACK.and(Control::PSH));
    assert_eq!(third.data, (0..20).collect::<Vec<u8>>());
}

#[test]
fn an_answer_to_what_was_not_asked_opens_nothing_and_gets_rst() {
    let mut world = World::new(|_| {}, User::default());
    world.segment(SYN_ACK, PEER, 1, &[], none());
    let rst = world.sent_one().header;
    assert_eq!((rst.control, rst.seq), (Control::RST, world.isn + 2), "RFC 9293 3.10.7.3");
    world.segment(Control::SYN, PEER, 0, &[], none());
    let rst = world.sent_one().header;
    assert_eq!((rst.control, rst.ack), (RST_ACK, PEER + 1), "RFC 9293 3.10.7.1");
    world.segment(RST_ACK, PEER, 5, &[], none());
    assert_eq!((world.user.opened, world.user.refused.len()), (0, 0));
    assert!(world.client.is_idle());
    world.segment(RST_ACK, Seq(0), 0, &[], none());
    assert_eq!(world.user.refused, [Refusal::Reset]);
}

#[test]
fn two_who_open_towards_each_other_meet() {
    let mut world = World::new(|_| {}, User { awaits: true, request: 5, ..User::default() });
    world.segment(Control::SYN, PEER, 0, &[], none());
    assert!(world.sent().is_empty() && world.client.is_idle(), "RFC 9293 3.5");
    // Ours has come there meanwhile, and its answer has the number of the peer's own SYN.
    world.segment(SYN_ACK, PEER, 0, &[], none());
    let third = world.sent_one();
    assert_eq!((third.header.ack, third.data.len()), (PEER + 1, 5));
    // The peer's SYN again, sent before it had ours.
    world.segment(Control::SYN, PEER, 0, &[], none());
    assert_eq!((world.sent_one().header.ack, world.user.opened), (PEER + 1, 1));
}

#[test]
fn a_window_that_shrinks_below_what_is_under_way_is_heeded_from_then_on() {
    let mut world = World::open(1_500, Options { mss: Some(500), ..none() });
    assert_eq!(world.sent().len(), 2, "of a window of 1,000");
    let header = Header { window: 200, ..world.header(ACK, PEER + 1, 500, none()) };
    world.frame(&frame(&header, PORT, &[]));
    assert!(world.sent().is_empty(), "RFC 9293 3.8.6: 500 are under way");
    world.pass(Duration::from_secs(2));
    let again = world.sent_one();
    assert_eq!((again.header.seq, again.data.len()), (world.isn + 501, 200));
    world.segment(ACK, PEER + 1, 1_000, &[], none());
    let rest = world.sent_one();
    assert_eq!((rest.header.seq, rest.data.len()), (world.isn + 1_001, 500));
}

#[test]
fn an_answer_that_comes_again_is_acknowledged_again() {
    let mut world = World::open(0, none());
    world.sent_one();
    world.segment(SYN_ACK, PEER, 0, &[], none());
    let again = world.sent_one().header;
    assert_eq!((again.control, again.ack, world.user.opened), (ACK, PEER + 1, 1));
}

#[test]
fn only_the_exact_number_resets() {
    let mut world = World::open(0, none());
    world.sent();
    world.segment(Control::RST, PEER + 200, 0, &[], none());
    let challenge = world.sent_one().header;
    assert_eq!((challenge.control, challenge.ack), (ACK, PEER + 1), "RFC 5961 3.2");
    world.segment(Control::RST, PEER, 0, &[], none());
    assert_eq!((world.sent().len(), world.user.ended.len()), (0, 0), "outside the window");
    world.segment(Control::RST, PEER + 1, 0, &[], none());
    assert_eq!(world.user.ended, [End::Reset]);
}

#[test]
fn challenges_are_limited() {
    let mut world = World::new(|config| config.answers = 3, User::default());
    world.segment(SYN_ACK, PEER, 0, &[], none());
    world.sent();
    let mut challenges = 0;
    for _ in 0..10 {
        world.segment(Control::SYN, PEER + 1, 0, &[], none());
        challenges += world.sent().len();
    }
    assert_eq!((challenges, world.client.counters().unanswered), (3, 7), "RFC 5961 7");
    world.pass(Duration::from_secs(1));
    world.segment(ACK, PEER + 1, 7, &[], none());
    assert_eq!(world.sent_one().header.control, ACK, "RFC 5961 5.2: of what was never sent");
}

#[test]
fn an_abort_has_exactly_the_next_number() {
    let mut world = World::open(20, none());
    world.sent();
    world.user.then = Some(Next::Abort);
    world.data(0, b"enough");
    let rst = world.sent_one().header;
    assert_eq!((rst.control, rst.seq), (RST_ACK, world.isn + 21));
    assert_eq!(world.user.ended, [End::Aborted]);
    world.segment(ACK, PEER + 7, 20, b"more", none());
    let late = world.sent_one().header;
    assert_eq!((late.control, late.seq), (Control::RST, world.isn + 21));
    world.segment(SYN_ACK, PEER, 0, &[], none());
    assert_eq!((world.sent_one().header.control, world.user.opened), (Control::RST, 1));
    assert_eq!(world.user.received, b"enough");
    world.pass(Duration::from_secs(3));
    assert!(world.client.is_idle());
}

#[test]
fn both_finish() {
    let mut world = World::open(20, none());
    world.sent();
    world.segment(ACK.and(Control::FIN), PEER + 1, 20, b"bye", none());
    let fin = world.sent_one().header;
    assert_eq!((fin.control, fin.seq), (ACK.and(Control::FIN), world.isn + 21));
    assert_eq!(fin.ack, PEER + 5, "data and FIN");
    world.segment(ACK, PEER + 5, 21, &[], none());
    assert_eq!(world.sent().len(), 0);
    assert_eq!(world.user.ended, [End::Closed]);
    world.segment(ACK.and(Control::FIN), PEER + 1, 20, b"bye", none());
    assert_eq!(world.sent_one().header.control, ACK, "RFC 9293 3.10.7.4, TIME-WAIT");
    assert_eq!(world.user.received, b"bye");
}

#[test]
fn old_timestamps_mark_old_duplicates() {
    let mut world = World::open(0, all());
    world.sent();
    world.segment(ACK, PEER + 1, 0, b"new", stamped(600));
    world.segment(ACK, PEER + 4, 0, b"old", stamped(599));
    assert_eq!(world.user.received, b"new", "RFC 7323 5.3 R1");
    let ack = world.sent().pop().unwrap().header;
    let stamps = ack.options.timestamps.unwrap();
    assert_eq!((ack.ack, stamps.echo), (PEER + 4, 600));
    world.segment(ACK, PEER + 4, 0, b"bare", none());
    assert_eq!((world.user.received.len(), world.sent().len()), (3, 0), "RFC 7323 3.2");
}

#[test]
fn what_came_out_of_order_is_told_and_what_came_again_too() {
    let mut world = World::open(0, all());
    world.sent();
    let mut piece = |start: u32, length: usize, stamp: u32| {
        world.segment(ACK, PEER + 1 + start, 0, &vec![start as u8; length], stamped(stamp));
        let ack = world.sent().pop().unwrap();
        (ack.header.ack.since(PEER + 1), blocks(&ack))
    };
    assert_eq!(piece(10, 10, 600), (0, vec![(10, 20)]));
    assert_eq!(piece(30, 10, 600), (0, vec![(30, 40), (10, 20)]), "RFC 2018 4: the newest first");
    assert_eq!(piece(30, 10, 600), (0, vec![(30, 40), (30, 40), (10, 20)]), "RFC 2883 4");
    assert_eq!(piece(0, 10, 600), (20, vec![(30, 40)]));
    assert_eq!(piece(0, 5, 600), (20, vec![(0, 5), (30, 40)]), "RFC 2883 4.1");
    assert_eq!(piece(20, 10, 600), (40, vec![]));
    let expected: Vec<u8> = [0, 10, 20, 30].iter().flat_map(|n| [*n; 10]).collect();
    assert_eq!(world.user.received, expected);
}

#[test]
fn segments_are_cut_to_the_window_and_to_what_is_new() {
    let mut world = World::new(|config| config.window = 10, User::default());
    world.segment(SYN_ACK, PEER, 0, &[], none());
    world.data(0, b"01234");
    world.data(3, b"3456789abcdefgh");
    assert_eq!(world.user.received, b"0123456789abcde", "ten bytes behind the fifth");
    assert_eq!(world.sent().pop().unwrap().header.ack, PEER + 16);
    world.data(40, b"beyond");
    assert_eq!(world.sent_one().header.ack, PEER + 16);
}

#[test]
fn a_closed_window_is_tried_and_an_open_one_used() {
    let mut world = World::new(|_| {}, User { request: 20, ..User::default() });
    let mut closed = world.header(SYN_ACK, PEER, 0, none());
    closed.window = 0;
    world.frame(&frame(&closed, PORT, &[]));
    assert_eq!(world.sent_one().data, [], "no room for data");
    for wait in [1_000, 2_000, 4_000] {
        assert_eq!(world.sent().len(), 0);
        world.pass(Duration::from_millis(wait));
        assert_eq!(world.sent_one().data, [0], "RFC 9293 3.8.6.1");
    }
    let open = Header { control: ACK, seq: PEER + 1, window: 100, ..closed };
    world.frame(&frame(&open, PORT, &[]));
    assert_eq!(world.sent_one().data, [0], "once more what was not taken");
    world.segment(ACK, PEER + 1, 1, &[], none());
    assert_eq!(world.sent_one().data, (1..20).collect::<Vec<u8>>());
}

#[test]
fn what_is_not_acknowledged_is_sent_again_later_and_later() {
    let mut world = World::open(20, none());
    world.sent();
    for wait in [1_000, 2_000, 4_000, 8_000] {
        world.pass(Duration::from_millis(wait - 1));
        assert_eq!(world.sent().len(), 0, "RFC 6298 5.5");
        world.pass(Duration::from_millis(1));
        assert_eq!(world.sent_one().data.len(), 20);
    }
    world.pass(Duration::from_secs(15));
    assert_eq!(world.user.ended, [End::Expired]);
    assert_eq!(world.sent_one().header.seq, world.isn + 21, "RST at the next number");
    world.pass(Duration::from_secs(3));
    assert!(world.client.is_idle());
}

#[test]
fn segments_are_no_longer_than_the_peer_and_the_way_allow() {
    let mut world = World::open(1_500, all());
    let lengths = |all: Vec<Sent>| all.iter().map(|sent| sent.data.len()).collect::<Vec<_>>();
    assert_eq!(lengths(world.sent()), [488, 488], "two fill the window of 1,000, RFC 6691 2");
    let quoted = world.header(ACK, PEER, 0, none());
    let mut quote = |seq: Seq, code: [u8; 2], mtu: u16| {
        let ours = Path { source: path().destination, destination: path().source, ..path() };
        let (mut original, mut slot) = ([0; 100], [0; 200]);
        let header = Header { seq, ..quoted };
        header.write(&mut original, &ours, (PORT, 80), |_| 0);
        let length = path().write(&mut slot, IpNumber::ICMP, 2, |icmp| {
            icmp[..2].copy_from_slice(&code);
            icmp[6..8].copy_from_slice(&mtu.to_be_bytes());
            icmp[8..36].copy_from_slice(&original[ETHERNET..ETHERNET + 28]);
            36
        });
        world.frame(&slot[..length]);
        lengths(world.sent())
    };
    let isn = quoted.ack;
    assert_eq!(quote(isn + 5_000, [3, 4], 300), [], "RFC 5927 4.1: not under way");
    assert_eq!(quote(isn, [3, 1], 0), [], "RFC 5927 5.2: an open connection stays");
    assert_eq!(quote(isn, [3, 4], 300), [248]);
}

#[test]
fn routers_refuse_only_what_they_quote() {
    let mut world = World::new(|_| {}, User::default());
    let mut quote = |seq: Seq| {
        let ours = Path { source: path().destination, destination: path().source, ..path() };
        let (mut original, mut slot) = ([0; 100], [0; 200]);
        let header = Header { seq, control: Control::SYN, ..Header::default() };
        header.write(&mut original, &ours, (PORT, 80), |_| 0);
        let length = path().write(&mut slot, IpNumber::ICMP, 2, |icmp| {
            icmp[..2].copy_from_slice(&[3, 1]);
            icmp[8..36].copy_from_slice(&original[ETHERNET..ETHERNET + 28]);
            36
        });
        world.frame(&slot[..length]);
        world.user.refused.len()
    };
    let isn = World::new(|_| {}, User::default()).isn;
    assert_eq!((quote(isn + 1), quote(isn)), (0, 1));
    assert_eq!(world.user.refused, [Refusal::Icmp(Trouble::Unreachable(1))]);
}

#[test]
fn what_is_sent_while_no_next_hop_is_known_is_lost_and_sent_again() {
    let mut world = World::new(|_| {}, User { request: 5, ..User::default() });
    world.segment(SYN_ACK, PEER, 0, &[], none());
    world.next_hop = None;
    assert_eq!(world.sent().len(), 0);
    world.next_hop = Some([4; 6]);
    assert_eq!(world.sent().len(), 0, "it is as if it were under way");
    world.pass(Duration::from_secs(1));
    assert_eq!(world.sent_one().data.len(), 5);
}

#[test]
fn as_many_as_may_be_and_no_more() {
    let mut world = World::new(|config| config.connections = 1, User::default());
    world.segment(SYN_ACK, PEER, 0, &[], none());
    world.sent();
    let syn = world.syn(PORT + 1);
    let header = Header { ack: syn.header.seq + 1, ..world.header(SYN_ACK, PEER, 0, none()) };
    world.frame(&frame(&header, PORT + 1, &[]));
    assert_eq!(world.user.refused, [Refusal::Full]);
    assert_eq!(world.sent_one().header.control, Control::RST);
    let header = Header { ack: syn.header.seq + 1, ..header };
    world.frame(&frame(&header, PORT + 10, &[]));
    assert_eq!(world.sent().len(), 0, "a port that is the host's");
}

#[test]
fn oversized_and_unfinished_segments_are_taken_where_wires_are_virtual() {
    for partial in [true, false] {
        let change = |config: &mut Config| config.partial_checksums = partial;
        let mut world = World::new(change, User::default());
        world.segment(SYN_ACK, PEER, 0, &[], none());
        let data = vec![7; 60_000];
        world.data(0, &data);
        assert_eq!(world.user.received.len(), 60_000);
        let mut frame = frame(&world.header(ACK, PEER + 60_001, 0, none()), PORT, b"x");
        // Only the pseudo-header is summed up: 10.0.0.2, 10.0.0.1, protocol 6, 21 bytes.
        let sum: u32 = 0x0a00 + 2 + 0x0a00 + 1 + 6 + 21;
        frame[50..52].copy_from_slice(&(sum as u16).to_be_bytes());
        world.frame(&frame);
        assert_eq!(world.user.received.len(), 60_000 + usize::from(partial));
        assert_eq!(world.client.counters().damaged, u64::from(!partial));
    }
}

#[test]
fn early_data_beyond_the_memory_are_asked_for_again() {
    let mut world = World::new(|config| config.disorder = 2_000, User::default());
    world.segment(SYN_ACK, PEER, 0, &[], Options { sack_permitted: true, ..none() });
    world.data(10, &[1; 1_000]);
    world.data(2_000, &[2; 1_000]);
    assert_eq!(blocks(&world.sent().pop().unwrap()), [(10, 1_010)]);
    assert_eq!(world.client.counters().discarded, 1);
    world.data(0, &[0; 10]);
    assert_eq!(world.user.received.len(), 1_010);
}
