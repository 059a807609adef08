//! TCP segments (RFC 9293 3.1): those that come, taken apart and checked, and those that go.

use std::net::SocketAddr;

use etherparse::IpNumber;

use crate::frame::{Packet, Path};
use crate::{Flow, Seq};

/// Control bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control(pub u8);

impl Control {
    /// No more data.
    pub const FIN: Self = Self(0x01);
    /// The beginning.
    pub const SYN: Self = Self(0x02);
    /// The end at once.
    pub const RST: Self = Self(0x04);
    /// Hand it to the application.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number means something.
    pub const ACK: Self = Self(0x10);

    /// True when all bits of `other` are set.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Those of either.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Bytes of a header without options.
pub const HEADER: usize = 20;
/// The most bytes that options take.
const MOST_OPTIONS: usize = 40;
/// Where the checksum is in a header.
const CHECKSUM: usize = 16;
/// The most SACK blocks beside timestamps, and so in any segment of ours (RFC 2018 3).
pub const MOST_BLOCKS: usize = 3;

/// Numbers of options.
mod kind {
    pub(super) const END: u8 = 0;
    pub(super) const NOP: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
}

/// The timestamps option (RFC 7323 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock.
    pub value: u32,
    /// The other's clock, as it was heard last.
    pub echo: u32,
}

/// What options say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The longest payload that the sender takes, in bytes (RFC 9293 3.7.1).
    pub mss: Option<u16>,
    /// Bits by which windows are to be shifted, at most 14 (RFC 7323 2.3).
    pub window_scale: Option<u8>,
    /// Selective acknowledgements may be sent (RFC 2018 2).
    pub sack_permitted: bool,
    /// Both clocks.
    pub timestamps: Option<Timestamps>,
    /// Ranges that have been received, the first `block_count` of them.
    pub blocks: [(Seq, Seq); MOST_BLOCKS],
    /// How many ranges there are.
    pub block_count: usize,
}

impl Options {
    /// The ranges that have been received (RFC 2018 3).
    pub fn blocks(&self) -> &[(Seq, Seq)] {
        &self.blocks[..self.block_count]
    }

    /// Reads options. Those that are not known are passed over (RFC 9293 3.2, MUST-6); behind one whose length makes no
    /// sense nothing is read (MUST-7).
    fn parse(mut bytes: &[u8]) -> Self {
        let mut options = Self::default();
        while let [kind, rest @ ..] = bytes {
            if *kind == kind::NOP {
                bytes = rest;
                continue;
            }
            let length = rest.first().map_or(0, |length| usize::from(*length));
            if *kind == kind::END || length < 2 || length > bytes.len() {
                break;
            }
            options.take(*kind, &bytes[2..length]);
            bytes = &bytes[length..];
        }
        options
    }

    fn take(&mut self, kind: u8, data: &[u8]) {
        let number =
            |at: usize| u32::from_be_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]]);
        match (kind, data.len()) {
            (kind::MSS, 2) => self.mss = Some(u16::from_be_bytes([data[0], data[1]])),
            // RFC 7323 2.3: more than 14 counts as 14.
            (kind::WINDOW_SCALE, 1) => self.window_scale = Some(data[0].min(14)),
            (kind::SACK_PERMITTED, 0) => self.sack_permitted = true,
            (kind::TIMESTAMPS, 8) => {
                self.timestamps = Some(Timestamps { value: number(0), echo: number(4) });
            }
            (kind::SACK, length) => {
                self.block_count = (length / 8).min(MOST_BLOCKS);
                for index in 0..self.block_count {
                    self.blocks[index] = (Seq(number(8 * index)), Seq(number(8 * index + 4)));
                }
            }
            _ => {}
        }
    }

    /// Writes them in the order in which Linux has them, padded to whole words, and returns their length.
    fn write(&self, slot: &mut [u8]) -> usize {
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            slot[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        if let Some(mss) = self.mss {
            let [high, low] = mss.to_be_bytes();
            put(&[kind::MSS, 4, high, low]);
        }
        match (self.sack_permitted, self.timestamps) {
            (true, _) => put(&[kind::SACK_PERMITTED, 2]),
            (false, Some(_)) => put(&[kind::NOP, kind::NOP]),
            (false, None) => {}
        }
        if let Some(timestamps) = self.timestamps {
            put(&[kind::TIMESTAMPS, 10]);
            put(&timestamps.value.to_be_bytes());
            put(&timestamps.echo.to_be_bytes());
        } else if self.sack_permitted {
            put(&[kind::NOP, kind::NOP]);
        }
        if let Some(scale) = self.window_scale {
            put(&[kind::NOP, kind::WINDOW_SCALE, 3, scale]);
        }
        if self.block_count > 0 {
            put(&[kind::NOP, kind::NOP, kind::SACK, 2 + 8 * self.block_count as u8]);
            for (from, to) in self.blocks() {
                put(&from.0.to_be_bytes());
                put(&to.0.to_be_bytes());
            }
        }
        at
    }
}

