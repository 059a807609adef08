//! Compression around a `Write`.

use std::io::{self, Write};

use flate2::write::GzEncoder;
use linerate_base::{Error, ErrorKind, Result};

use super::name::ending;

/// How a savefile is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// gzip, at its usual level 6: understood everywhere, slow.
    Gzip,
    /// zstd, at level 1: the level that keeps up best with a capture. With checksum.
    Zstd,
}

impl Compression {
    /// The compression that the ending of a file's name, in any case, asks for: `.gz`, `.zst` or none.
    ///
    /// # Errors
    /// For the ending of a compression that is not written here: `.lz4`, `.xz`, `.bz2`.
    pub fn of_name(name: &str) -> Result<Self> {
        match ending(name).as_deref() {
            Some("gz") => Ok(Self::Gzip),
            Some("zst") => Ok(Self::Zstd),
            Some("lz4" | "xz" | "bz2") => Err(not_written(name)),
            _ => Ok(Self::None),
        }
    }
}

fn not_written(name: &str) -> Error {
    let answer = "savefiles are compressed with zstd or gzip only";
    Error::new(ErrorKind::Unsupported, format!("write a savefile named '{name}'"), answer)
        .advise("let the name end in .zst or .gz, or compress the file afterwards")
}

/// A `Write` that compresses, or not. It must be [finished](Self::finish): dropped before that, its
/// last compressed bytes are lost.
pub struct Output<W: Write>(Kind<W>);

enum Kind<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Zstd(zstd::Encoder<'static, W>),
}

impl<W: Write> Output<W> {
    /// Compresses into `inner`.
    ///
    /// # Errors
    /// When the compressor cannot be set up, for want of memory.
    pub fn new(inner: W, compression: Compression) -> io::Result<Self> {
        Ok(Self(match compression {
            Compression::None => Kind::Plain(inner),
            Compression::Gzip => Kind::Gzip(GzEncoder::new(inner, flate2::Compression::default())),
            Compression::Zstd => Kind::Zstd(zstd(inner)?),
        }))
    }

    /// Writes what the compressor still holds and gives the inner `Write` back.
    ///
    /// # Errors
    /// Those of the inner `Write`.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            Kind::Plain(inner) => Ok(inner),
            Kind::Gzip(encoder) => encoder.finish(),
            Kind::Zstd(encoder) => encoder.finish(),
        }
    }
}

fn zstd<W: Write>(inner: W) -> io::Result<zstd::Encoder<'static, W>> {
    let mut encoder = zstd::Encoder::new(inner, 1)?;
    encoder.include_checksum(true)?;
    Ok(encoder)
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Kind::Plain(inner) => inner.write(bytes),
            Kind::Gzip(encoder) => encoder.write(bytes),
            Kind::Zstd(encoder) => encoder.write(bytes),
        }
    }

    /// Ends a compressed block, so that everything written so far can be read back; costs compression.
    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Kind::Plain(inner) => inner.flush(),
            Kind::Gzip(encoder) => encoder.flush(),
            Kind::Zstd(encoder) => encoder.flush(),
        }
    }
}
