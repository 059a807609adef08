//! Probes, and the answers to them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use etherparse::IpNumber;
use etherparse::checksum::Sum16BitWords;
use linerate_base::Timestamp;
use linerate_tcp::frame::{Packet, Path};
use linerate_tcp::quote::Quoted;
use linerate_tcp::segment::{Control, Header, Options, Segment, Timestamps};
use linerate_tcp::{Flow, Key, Mac, Seq};
use linerate_transmit::sink::Alike;

use crate::form::Form;
use crate::{Answer, Class, Payload, Target};

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A TCP segment that asks for a connection.
    Syn,
    /// A TCP segment that acknowledges what never was.
    Ack,
    /// A datagram.
    Udp(Payload),
    /// An ICMP echo request, with these words behind what it has to carry.
    Echo(String),
}

/// Where probes are from.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The hardware address that frames are from.
    pub mac: [u8; 6],
    /// The address of those by IPv4.
    pub ipv4: Option<Ipv4Addr>,
    /// The address of those by IPv6.
    pub ipv6: Option<Ipv6Addr>,
}

impl Origin {
    /// Of IPv4 and of IPv6, to whomever.
    fn paths(&self) -> [Option<Path>; 2] {
        let sources = [self.ipv4.map(IpAddr::from), self.ipv6.map(IpAddr::from)];
        sources.map(|source| {
            let source = source?;
            Some(Path { mac: self.mac, next_hop: [0; 6], source, destination: source })
        })
    }
}

/// Writes probes, and recognises the answers.
#[derive(Clone, Debug)]
pub struct Prober {
    kind: Kind,
    origin: Origin,
    ports: RangeInclusive<u16>,
    key: Key,
    /// Of IPv4 and of IPv6, where there is a way.
    forms: [Option<Form>; 2],
}

/// Bytes of a UDP header, and of an ICMP echo's.
const HEAD: usize = 8;
/// What an echo request carries: the time in microseconds, which wraps, and bits of the MAC.
const ECHO_DATA: usize = 8;
/// Bytes of the frame of a segment without options or data, over IPv6.
const LONGEST_RESET: usize = 14 + 40 + 20;
/// Microseconds. Longer trips are none: an echo of somebody else's clock.
const LONGEST_TRIP: u32 = 600_000_000;
/// The window of a common OS's SYN.
const WINDOW: u16 = 64_240;
/// Where its timestamp is: behind the header, MSS, SACK permitted, and the option's kind and length.
const STAMP: usize = 20 + 4 + 2 + 2;

impl Prober {
    /// A prober with this key, random and new for each scan, whose probes of TCP and UDP are from `ports`.
    ///
    /// Answers whose checksum their sender's kernel left to a card, as they are on virtual wires, it takes: the MAC tells
    /// whether they are answers.
    pub fn new(kind: Kind, origin: Origin, ports: RangeInclusive<u16>, key: [u8; 16]) -> Self {
        let forms = origin.paths().map(|path| path.map(|path| form(&kind, &path)));
        Self { kind, origin, ports, key: Key::new(key), forms }
    }

    /// Bytes of the longest frame that it writes.
    pub fn longest(&self) -> usize {
        let forms = self.forms.iter().flatten().map(Form::length);
        forms.max().unwrap_or_default().max(LONGEST_RESET)
    }

    /// Writes the probe of a target, sent `now` by whom has the hardware address `hop`, to `slot`, and returns the frame's
    /// length.
    ///
    /// # Panics
    /// When it has no address of the target's family, or `slot` has less than [`longest`](Self::longest) bytes.
    pub fn write(&self, target: Target, hop: [u8; 6], now: Timestamp, slot: &mut [u8]) -> usize {
        let form = self.forms[usize::from(target.address.is_ipv6())].as_ref();
        let way = form.zip(self.source(target.address));
        let (form, source) = way.expect("an address of the target's family");
        let (flow, mac) = self.flow(source, target);
        form.fill(slot, hop, target.address, |pen| {
            if !matches!(self.kind, Kind::Echo(_)) {
                pen.put(0, flow.local.port().to_be_bytes());
                pen.put(2, flow.remote.port().to_be_bytes());
            }
            match &self.kind {
                Kind::Udp(payload) => payload.sign(mac, pen, HEAD),
                Kind::Syn => {
                    pen.put(4, mac.isn().0.to_be_bytes());
                    pen.put(STAMP, micros(now).to_be_bytes());
                }
                Kind::Ack => {
                    pen.put(4, mac.isn().0.to_be_bytes());
                    pen.put(8, mac.hidden().to_be_bytes());
                }
                Kind::Echo(_) => {
                    pen.put(4, mac.isn().0.to_be_bytes());
                    pen.put(8, micros(now).to_be_bytes());
                    pen.put(12, mac.hidden().to_be_bytes());
                }
            }
        })
    }

