//! What can be wrong with a savefile.

use linerate_base::{Error, ErrorKind};
use thiserror::Error;

use super::pcapng::{MAX_BLOCK, MIN_BLOCK};
use super::table::MAX_INTERFACES;

/// What was found in a savefile, and what was expected instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum Fault {
    #[error("the file is empty, expected the header of a pcap or pcapng file")]
    Empty,
    #[error("the first bytes are {0:02x?}: this is no pcap or pcapng file")]
    Magic([u8; 4]),
    #[error("the file is compressed with {0}, which is not read here")]
    Compressed(&'static str),
    #[error("the compressed data end before the first packet")]
    CompressedCut,
    #[error("the file ends after {found} bytes, expected a header of at least {expected}")]
    HeaderCut { found: usize, expected: usize },
    #[error("version {major}.{minor}, expected {expected}")]
    Version { major: u16, minor: u16, expected: &'static str },
    #[error("a packet of {captured} bytes, expected at most {limit}")]
    Captured { captured: u32, limit: u32 },
    #[error("byte-order magic {0:#010x}, expected 0x1a2b3c4d in either byte order")]
    OrderMagic(u32),
    #[error("block length {0}, expected a multiple of 4 from {MIN_BLOCK} to {MAX_BLOCK}")]
    BlockLength(u32),
    #[error("block length {trailing} at the block's end, expected {leading} as at its start")]
    TrailingLength { leading: u32, trailing: u32 },
    #[error("a block of type {kind} and {length} bytes, expected at least {expected}")]
    BlockShort { kind: u32, length: usize, expected: usize },
    #[error("a packet of {captured} bytes in a block with room for {room}")]
    PacketPastBlock { captured: u32, room: usize },
    #[error("a packet of interface {id}, expected one of the {known} described in this section")]
    UnknownInterface { id: u32, known: usize },
    #[error("more than {MAX_INTERFACES} interfaces")]
    Interfaces,
    #[error("an option that runs past the end of its block")]
    OptionPastBlock,
    #[error("option {code} with {length} bytes, expected {expected}")]
    OptionLength { code: u16, length: usize, expected: usize },
    #[error("clock resolution {0:#04x}, expected 10^-19 or 2^-63 at the finest")]
    Resolution(u8),
}

impl Fault {
    /// The error that a caller sees; `place` names the spot ("byte 24").
    pub(crate) fn at(self, place: &str) -> Error {
        let kind = match self {
            Self::Version { .. } | Self::Compressed(_) => ErrorKind::Unsupported,
            _ => ErrorKind::Malformed,
        };
        let error = Error::new(kind, format!("read the savefile at {place}"), self.to_string());
        match self {
            Self::Compressed(program) => error
                .advise(format!("decompress it on the way: {program} -dc FILE | linerate read -")),
            Self::Empty | Self::Magic(_) => error.advise(
                "pcap and pcapng are read, as they are or compressed with gzip, zstd or LZ4",
            ),
            _ => error,
        }
    }
}
