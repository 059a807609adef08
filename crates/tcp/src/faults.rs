//! A wire that loses, doubles, reorders, damages, cuts up and joins frames, as its seed decides.

use std::collections::BTreeMap;
use std::time::Duration;

use linerate_base::Timestamp;
use siphasher::sip::SipHasher13;

use crate::frame::{Packet, Path};
use crate::segment::{Control, Header, Segment};

/// How often each thing happens, as shares of all frames between 0 and 1, and how long frames take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Frames that vanish.
    pub loss: f64,
    /// Frames that come twice.
    pub duplication: f64,
    /// Frames that take longer than others, and so come after later ones.
    pub reordering: f64,
    /// Frames with a wrong bit.
    pub corruption: f64,
    /// Segments that are cut in two, or joined to the one before where they follow upon it, up to 64 KiB long.
    pub resegmentation: f64,
    /// Time that every frame takes.
    pub delay: Duration,
    /// The longest time more that some take.
    pub held: Duration,
}

/// What became of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fates {
    /// Frames that went in.
    pub frames: u64,
    /// Frames that vanished.
    pub lost: u64,
    /// Frames that came twice.
    pub doubled: u64,
    /// Frames that took longer.
    pub held: u64,
    /// Frames with a wrong bit.
    pub damaged: u64,
    /// Segments that were cut in two.
    pub cut: u64,
    /// Segments that were joined to the one before.
    pub joined: u64,
}

/// One direction of such a wire. It has no clock: frames are put in at a time, and taken out at a time.
#[derive(Debug)]
pub struct FaultBox {
    faults: Faults,
    random: Random,
    /// By the time at which they come out, and in the order in which they went in.
    frames: BTreeMap<(Timestamp, u64), Vec<u8>>,
    count: u64,
    fates: Fates,
}

/// The longest IP packet.
const LONGEST: usize = 65_535;

impl FaultBox {
    /// A wire whose faults are those of the seed.
    pub fn new(faults: Faults, seed: u64) -> Self {
        let random = Random { hasher: SipHasher13::new_with_keys(seed, 0), count: 0 };
        Self { faults, random, frames: BTreeMap::new(), count: 0, fates: Fates::default() }
    }

    /// Puts a frame in.
    pub fn push(&mut self, frame: &[u8], now: Timestamp) {
        self.fates.frames += 1;
        if self.random.happens(self.faults.loss) {
            self.fates.lost += 1;
            return;
        }
        if self.random.happens(self.faults.resegmentation) && self.resegment(frame, now) {
            return;
        }
        if self.random.happens(self.faults.duplication) {
            self.fates.doubled += 1;
            self.put(frame.to_vec(), now);
        }
        self.put(frame.to_vec(), now);
    }

    /// Takes a frame out that has come by `now`.
    pub fn pop(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        let first = self.frames.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(first.remove())
    }

    /// When the next frame comes out.
    pub fn next(&self) -> Option<Timestamp> {
        self.frames.first_key_value().map(|((due, _), _)| *due)
    }

    /// What became of frames so far.
    pub fn fates(&self) -> Fates {
        self.fates
    }

    fn put(&mut self, mut frame: Vec<u8>, now: Timestamp) {
        if self.random.happens(self.faults.corruption) {
            let bit = self.random.below(8 * frame.len() as u64) as usize;
            frame[bit / 8] ^= 1 << (bit % 8);
            self.fates.damaged += 1;
        }
        let mut due = now + self.faults.delay;
        if self.random.happens(self.faults.reordering) {
            let most = self.faults.held.as_nanos() as u64 + 1;
            due = due + Duration::from_nanos(self.random.below(most));
            self.fates.held += 1;
        }
        self.count += 1;
        self.frames.insert((due, self.count), frame);
    }

    /// Joins a segment to the one before, or cuts it in two; false where neither can be done.
    fn resegment(&mut self, frame: &[u8], now: Timestamp) -> bool {
        let Some(later) = Data::parse(frame) else { return false };
        if let Some(mut last) = self.frames.last_entry()
            && let Some(joined) = Data::parse(last.get()).and_then(|first| first.join(&later))
        {
            *last.get_mut() = joined;
            self.fates.joined += 1;
            return true;
        }
        let length = later.segment.payload.len();
        if length < 2 {
            return false;
        }
        let at = 1 + self.random.below(length as u64 - 1) as usize;
        for frame in later.cut(at) {
            self.put(frame, now);
        }
        self.fates.cut += 1;
        true
    }
}

/// A segment with data, and the way that it goes.
struct Data<'a> {
    path: Path,
    segment: Segment<'a>,
}

impl<'a> Data<'a> {
    /// The segment in a frame, if it has data and is sound.
    fn parse(frame: &'a [u8]) -> Option<Self> {
        let packet = Packet::parse(frame)?;
        let segment = Segment::parse(&packet, false).ok()?;
        let is_plain = !segment.has(Control::SYN) && !segment.has(Control::RST);
        let (source, destination) = (packet.source, packet.destination);
        let next_hop = *frame.first_chunk()?;
        let path = Path { mac: packet.neighbour, next_hop, source, destination };
        (is_plain && !segment.payload.is_empty()).then_some(Self { path, segment })
    }