    /// What all probes have in common, where all targets are of one family.
    pub fn alike(&self) -> Option<Alike> {
        let (first, more) = match &self.kind {
            Kind::Syn => (0..8, Some(STAMP..STAMP + 4)),
            Kind::Ack => (0..12, None),
            Kind::Udp(payload) => {
                (0..4, payload.signed().map(|mac| HEAD + mac.start..HEAD + mac.end))
            }
            Kind::Echo(_) => (4..16, None),
        };
        let varying = [first].into_iter().chain(more);
        match &self.forms {
            [Some(form), None] | [None, Some(form)] => Some(form.alike(varying)),
            _ => None,
        }
    }

    /// What a frame that came at `time` says, if it answers a probe.
    pub fn recognise(&self, frame: &[u8], time: Timestamp) -> Option<Answer> {
        let packet = Packet::parse(frame)?;
        if self.source(packet.source)? != packet.destination {
            return None;
        }
        let heard = match (&self.kind, packet.protocol) {
            (Kind::Syn | Kind::Ack, IpNumber::TCP) => self.by_tcp(&packet)?,
            (Kind::Udp(payload), IpNumber::UDP) => self.by_udp(&packet, payload)?,
            (_, IpNumber::ICMP | IpNumber::IPV6_ICMP) => {
                self.by_echo(&packet).or_else(|| self.by_error(&packet))?
            }
            _ => return None,
        };
        let trip = heard.sent.map(|sent| micros(time).wrapping_sub(sent));
        let trip = trip.filter(|trip| *trip < LONGEST_TRIP);
        Some(Answer {
            target: heard.target,
            class: heard.class,
            from: packet.source,
            hop_limit: packet.hop_limit,
            size: heard.size,
            time,
            rtt: trip.map(|trip| Duration::from_micros(trip.into())),
        })
    }

    /// Writes the segment that ends the connection which `frame`, a SYN-ACK that was recognised, offers: who owns the
    /// address has to do what a host's stack would. `None` for other frames.
    ///
    /// # Panics
    /// When `slot` has less than [`longest`](Self::longest) bytes.
    pub fn write_reset(&self, frame: &[u8], slot: &mut [u8]) -> Option<usize> {
        let packet = Packet::parse(frame)?;
        let segment = Segment::parse(&packet, true).ok()?;
        if !segment.has(Control::SYN.and(Control::ACK)) {
            return None;
        }
        // RFC 9293 3.10.7.1.
        let header = Header { seq: segment.header.ack, control: Control::RST, ..Header::default() };
        let ports = (segment.flow.local.port(), segment.flow.remote.port());
        Some(header.write(slot, &Path::back(&packet, self.origin.mac), ports, |_| 0))
    }

    fn by_tcp(&self, packet: &Packet<'_>) -> Option<Heard> {
        let segment = Segment::parse(packet, true).ok()?;
        let (target, mac) = self.expected(&segment.flow)?;
        let header = &segment.header;
        let answers_syn = segment.has(Control::ACK) && header.ack == mac.isn() + 1;
        let class = match (&self.kind, segment.has(Control::RST)) {
            (Kind::Syn, true) if answers_syn => Class::Closed,
            (Kind::Syn, false) if answers_syn && segment.has(Control::SYN) => Class::Open,
            // RFC 9293 3.10.7.1: RST to an ACK has the number that was acknowledged.
            (Kind::Ack, true) if header.seq == Seq(mac.hidden()) => Class::Unfiltered,
            _ => return None,
        };
        let sent = header.options.timestamps.map(|stamps| stamps.echo);
        Some(Heard { target, class, size: segment.payload.len(), sent })
    }

