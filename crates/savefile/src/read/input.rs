//! Decompression, chosen by the first bytes.

use std::io::{self, BufReader, Chain, Cursor, Read, Take};

use flate2::bufread::MultiGzDecoder;

use super::lz4::Lz4;

/// Enough bytes to tell every format apart.
const MAGIC: usize = 4;

/// The input with its first bytes put back.
type Whole<R> = Chain<Take<Cursor<[u8; MAGIC]>>, R>;

/// The content of a file that may be compressed: with gzip (any number of members), zstd or lz4 (any
/// number of frames). A cut in compressed data is [`io::ErrorKind::UnexpectedEof`].
pub(super) enum Input<R: Read> {
    Plain(Whole<R>),
    Gzip(Box<MultiGzDecoder<BufReader<Whole<R>>>>),
    Zstd(zstd::Decoder<'static, BufReader<Whole<R>>>),
    Lz4(Box<Lz4<BufReader<Whole<R>>>>),
}

impl<R: Read> Input<R> {
    /// Reads the first bytes of `input` to find out what it is.
    pub(super) fn detect(mut input: R) -> io::Result<Self> {
        let mut magic = [0; MAGIC];
        let count = read_up_to(&mut input, &mut magic)?;
        let whole = Cursor::new(magic).take(count as u64).chain(input);
        Ok(match magic {
            // RFC 1952 2.3.1
            [0x1f, 0x8b, ..] => Self::Gzip(Box::new(MultiGzDecoder::new(BufReader::new(whole)))),
            // RFC 8878 3.1.1, and 3.1.2: parallel compressors begin with a skippable frame.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
                Self::Zstd(zstd::Decoder::with_buffer(BufReader::new(whole))?)
            }
            // LZ4 frame format 1.6.4, "General structure"
            [0x04, 0x22, 0x4d, 0x18] => Self::Lz4(Box::new(Lz4::new(BufReader::new(whole)))),
            _ => Self::Plain(whole),
        })
    }

    /// True when the file is compressed.
    pub(super) fn is_compressed(&self) -> bool {
        !matches!(self, Self::Plain(_))
    }
}

impl<R: Read> Read for Input<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(input) => input.read(buffer),
            Self::Gzip(input) => input.read(buffer),
            Self::Zstd(input) => input.read(buffer),
            Self::Lz4(input) => input.read(buffer),
        }
    }
}

/// Reads until `buffer` is full or the input ends.
fn read_up_to(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while count < buffer.len() {
        match input.read(&mut buffer[count..]) {
            Ok(0) => break,
            Ok(read) => count += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}