    /// One frame with the data of both, if `later` follows.
    fn join(&self, later: &Data<'_>) -> Option<Vec<u8>> {
        let (first, second) = (&self.segment, &later.segment);
        let data = [first.payload, second.payload].concat();
        let follows = first.header.seq + first.payload.len() as u32 == second.header.seq
            && first.flow == second.flow
            && !first.has(Control::FIN)
            && data.len() + Header::most_overhead(&self.path) <= LONGEST;
        follows.then(|| self.write(&Header { seq: first.header.seq, ..second.header }, &data))
    }

    /// Two frames with the data before and from `at` on.
    fn cut(&self, at: usize) -> [Vec<u8>; 2] {
        let header = self.segment.header;
        let (first, second) = self.segment.payload.split_at(at);
        let control = Control(header.control.0 & !Control::FIN.0 & !Control::PSH.0);
        let before = self.write(&Header { control, ..header }, first);
        [before, self.write(&Header { seq: header.seq + at as u32, ..header }, second)]
    }

    fn write(&self, header: &Header, data: &[u8]) -> Vec<u8> {
        let flow = self.segment.flow;
        let mut frame = vec![0; Header::most_overhead(&self.path) + data.len()];
        let ports = (flow.remote.port(), flow.local.port());
        let length = header.write(&mut frame, &self.path, ports, |payload| {
            payload[..data.len()].copy_from_slice(data);
            data.len()
        });
        frame.truncate(length);
        frame
    }
}

/// Random numbers: the hashes of 0, 1, 2 and so on.
#[derive(Debug)]
struct Random {
    hasher: SipHasher13,
    count: u64,
}

impl Random {
    fn next(&mut self) -> u64 {
        self.count += 1;
        self.hasher.hash(&self.count.to_le_bytes())
    }

    fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(count)) >> 64) as u64
    }

    fn happens(&mut self, share: f64) -> bool {
        ((self.next() >> 11) as f64) < share * (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seq;

    fn frame(seq: u32, data: &[u8]) -> Vec<u8> {
        let [source, destination] = ["10.0.0.1", "10.0.0.2"].map(|name| name.parse().unwrap());
        let path = Path { mac: [2; 6], next_hop: [4; 6], source, destination };
        let header = Header { seq: Seq(seq), control: Control::ACK, ..Header::default() };
        let mut slot = vec![0; 2000];
        let length = header.write(&mut slot, &path, (1, 2), |payload| {
            payload[..data.len()].copy_from_slice(data);
            data.len()
        });
        slot.truncate(length);
        slot
    }

    fn through(faults: Faults, frames: &[Vec<u8>]) -> (Vec<Vec<u8>>, Fates) {
        let mut wire = FaultBox::new(faults, 7);
        frames.iter().for_each(|frame| wire.push(frame, Timestamp::EPOCH));
        let end = Timestamp::EPOCH + Duration::from_secs(1);
        let out = std::iter::from_fn(|| wire.pop(end)).collect();
        assert_eq!(wire.next(), None);
        (out, wire.fates())
    }

    #[test]
    fn without_faults_it_only_takes_time() {
        let delay = Duration::from_millis(3);
        let mut wire = FaultBox::new(Faults { delay, ..Faults::default() }, 1);
        wire.push(b"one", Timestamp::EPOCH);
        wire.push(b"two", Timestamp::EPOCH);
        assert_eq!(wire.next(), Some(Timestamp::EPOCH + delay));
        assert_eq!(wire.pop(Timestamp::EPOCH), None);
        let out = [(); 3].map(|()| wire.pop(Timestamp::EPOCH + delay));
        assert_eq!(out, [Some(b"one".to_vec()), Some(b"two".to_vec()), None]);
    }

    #[test]
    fn faults_come_as_often_as_asked() {
        let frames: Vec<_> = (0..10_000_u32).map(|n| n.to_be_bytes().to_vec()).collect();
        let held = Duration::from_millis(1);
        let faults =
            Faults { loss: 0.1, duplication: 0.2, reordering: 0.5, held, ..Faults::default() };
        let (out, fates) = through(faults, &frames);
        assert_eq!(out.len() as u64, 10_000 - fates.lost + fates.doubled);
        assert!((900..1_100).contains(&fates.lost) && (1_700..1_900).contains(&fates.doubled));
        assert!(out.windows(2).any(|pair| pair[0] > pair[1]));
        assert_eq!(through(faults, &frames).0, out, "the same seed, the same faults");
        assert_eq!(through(Faults { loss: 1.0, ..faults }, &frames).0.len(), 0);
    }

    #[test]
    fn damage_is_one_bit() {
        let (out, fates) = through(Faults { corruption: 1.0, ..Faults::default() }, &[vec![0; 50]]);
        let ones: u32 = out[0].iter().map(|byte| byte.count_ones()).sum();
        assert_eq!((ones, fates.damaged), (1, 1));
    }

    #[test]
    fn data_stay_the_same_however_they_are_cut_and_joined() {
        let faults = Faults { resegmentation: 1.0, ..Faults::default() };
        let (out, fates) =
            through(faults, &[frame(0, b"hello "), frame(6, b"wire"), frame(20, b"x")]);
        assert_eq!((fates.cut, fates.joined), (1, 1));
        let mut data = [b'.'; 21];
        for frame in &out {
            let packet = Packet::parse(frame).unwrap();
            let segment = Segment::parse(&packet, false).unwrap();
            let start = segment.header.seq.0 as usize;
            data[start..start + segment.payload.len()].copy_from_slice(segment.payload);
        }
        assert_eq!(&data, b"hello wire..........x");
    }
}
