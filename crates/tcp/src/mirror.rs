//! A stateless responder for whole prefixes: every address answers, and nothing is kept of any.
//!
//! To a SYN it answers with SYN-ACK, to data with an acknowledgement, what it has to say and an end; to datagrams of DNS with an
//! address; to echo requests with their echo. What it sends depends on the frame before it alone, so it never sends again by
//! itself: on a wire that loses frames, a client sees what a server that vanishes looks like.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use etherparse::IpNumber;
use linerate_base::Slots;

use crate::frame::{Packet, Path};
use crate::segment::{Control, Header, Options, Segment, Timestamps};
use crate::{Flow, Key};

/// How a server ends a connection once it has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By FIN.
    Fin,
    /// By RST.
    Reset,
    /// Not at all: the client has to.
    None,
}

/// What a server says.
#[derive(Clone, Debug)]
pub enum Answer {
    /// These bytes, whoever it is.
    Bytes(Vec<u8>),
    /// What a peer of Gnutella says that has no room, and names others.
    Peers(Peers),
}

/// A network of peers, at all addresses of some ranges. Each names the one behind it, so that all are found from any one, and
/// others that look random, so that they are found soon.
#[derive(Clone, Debug)]
pub struct Peers {
    /// First addresses, and how many there are.
    pub ranges: Vec<(Ipv4Addr, u32)>,
    /// How many others each names.
    pub named: u32,
}

/// How the addresses behave.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// The hardware address that frames are from.
    pub mac: [u8; 6],
    /// TCP ports that answer; the others refuse. None: all answer.
    pub ports: Vec<u16>,
    /// What is sent to who sends something.
    pub answer: Answer,
    /// What follows the answer.
    pub ending: Ending,
    /// Of so many addresses one answers, and the others are silent; 1: all answer. Which they are is the same in every run.
    pub one_of: u32,
}

/// The responder.
#[derive(Clone, Debug)]
pub struct Mirror {
    behaviour: Behaviour,
    key: Key,
}

/// The window, unscaled.
const WINDOW: u16 = u16::MAX;
/// Bytes of data in a segment: with timestamps and over IPv6 it is as long as an Ethernet frame may be.
const MSS: usize = 1_428;
/// The longest datagram or echo request that is answered, in bytes.
const MOST_ECHOED: usize = 1_400;
/// What is asked of IPv4: 20 bytes of each header, of 1500. Fits IPv6, too.
const RECEIVE_MSS: u16 = 1_440;

impl Mirror {
    /// A responder that behaves like this.
    pub fn new(behaviour: Behaviour) -> Self {
        Self { behaviour, key: Key::new(*b"linerate mirror!") }
    }

    /// True when this address answers.
    pub fn answers(&self, address: IpAddr) -> bool {
        let end = SocketAddr::new(address, 0);
        let mac = self.key.mac(&Flow { local: end, remote: end });
        mac.hidden().is_multiple_of(self.behaviour.one_of.max(1))
    }

    /// The most frames that one frame is answered with.
    pub fn most(&self) -> usize {
        2 + self.behaviour.answer.longest().div_ceil(MSS)
    }

    /// Fills `slots`, which must have room for [`most`](Self::most) frames of 1,514 bytes, with what answers `frame`.
    pub fn answer(&self, frame: &[u8], slots: &mut Slots<'_>) {
        let Some(packet) = Packet::parse(frame) else { return };
        if !self.answers(packet.destination) {
            return;
        }
        let path = Path::back(&packet, self.behaviour.mac);
        match packet.protocol {
            IpNumber::TCP => {
                if let Ok(segment) = Segment::parse(&packet, true) {
                    self.answer_segment(&segment, &path, slots);
                }
            }
            _ if packet.payload.len() > MOST_ECHOED => {}
            IpNumber::UDP => answer_datagram(packet.payload, &path, slots),
            IpNumber::ICMP => answer_echo(&packet, [8, 0], [0, 0], &path, slots),
            IpNumber::IPV6_ICMP => answer_echo(&packet, [128, 0], [129, 0], &path, slots),
            _ => {}
        }
    }