/// The fields of a header that are not its flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The number of the first byte, or of SYN.
    pub seq: Seq,
    /// The number that the sender expects next.
    pub ack: Seq,
    /// Control bits.
    pub control: Control,
    /// The receive window, not scaled.
    pub window: u16,
    /// The options.
    pub options: Options,
}

impl Header {
    /// Writes a frame with this header to `slot`; `fill` writes the payload and tells its length. Returns the frame's
    /// length.
    ///
    /// # Panics
    /// When `slot` has no room.
    pub fn write(
        &self,
        slot: &mut [u8],
        path: &Path,
        ports: (u16, u16),
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) -> usize {
        path.write(slot, IpNumber::TCP, CHECKSUM, |slot| {
            let (fixed, rest) = slot.split_at_mut(HEADER);
            let options = self.options.write(rest);
            fixed[..2].copy_from_slice(&ports.0.to_be_bytes());
            fixed[2..4].copy_from_slice(&ports.1.to_be_bytes());
            fixed[4..8].copy_from_slice(&self.seq.0.to_be_bytes());
            fixed[8..12].copy_from_slice(&self.ack.0.to_be_bytes());
            fixed[12] = ((HEADER + options) << 2) as u8;
            fixed[13] = self.control.0;
            fixed[14..16].copy_from_slice(&self.window.to_be_bytes());
            fixed[18..20].fill(0);
            HEADER + options + fill(&mut rest[options..])
        })
    }

    /// Bytes that a frame with this header has beside its payload, at most.
    pub fn most_overhead(path: &Path) -> usize {
        path.overhead() + HEADER + MOST_OPTIONS
    }
}

/// A segment that came.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Its ends: local is whom it is for.
    pub flow: Flow,
    /// The fields of its header.
    pub header: Header,
    /// Its data.
    pub payload: &'a [u8],
}

/// Why there is no segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The header is cut off or makes no sense.
    Malformed,
    /// The checksum is wrong.
    Damaged,
}

