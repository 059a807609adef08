//! What is odd about a savefile, but does not keep its packets from being read.

use thiserror::Error;

/// Something that the user should know about a savefile that was read all the same. Offsets are in
/// bytes from the start of the file, or of its content where it is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Warning {
    /// The file ends inside a record: the capture was killed, or the file copied while it was written.
    #[error(
        "the file ends inside its last record: of at least {expected} bytes at byte {offset} \
         there are {found}; everything before was read"
    )]
    RecordCut {
        /// Where the record begins.
        offset: u64,
        /// Bytes of it that are there.
        found: u64,
        /// Bytes that it has, as far as its beginning tells.
        expected: u64,
    },
    /// The compressed file ends before the end of its compressed data.
    #[error("the compressed data is cut after the first {offset} bytes of content")]
    CompressedDataCut {
        /// Bytes of content that could be restored.
        offset: u64,
    },
    /// Some records hold more than their interface's snapshot length. As libpcap does, only that much of
    /// them is delivered.
    #[error("packets longer than the snapshot length of their interface were cut to it")]
    BeyondSnaplen,
    /// Bits of the pcap header that have no meaning are set.
    #[error("reserved bits of the link-type field {0:#010x} are set")]
    ReservedBits(
        /// The whole field.
        u32,
    ),
}