    fn answer_segment(&self, segment: &Segment<'_>, path: &Path, slots: &mut Slots<'_>) {
        let ports = &self.behaviour.ports;
        let is_open = ports.is_empty() || ports.contains(&segment.flow.local.port());
        let (is_syn, is_ack) = (segment.has(Control::SYN), segment.has(Control::ACK));
        let ack = segment.header.seq + segment.length();
        match () {
            () if segment.has(Control::RST) => {}
            () if is_syn && !is_ack && is_open => self.accept(segment, path, slots),
            () if is_ack && is_open && segment.length() == 0 => {}
            () if is_ack && is_open && !is_syn => self.serve(segment, path, slots),
            // RFC 9293 3.10.7.1.
            () if is_ack => {
                let header =
                    Header { seq: segment.header.ack, control: Control::RST, ..Header::default() };
                put(slots, path, segment, &header, &[]);
            }
            () => {
                let control = Control::RST.and(Control::ACK);
                put(slots, path, segment, &Header { ack, control, ..Header::default() }, &[]);
            }
        }
    }

    fn accept(&self, segment: &Segment<'_>, path: &Path, slots: &mut Slots<'_>) {
        let asked = &segment.header.options;
        let options = Options {
            mss: Some(RECEIVE_MSS),
            window_scale: asked.window_scale.map(|_| 0),
            sack_permitted: asked.sack_permitted,
            timestamps: asked.timestamps.map(echo),
            ..Options::default()
        };
        let header = Header {
            seq: self.key.mac(&segment.flow).isn(),
            ack: segment.header.seq + 1,
            control: Control::SYN.and(Control::ACK),
            window: WINDOW,
            options,
        };
        put(slots, path, segment, &header, &[]);
    }

    /// Answers data, or a FIN.
    fn serve(&self, segment: &Segment<'_>, path: &Path, slots: &mut Slots<'_>) {
        let is_end = segment.has(Control::FIN);
        let options = Options {
            timestamps: segment.header.options.timestamps.map(echo),
            ..Options::default()
        };
        let mut header = Header {
            seq: segment.header.ack,
            ack: segment.header.seq + segment.length(),
            control: Control::ACK,
            window: WINDOW,
            options,
        };
        let says = self.says(&segment.flow);
        let data: &[u8] = if segment.payload.is_empty() { &[] } else { &says };
        // The number behind the answer, if there was one request.
        let end = self.key.mac(&segment.flow).isn() + 1 + says.len() as u32;
        // Who was sent FIN acknowledges it with its own.
        let was_ended = header.seq + data.len() as u32 == end + 1;
        let ending = match self.behaviour.ending {
            Ending::Reset if !is_end => Control::RST.and(Control::ACK),
            Ending::Fin if !was_ended => Control::FIN.and(Control::ACK),
            _ if is_end && !was_ended => Control::FIN.and(Control::ACK),
            _ => Control::ACK,
        };
        // FIN goes with the last data, as servers send it; RST alone, or the data would not be taken.
        let is_apart = data.is_empty() || ending.has(Control::RST);
        let mut chunks = data.chunks(MSS).peekable();
        while let Some(chunk) = chunks.next() {
            let is_last = chunks.peek().is_none() && !is_apart;
            let control = if is_last { ending.and(Control::PSH) } else { Control::ACK };
            put(slots, path, segment, &Header { control, ..header }, chunk);
            header.seq = header.seq + chunk.len() as u32;
        }
        if is_apart {
            put(slots, path, segment, &Header { control: ending, ..header }, &[]);
        }
    }

    /// What the server of a flow says.
    fn says(&self, flow: &Flow) -> Cow<'_, [u8]> {
        match &self.behaviour.answer {
            Answer::Bytes(bytes) => bytes.into(),
            Answer::Peers(peers) => peers.say(&self.key, flow.local).into_bytes().into(),
        }
    }
}

impl Answer {
    /// Bytes of the longest.
    fn longest(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            // An address and a port have 21 characters at most, and a comma.
            Self::Peers(peers) => BUSY.len() + 22 * peers.named as usize,
        }
    }
}