    fn by_udp(&self, packet: &Packet<'_>, payload: &Payload) -> Option<Heard> {
        let (head, data) = packet.payload.split_first_chunk::<HEAD>()?;
        let port = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let (target, mac) = self.expected(&Flow {
            local: SocketAddr::new(packet.destination, port(2)),
            remote: SocketAddr::new(packet.source, port(0)),
        })?;
        let field = [head[6], head[7]];
        // RFC 768: 0 means that there is none.
        let is_partial = packet.is_partial(field);
        let is_sound = field == [0, 0] || packet.is_sound() || is_partial;
        let is_answer = is_sound && payload.is_answered_by(mac, data);
        is_answer.then_some(Heard { target, class: Class::Reply, size: data.len(), sent: None })
    }

    fn by_echo(&self, packet: &Packet<'_>) -> Option<Heard> {
        let (head, data) = packet.payload.split_first_chunk::<HEAD>()?;
        let is_ipv4 = packet.source.is_ipv4();
        let reply = if is_ipv4 { 0 } else { 129 };
        if !matches!(self.kind, Kind::Echo(_)) || head[..2] != [reply, 0] || data.len() < ECHO_DATA
        {
            return None;
        }
        let is_sound = match is_ipv4 {
            true => Sum16BitWords::new().add_slice(packet.payload).ones_complement() == 0,
            false => packet.is_sound(),
        };
        let number = |at: usize| data[at..].first_chunk().copied().map(u32::from_be_bytes);
        let target = Target { address: packet.source, port: 0 };
        let (_, mac) = self.flow(packet.destination, target);
        let is_ours = head[4..] == mac.isn().0.to_be_bytes() && number(4)? == mac.hidden();
        let heard = Heard { target, class: Class::Echo, size: data.len(), sent: number(0) };
        (is_sound && is_ours).then_some(heard)
    }

    /// An ICMP error about a probe.
    fn by_error(&self, packet: &Packet<'_>) -> Option<Heard> {
        let quoted = Quoted::parse(packet)?;
        let protocol = match &self.kind {
            Kind::Syn | Kind::Ack => IpNumber::TCP,
            Kind::Udp(_) => IpNumber::UDP,
            Kind::Echo(_) => icmp(quoted.destination),
        };
        if quoted.protocol != protocol || quoted.source != packet.destination {
            return None;
        }
        let (target, mac) = match &self.kind {
            Kind::Echo(_) => {
                let target = Target { address: quoted.destination, port: 0 };
                (target, self.flow(quoted.source, target).1)
            }
            _ => self.expected(&quoted.flow())?,
        };
        let has_mac = quoted.head[4..] == mac.isn().0.to_be_bytes();
        let is_ours = has_mac || matches!(self.kind, Kind::Udp(_));
        let class = Class::Unreachable(quoted.trouble);
        is_ours.then_some(Heard { target, class, size: 0, sent: None })
    }

    /// The target of a probe with these ends and its MAC; `None` when a probe of it would be from another port.
    fn expected(&self, flow: &Flow) -> Option<(Target, Mac)> {
        let target = Target { address: flow.remote.ip(), port: flow.remote.port() };
        let (ours, mac) = self.flow(flow.local.ip(), target);
        (ours == *flow).then_some((target, mac))
    }

    /// The ends of the probe of a target, and its MAC, which is made before the port is chosen by its upper bits.
    fn flow(&self, source: IpAddr, target: Target) -> (Flow, Mac) {
        let remote = SocketAddr::new(target.address, target.port);
        let mac = self.key.mac(&Flow { local: SocketAddr::new(source, 0), remote });
        let count = u64::from(*self.ports.end() - *self.ports.start()) + 1;
        let port = match self.kind {
            Kind::Echo(_) => 0,
            _ => *self.ports.start() + ((u64::from(mac.hidden()) * count) >> 32) as u16,
        };
        (Flow { local: SocketAddr::new(source, port), remote }, mac)
    }