impl<'a> Segment<'a> {
    /// The segment in a packet of TCP. With `partial`, a checksum that was left to a card is right, too.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(packet: &Packet<'a>, partial: bool) -> Result<Self, Unfit> {
        let bytes = packet.payload;
        let (fixed, _) = bytes.split_first_chunk::<HEADER>().ok_or(Unfit::Malformed)?;
        let length = usize::from(fixed[12] >> 4) * 4;
        let options = bytes.get(HEADER..length).ok_or(Unfit::Malformed)?;
        let field = [fixed[CHECKSUM], fixed[CHECKSUM + 1]];
        let is_sound = packet.is_sound() || partial && packet.is_partial(field);
        if !is_sound {
            return Err(Unfit::Damaged);
        }
        let short = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let long = |at: usize| u32::from(short(at)) << 16 | u32::from(short(at + 2));
        Ok(Self {
            flow: Flow {
                local: SocketAddr::new(packet.destination, short(2)),
                remote: SocketAddr::new(packet.source, short(0)),
            },
            header: Header {
                seq: Seq(long(4)),
                ack: Seq(long(8)),
                control: Control(fixed[13]),
                window: short(14),
                options: Options::parse(options),
            },
            payload: &bytes[length..],
        })
    }

    /// True when all bits of `control` are set.
    pub fn has(&self, control: Control) -> bool {
        self.header.control.has(control)
    }

    /// Sequence numbers that it takes: its data, SYN and FIN (RFC 9293 3.4).
    pub fn length(&self) -> u32 {
        let of = |control| u32::from(self.has(control));
        self.payload.len() as u32 + of(Control::SYN) + of(Control::FIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(six: bool) -> Path {
        let [source, destination] =
            if six { ["fd00::1", "fd00::2"] } else { ["10.0.0.1", "10.0.0.2"] };
        let (source, destination) = (source.parse().unwrap(), destination.parse().unwrap());
        Path { mac: [2; 6], next_hop: [4; 6], source, destination }
    }

    #[test]
    fn unknown_options_are_passed_over_and_broken_ones_end_them() {
        let bytes = [30, 4, 9, 9, 1, 2, 4, 5, 0xb4, 4, 2, 3, 3, 77, 8, 0, 2, 4, 1, 1];
        let options = Options::parse(&bytes);
        assert_eq!((options.mss, options.sack_permitted), (Some(1460), true));
        assert_eq!((options.window_scale, options.timestamps), (Some(14), None));
    }

    #[test]
    fn a_syn_looks_like_that_of_linux() {
        let header = Header {
            control: Control::SYN,
            options: Options {
                mss: Some(1460),
                window_scale: Some(7),
                sack_permitted: true,
                timestamps: Some(Timestamps { value: 1, echo: 0 }),
                ..Options::default()
            },
            ..Header::default()
        };
        let mut slot = [0; 100];
        let length = header.write(&mut slot, &path(false), (1, 2), |_| 0);
        let options = &slot[54..length];
        assert_eq!(
            options,
            [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7],
            "MSS, SACK permitted, timestamps, NOP, window scale"
        );
    }

    fn options() -> impl Strategy<Value = Options> {
        let timestamps = prop::option::of(any::<(u32, u32)>());
        let blocks = (any::<[(u32, u32); MOST_BLOCKS]>(), 0..=MOST_BLOCKS);
        let on_syn = (prop::option::of(any::<u16>()), prop::option::of(0..15_u8), any::<bool>());
        (timestamps, on_syn, blocks, any::<bool>()).prop_map(|(timestamps, syn, blocks, is_syn)| {
            let timestamps = timestamps.map(|(value, echo)| Timestamps { value, echo });
            let mut options = Options { timestamps, ..Options::default() };
            if is_syn {
                (options.mss, options.window_scale, options.sack_permitted) = syn;
                return options;
            }
            options.block_count = blocks.1;
            for index in 0..blocks.1 {
                let (from, to) = blocks.0[index];
                options.blocks[index] = (Seq(from), Seq(to));
            }
            options
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            numbers: (u32, u32, u16), control in 0..64_u8, options in options(), six: bool,
            ports: (u16, u16), data in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let (seq, ack) = (Seq(numbers.0), Seq(numbers.1));
            let header = Header { seq, ack, control: Control(control), window: numbers.2, options };
            let mut slot = [0; 200];
            let length = header.write(&mut slot, &path(six), ports, |payload| {
                payload[..data.len()].copy_from_slice(&data);
                data.len()
            });
            let packet = Packet::parse(&slot[..length]).unwrap();
            let segment = Segment::parse(&packet, false).unwrap();
            prop_assert_eq!((segment.header, segment.payload), (header, &data[..]));
            prop_assert_eq!((segment.flow.remote.port(), segment.flow.local.port()), ports);
        }

        #[test]
        fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut slot = [0; 200];
            let length = path(false).write(&mut slot, IpNumber::TCP, 0, |payload| {
                payload[..bytes.len()].copy_from_slice(&bytes);
                bytes.len().max(2)
            });
            let packet = Packet::parse(&slot[..length]).unwrap();
            let _ = Segment::parse(&packet, true);
            Options::parse(&bytes);
        }
    }
}