/// What a peer says before it names others, and behind ("Gnutella 0.6", RFC draft of 2002, 2.2).
const BUSY: &str =
    "GNUTELLA/0.6 503 Full\r\nUser-Agent: linerate mirror\r\nX-Try-Ultrapeers: \r\n\r\n";
/// Bytes of it that come behind the names.
const BEHIND: usize = 4;

impl Peers {
    fn count(&self) -> u32 {
        self.ranges.iter().map(|(_, count)| count).sum()
    }

    /// The peer of this number.
    fn at(&self, mut number: u32) -> Option<Ipv4Addr> {
        for (first, count) in &self.ranges {
            if number < *count {
                return Some(Ipv4Addr::from_bits(first.to_bits() + number));
            }
            number -= count;
        }
        None
    }

    /// The number of this peer.
    fn number(&self, peer: IpAddr) -> Option<u32> {
        let IpAddr::V4(peer) = peer else { return None };
        let mut before = 0;
        for (first, count) in &self.ranges {
            match peer.to_bits().checked_sub(first.to_bits()) {
                Some(offset) if offset < *count => return Some(before + offset),
                _ => before += count,
            }
        }
        None
    }

    /// What a peer says; whoever is none of them names nobody. All have the same port.
    fn say(&self, key: &Key, peer: SocketAddr) -> String {
        let (head, tail) = BUSY.split_at(BUSY.len() - BEHIND);
        let mut text = String::from(head);
        if let Some(own) = self.number(peer.ip()) {
            for place in 0..self.named {
                let seed = SocketAddr::new(peer.ip(), place as u16);
                let chance = key.mac(&Flow { local: seed, remote: seed }).hidden();
                let step = if place == 0 { 1 } else { chance % self.count() };
                let other = self.at((own + step) % self.count());
                let comma = if place == 0 { "" } else { "," };
                // A String takes everything.
                let _ = other.map(|other| write!(text, "{comma}{other}:{}", peer.port()));
            }
        }
        text + tail
    }
}

/// The other's clock is ours, too: there is none here.
fn echo(stamps: Timestamps) -> Timestamps {
    Timestamps { value: stamps.value, echo: stamps.value }
}

fn put(slots: &mut Slots<'_>, path: &Path, to: &Segment<'_>, header: &Header, data: &[u8]) {
    let ports = (to.flow.local.port(), to.flow.remote.port());
    slots.push(|slot| {
        header.write(slot, path, ports, |payload| {
            payload[..data.len()].copy_from_slice(data);
            data.len()
        })
    });
}

/// Bytes of a UDP header (RFC 768).
const UDP: usize = 8;
/// Bytes of a DNS header (RFC 1035 4.1.1).
const DNS: usize = 12;
const DNS_PORT: [u8; 2] = [0, 53];
/// An address record for the name at the beginning of the question, for a minute: 192.0.2.1 (RFC 1035 4.1.3, RFC 5737).
const RECORD: [u8; 16] = [0xc0, DNS as u8, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1];

/// Answers a query of DNS with an address; any other datagram with itself.
fn answer_datagram(datagram: &[u8], path: &Path, slots: &mut Slots<'_>) {
    let Some((header, data)) = datagram.split_first_chunk::<UDP>() else { return };
    let is_query = header[2..4] == DNS_PORT && data.len() > DNS && data[2] & 0x80 == 0;
    slots.push(|slot| {
        path.write(slot, IpNumber::UDP, 6, |out| {
            let (out_header, out_data) = out.split_at_mut(UDP);
            out_data[..data.len()].copy_from_slice(data);
            let mut length = data.len();
            if is_query {
                // QR and RA; one answer, and nothing else behind the question.
                out_data[2] |= 0x80;
                out_data[3] = 0x80;
                out_data[6..12].copy_from_slice(&[0, 1, 0, 0, 0, 0]);
                length = question_end(data).unwrap_or(data.len());
                out_data[length..length + RECORD.len()].copy_from_slice(&RECORD);
                length += RECORD.len();
            }
            out_header[..2].copy_from_slice(&header[2..4]);
            out_header[2..4].copy_from_slice(&header[..2]);
            out_header[4..6].copy_from_slice(&((UDP + length) as u16).to_be_bytes());
            UDP + length
        })
    });
}

