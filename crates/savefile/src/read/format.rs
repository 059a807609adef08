//! Which format a file has, and the parser for it.

use super::fault::Fault;
use super::pcap::{self, Pcap};
use super::pcapng::{self, Pcapng};
use super::table::{Step, Stop, Table};
use crate::code::pcap::FILE_HEADER;

/// The format of a file.
#[derive(Clone, Debug)]
pub(super) enum Format {
    /// Its first bytes have not been seen.
    Unknown,
    Pcap(Pcap),
    Pcapng(Pcapng),
}

impl Format {
    /// Bytes that must be there to tell a file's format: a pcap header. No pcapng file is shorter.
    pub(super) const HEADER: usize = FILE_HEADER;

    /// Takes every whole record of `region` from `at` on.
    pub(super) fn parse(&mut self, region: &[u8], at: usize, table: &mut Table) -> Step {
        match self {
            Self::Unknown => self.begin(region, at, table),
            Self::Pcap(pcap) => pcap.parse(region, at, table),
            Self::Pcapng(pcapng) => pcapng.parse(region, at, table),
        }
    }

    fn begin(&mut self, region: &[u8], at: usize, table: &mut Table) -> Step {
        match Self::detect(&region[at..], table) {
            Ok((format, length)) => {
                *self = format;
                self.parse(region, at + length, table)
            }
            Err(stop) => Step { at, stop },
        }
    }

    /// The format of a file that begins with `bytes`, and how many of them its parser does not take. What
    /// is no savefile is told as such by its first four bytes, however short it is.
    fn detect(bytes: &[u8], table: &mut Table) -> Result<(Self, usize), Stop> {
        let missing = Stop::Need(Self::HEADER);
        let Some(&magic) = bytes.first_chunk() else { return Err(missing) };
        let order = pcap::order_of(magic);
        if order.is_none() && magic != pcapng::MAGIC {
            return Err(foreign(magic).into());
        }
        let Some(header) = bytes.first_chunk() else { return Err(missing) };
        Ok(match order {
            Some(order) => (Self::Pcap(Pcap::new(order, header, table)?), Self::HEADER),
            None => (Self::Pcapng(Pcapng::new()), 0),
        })
    }
}

/// What is wrong with a file that is neither pcap nor pcapng.
fn foreign(magic: [u8; 4]) -> Fault {
    match magic {
        // The .xz file format 1.2.1, 2.1.1.1
        [0xfd, b'7', b'z', b'X'] => Fault::Compressed("xz"),
        // bzip2 1.0: "BZh" and the block size in units of 100 kB
        [b'B', b'Z', b'h', b'1'..=b'9'] => Fault::Compressed("bzip2"),
        _ => Fault::Magic(magic),
    }
}
