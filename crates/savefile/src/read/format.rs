//! Which format a file has, and the parser for it.

use super::fault::Fault;
use super::pcap::{self, Pcap};
use super::pcapng::{self, Pcapng};
use super::table::{Step, Stop, Table};
use crate::code::pcap::FILE_HEADER;

/// The format of a file.
#[derive(Debug)]
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
        let Some(header) = region[at..].first_chunk() else {
            return Step { at, stop: Stop::Need(Self::HEADER) };
        };
        match Self::detect(header, table) {
            Ok((format, length)) => {
                *self = format;
                self.parse(region, at + length, table)
            }
            Err(fault) => Step { at, stop: Stop::Fault(fault) },
        }
    }

    /// The format of a file that begins with `header`, and how much of that its parser does not take.
    fn detect(header: &[u8; Self::HEADER], table: &mut Table) -> Result<(Self, usize), Fault> {
        let magic = [header[0], header[1], header[2], header[3]];
        if let Some(order) = pcap::order_of(magic) {
            Ok((Self::Pcap(Pcap::new(order, header, table)?), Self::HEADER))
        } else if magic == pcapng::MAGIC {
            Ok((Self::Pcapng(Pcapng::new()), 0))
        } else {
            Err(Fault::Magic(magic))
        }
    }
}