    /// Our address of the same family.
    fn source(&self, of: IpAddr) -> Option<IpAddr> {
        match of {
            IpAddr::V4(_) => self.origin.ipv4.map(IpAddr::from),
            IpAddr::V6(_) => self.origin.ipv6.map(IpAddr::from),
        }
    }
}

/// What an answer says.
struct Heard {
    target: Target,
    class: Class,
    /// Bytes of payload.
    size: usize,
    /// When the probe was sent, in microseconds that wrap.
    sent: Option<u32>,
}

/// The probe of nobody, by this path: what varies is zero.
fn form(kind: &Kind, path: &Path) -> Form {
    let is_ipv4 = path.source.is_ipv4();
    let bare = |header: Header| {
        let mut frame = vec![0; Header::most_overhead(path)];
        let length = header.write(&mut frame, path, (0, 0), |_| 0);
        Form::new(path, IpNumber::TCP, &frame[path.overhead()..length], 16)
    };
    match kind {
        Kind::Syn => bare(syn(is_ipv4)),
        Kind::Ack => bare(Header { control: Control::ACK, window: WINDOW, ..Header::default() }),
        Kind::Udp(payload) => {
            let payload = payload.unsigned();
            let length = (HEAD + payload.len()) as u16;
            let mut datagram = vec![0; HEAD];
            datagram[4..6].copy_from_slice(&length.to_be_bytes());
            datagram.extend(payload);
            Form::new(path, IpNumber::UDP, &datagram, 6)
        }
        Kind::Echo(words) => {
            let mut request = vec![0; HEAD + ECHO_DATA];
            request[0] = if is_ipv4 { 8 } else { 128 };
            request.extend(words.bytes());
            Form::new(path, icmp(path.source), &request, 2)
        }
    }
}

/// A SYN as a common OS sends it. Its timestamp counts microseconds, so that the answer tells the time it took.
fn syn(is_ipv4: bool) -> Header {
    Header {
        control: Control::SYN,
        window: WINDOW,
        options: Options {
            mss: Some(if is_ipv4 { 1_460 } else { 1_440 }),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps::default()),
            ..Options::default()
        },
        ..Header::default()
    }
}

fn icmp(address: IpAddr) -> IpNumber {
    if address.is_ipv4() { IpNumber::ICMP } else { IpNumber::IPV6_ICMP }
}