/// Where the first question ends (RFC 1035 4.1.2).
fn question_end(message: &[u8]) -> Option<usize> {
    let mut at = DNS;
    while *message.get(at)? != 0 {
        at += 1 + usize::from(message[at] & 0x3f);
    }
    (at + 5 <= message.len()).then_some(at + 5)
}

/// Answers an echo request (RFC 792, RFC 4443 4.2).
fn answer_echo(
    packet: &Packet<'_>,
    request: [u8; 2],
    reply: [u8; 2],
    path: &Path,
    slots: &mut Slots<'_>,
) {
    if packet.payload.get(..2) != Some(&request) || packet.payload.len() < UDP {
        return;
    }
    slots.push(|slot| {
        path.write(slot, packet.protocol, 2, |out| {
            out[..packet.payload.len()].copy_from_slice(packet.payload);
            out[..2].copy_from_slice(&reply);
            packet.payload.len()
        })
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seq;
    use crate::frame::ETHERNET;
    use crate::segment::HEADER;
    use proptest::prelude::*;

    fn mirror(ending: Ending) -> Mirror {
        Mirror::new(Behaviour {
            mac: [4; 6],
            ports: vec![80],
            answer: Answer::Bytes(b"answer".to_vec()),
            ending,
            one_of: 1,
        })
    }

    fn answers(mirror: &Mirror, frame: &[u8]) -> Vec<Vec<u8>> {
        let (mut region, mut lengths) = (vec![0; 2_000 * mirror.most()], Vec::new());
        mirror.answer(frame, &mut Slots::new(&mut region, 2_000, 0, &mut lengths));
        let slots = region.chunks(2_000).zip(lengths);
        slots.map(|(slot, length)| slot[..length as usize].to_vec()).collect()
    }

    fn path(destination: &str) -> Path {
        let source = if destination.contains(':') { "fd00::1" } else { "10.0.0.1" };
        let (source, destination) = (source.parse().unwrap(), destination.parse().unwrap());
        Path { mac: [2; 6], next_hop: [4; 6], source, destination }
    }

    fn segment(port: u16, control: Control, data: &[u8]) -> Vec<u8> {
        let header = Header { seq: Seq(7), ack: Seq(9), control, ..Header::default() };
        let mut slot = vec![0; 200];
        let length = header.write(&mut slot, &path("10.9.0.1"), (5_000, port), |payload| {
            payload[..data.len()].copy_from_slice(data);
            data.len()
        });
        slot.truncate(length);
        slot
    }

    fn controls(answers: &[Vec<u8>]) -> Vec<(Control, Seq, Vec<u8>)> {
        let parse = |frame: &Vec<u8>| {
            let packet = Packet::parse(frame).unwrap();
            let segment = Segment::parse(&packet, false).unwrap();
            (segment.header.control, segment.header.ack, segment.payload.to_vec())
        };
        answers.iter().map(parse).collect()
    }

    #[test]
    fn open_ports_accept_and_others_refuse() {
        let mirror = mirror(Ending::Fin);
        let syn = |port| controls(&answers(&mirror, &segment(port, Control::SYN, b"")));
        let (rst, syn_ack) = (Control::RST.and(Control::ACK), Control::SYN.and(Control::ACK));
        assert_eq!(syn(80), [(syn_ack, Seq(8), vec![])]);
        assert_eq!(syn(81), [(rst, Seq(8), vec![])]);
        assert_eq!(answers(&mirror, &segment(80, Control::ACK, b"")).len(), 0);
        assert_eq!(answers(&mirror, &segment(80, Control::RST, b"")).len(), 0);
    }

    #[test]
    fn data_are_answered_and_the_end_follows() {
        let push = Control::ACK.and(Control::PSH);
        let found =
            |ending| controls(&answers(&mirror(ending), &segment(80, Control::ACK, b"request")));
        let answer = |control| (control, Seq(14), b"answer".to_vec());
        let reset = (Control::RST.and(Control::ACK), Seq(14), vec![]);
        assert_eq!(found(Ending::Fin), [answer(push.and(Control::FIN))]);
        assert_eq!(found(Ending::Reset), [answer(Control::ACK), reset]);
        assert_eq!(found(Ending::None), [answer(push)]);
    }

    #[test]
    fn queries_get_an_address_and_echo_requests_their_echo() {
        let query = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x01a\x02nl\0\0\x01\0\x01";
        let mut slot = vec![0; 200];
        let path = path("10.9.0.1");
        let length = path.write(&mut slot, IpNumber::UDP, 6, |out| {
            out[..8].copy_from_slice(&[0x30, 0, 0, 53, 0, 30, 0, 0]);
            out[8..8 + query.len()].copy_from_slice(query);
            8 + query.len()
        });
        let found = answers(&mirror(Ending::Fin), &slot[..length]);
        let packet = Packet::parse(&found[0]).unwrap();
        assert!(packet.is_sound());
        assert_eq!(packet.payload[..4], [0, 53, 0x30, 0]);
        assert_eq!(packet.payload[8..20], *b"\x12\x34\x81\x80\0\x01\0\x01\0\0\0\0");
        assert!(packet.payload.ends_with(&[0, 4, 192, 0, 2, 1]));
        let length = path.write(&mut slot, IpNumber::ICMP, 2, |out| {
            out[..9].copy_from_slice(&[8, 0, 0, 0, 1, 2, 3, 4, 5]);
            9
        });
        let found = answers(&mirror(Ending::Fin), &slot[..length]);
        assert_eq!(found[0][ETHERNET + 20], 0);
        assert!(found[0].ends_with(&[1, 2, 3, 4, 5]));
    }

    #[test]
    fn one_of_so_many_addresses_answers() {
        let behaviour = Behaviour { one_of: 4, ..mirror(Ending::Fin).behaviour };
        let mirror = Mirror::new(behaviour);
        let all = (0..4_000_u32).map(|n| IpAddr::from((0x0a40_0000 + n).to_be_bytes()));
        let count = all.filter(|address| mirror.answers(*address)).count();
        assert!((900..1_100).contains(&count), "{count}");
    }

    #[test]
    fn peers_name_the_one_behind_them_and_others_of_theirs() {
        let ranges = vec![(Ipv4Addr::new(10, 64, 0, 0), 4), (Ipv4Addr::new(10, 70, 0, 0), 2)];
        let peers = Peers { ranges, named: 3 };
        let key = Key::new([1; 16]);
        let named = |peer: &str| {
            let text = peers.say(&key, peer.parse().unwrap());
            let list = text.lines().nth(2).unwrap().strip_prefix("X-Try-Ultrapeers: ").unwrap();
            list.split(',').map(str::to_owned).collect::<Vec<_>>()
        };
        for (peer, next) in [("10.64.0.3:9", "10.70.0.0:9"), ("10.70.0.1:9", "10.64.0.0:9")] {
            let named = named(peer);
            assert_eq!((named.len(), &named[0][..]), (3, next));
            assert!(
                named.iter().all(|n| peers.number(n.parse::<SocketAddr>().unwrap().ip()).is_some())
            );
        }
        assert_eq!(named("10.64.0.4:9"), [""]);
    }

    proptest! {
        #[test]
        fn nothing_panics(kind in 0..4_u8, data in prop::collection::vec(any::<u8>(), 0..90)) {
            let (protocol, address) = match kind {
                0 => (IpNumber::UDP, "10.9.0.1"),
                1 => (IpNumber::ICMP, "10.9.0.1"),
                2 => (IpNumber::IPV6_ICMP, "fd00::9"),
                _ => (IpNumber::TCP, "fd00::9"),
            };
            let mut slot = vec![0; 300];
            let length = path(address).write(&mut slot, protocol, HEADER, |out| {
                out[..data.len()].copy_from_slice(&data);
                out[2..4].copy_from_slice(&[0, 53]);
                data.len().max(HEADER + 2)
            });
            answers(&mirror(Ending::Fin), &slot[..length]);
        }
    }
}