/// Microseconds, which wrap after 71 minutes.
fn micros(time: Timestamp) -> u32 {
    time.nanos().div_euclid(1_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_base::Slots;
    use linerate_tcp::mirror::{Answer, Behaviour, Ending, Mirror};
    use proptest::prelude::*;

    fn prober(kind: Kind) -> Prober {
        let origin = Origin {
            mac: [2; 6],
            ipv4: Some("10.0.0.1".parse().unwrap()),
            ipv6: Some("fd00::1".parse().unwrap()),
        };
        Prober::new(kind, origin, 61_000..=61_999, [3; 16])
    }

    /// Bytes of the longest frame.
    const LONGEST: usize = 1_514;
    const HOP: [u8; 6] = [4; 6];

    fn kinds() -> [Kind; 5] {
        let udp = |text: &str| Kind::Udp(Payload::parse(text).unwrap());
        [
            Kind::Syn,
            Kind::Ack,
            udp("dns:example.com"),
            udp("text:hello"),
            Kind::Echo("who we are".into()),
        ]
    }

    fn probe(prober: &Prober, target: Target) -> Vec<u8> {
        let mut slot = vec![0xee; prober.longest()];
        let length = prober.write(target, HOP, Timestamp::from_parts(9, 0), &mut slot);
        slot.truncate(length);
        slot
    }

    fn answer(frame: &[u8]) -> Vec<u8> {
        let mirror = Mirror::new(Behaviour {
            mac: [4; 6],
            ports: vec![80],
            answer: Answer::Bytes(vec![]),
            ending: Ending::Fin,
            one_of: 1,
        });
        let (mut region, mut lengths) = (vec![0; LONGEST * mirror.most()], Vec::new());
        mirror.answer(frame, &mut Slots::new(&mut region, LONGEST, 0, &mut lengths));
        region.truncate(lengths.first().map_or(0, |length| *length as usize));
        region
    }

    fn target(address: &str, port: u16) -> Target {
        Target { address: address.parse().unwrap(), port }
    }

    #[test]
    fn answers_are_recognised_and_say_what_they_mean() {
        let [syn, ack, dns, text, echo] = kinds();
        for (kind, port, class) in [
            (&syn, 80, Class::Open),
            (&syn, 81, Class::Closed),
            (&ack, 81, Class::Unfiltered),
            (&dns, 53, Class::Reply),
            (&text, 7, Class::Reply),
            (&echo, 0, Class::Echo),
        ] {
            for address in ["10.9.8.7", "fd00::99"] {
                let (prober, target) = (prober(kind.clone()), target(address, port));
                let reply = answer(&probe(&prober, target));
                let time = Timestamp::from_parts(9, 1_500_000);
                let found = prober.recognise(&reply, time).unwrap_or_else(|| panic!("{kind:?}"));
                assert_eq!((found.target, found.class), (target, class));
                let tells = matches!(class, Class::Open | Class::Echo);
                assert_eq!(found.rtt, tells.then_some(Duration::from_micros(1_500)), "{kind:?}");
            }
        }
    }

    #[test]
    fn a_ping_says_who_sends_it() {
        let [.., echo] = kinds();
        let ping = probe(&prober(echo), target("10.9.8.7", 0));
        assert!(ping.ends_with(b"who we are") && ping.len() == 14 + 20 + 16 + 10);
    }

    #[test]
    fn answers_to_others_and_probes_are_none() {
        for kind in kinds() {
            let (ours, target) = (prober(kind.clone()), target("10.9.8.7", 81));
            let other = Prober { key: Key::new([9; 16]), ..ours.clone() };
            let reply = answer(&probe(&other, target));
            assert!(!reply.is_empty());
            assert_eq!(ours.recognise(&reply, Timestamp::EPOCH), None, "{kind:?}");
            let own = probe(&ours, target);
            assert_eq!(ours.recognise(&own, Timestamp::EPOCH), None, "{kind:?}");
        }
    }

    /// An error of a router about a frame.
    fn error(frame: &[u8]) -> Vec<u8> {
        let [source, destination] = ["10.0.0.254", "10.0.0.1"].map(|a| a.parse().unwrap());
        let path = Path { mac: [4; 6], next_hop: [2; 6], source, destination };
        let mut slot = vec![0; LONGEST];
        let length = path.write(&mut slot, IpNumber::ICMP, 2, |icmp| {
            icmp[..8].copy_from_slice(&[3, 3, 0, 0, 0, 0, 0, 0]);
            icmp[8..36].copy_from_slice(&frame[14..42]);
            36
        });
        slot.truncate(length);
        slot
    }

    #[test]
    fn errors_count_only_for_what_was_probed() {
        for kind in kinds() {
            let port = if matches!(kind, Kind::Echo(_)) { 0 } else { 81 };
            let (prober, target) = (prober(kind.clone()), target("10.9.8.7", port));
            let probe = probe(&prober, target);
            let found = prober.recognise(&error(&probe), Timestamp::EPOCH).expect("recognised");
            assert_eq!((found.target.address, found.class.name()), (target.address, "unreachable"));
            assert_eq!(found.from, "10.0.0.254".parse::<IpAddr>().unwrap());
            let mut forged = probe.clone();
            forged[33] ^= 1;
            assert_eq!(prober.recognise(&error(&forged), Timestamp::EPOCH), None, "{kind:?}");
        }
    }

    #[test]
    fn a_connection_that_is_offered_is_refused() {
        let prober = prober(Kind::Syn);
        let offer = answer(&probe(&prober, target("10.9.8.7", 80)));
        let mut slot = vec![0; LONGEST];
        let length = prober.write_reset(&offer, &mut slot).expect("an offer");
        let ours = Packet::parse(&slot[..length]).unwrap();
        let reset = Segment::parse(&ours, false).unwrap();
        let theirs = Packet::parse(&offer).unwrap();
        let offer = Segment::parse(&theirs, false).unwrap();
        assert!(reset.has(Control::RST));
        assert_eq!(reset.header.seq, offer.header.ack);
        let reset = slot[..length].to_vec();
        assert_eq!(prober.write_reset(&reset, &mut slot), None);
    }

    /// That of ICMP over IPv4 covers no address.
    fn is_sound(packet: &Packet<'_>) -> bool {
        match packet.protocol {
            IpNumber::ICMP => Sum16BitWords::new().add_slice(packet.payload).ones_complement() == 0,
            _ => packet.is_sound(),
        }
    }

    proptest! {
        #[test]
        fn checksums_are_right_whatever_varies(
            kind in 0..6_usize, words in "[a-z]{0,9}", address: u128, six: bool, port: u16, key: [u8; 16], seconds in 0_i64..1 << 32,
        ) {
            let kind = match kind {
                5 => Kind::Udp(Payload::Ntp),
                4 => Kind::Echo(words),
                kind => kinds()[kind].clone(),
            };
            let prober = Prober { key: Key::new(key), ..prober(kind) };
            let address: IpAddr = match six {
                true => Ipv6Addr::from_bits(address).into(),
                false => Ipv4Addr::from_bits(address as u32).into(),
            };
            let mut slot = vec![0xee; prober.longest()];
            let time = Timestamp::from_parts(seconds, 1_000);
            let length = prober.write(Target { address, port }, HOP, time, &mut slot);
            let packet = Packet::parse(&slot[..length]).expect("a packet");
            prop_assert_eq!(packet.destination, address);
            prop_assert!(is_sound(&packet), "{:?}", packet);
            prop_assert_eq!(&slot[..6], HOP);
            if packet.protocol == IpNumber::TCP {
                let segment = Segment::parse(&packet, false).expect("a segment");
                prop_assert_eq!(segment.flow.local.port(), port);
                let stamp = segment.header.options.timestamps.map(|stamps| stamps.value);
                prop_assert_eq!(stamp, (prober.kind == Kind::Syn).then(|| micros(time)));
            }
        }

        #[test]
        fn probes_are_alike_but_for_what_is_said_to_vary(
            kind in 0..6_usize, address: u128, six: bool, port: u16, seconds in 0_i64..1 << 32,
        ) {
            let kind = match kind {
                5 => Kind::Udp(Payload::Ntp),
                kind => kinds()[kind].clone(),
            };
            let both = prober(kind.clone());
            prop_assert_eq!(both.alike(), None);
            let origin = match six {
                true => Origin { ipv4: None, ..both.origin },
                false => Origin { ipv6: None, ..both.origin },
            };
            let prober = Prober::new(kind, origin, 61_000..=61_999, [3; 16]);
            let address: IpAddr = match six {
                true => Ipv6Addr::from_bits(address).into(),
                false => Ipv4Addr::from_bits(address as u32).into(),
            };
            let mut slot = vec![0xee; prober.longest()];
            let time = Timestamp::from_parts(seconds, 1_000);
            let length = prober.write(Target { address, port }, HOP, time, &mut slot);
            let alike = prober.alike().expect("one family");
            prop_assert!(alike.has(&slot[..length]), "{:?}", slot);
        }

        #[test]
        fn damaged_answers_are_not_taken_for_others(
            kind in 0..5_usize, at in 14..70_usize, bits in 1..=255_u8, host: u8,
        ) {
            let target = target(&format!("10.9.8.{host}"), if kind == 4 { 0 } else { 81 });
            let prober = prober(kinds()[kind].clone());
            let mut reply = answer(&probe(&prober, target));
            if let Some(byte) = reply.get_mut(at) {
                *byte ^= bits;
            }
            if let Some(found) = prober.recognise(&reply, Timestamp::EPOCH) {
                prop_assert_eq!(found.target, target);
            }
        }

        #[test]
        fn nothing_panics(kind in 0..5_usize, mut frame in prop::collection::vec(any::<u8>(), 34..120)) {
            frame[12..15].copy_from_slice(&[8, 0, 0x45]);
            prober(kinds()[kind].clone()).recognise(&frame, Timestamp::EPOCH);
        }
    }
}
