//! Numbers that the formats are made of, for readers and writers alike.

/// pcap, draft-ietf-opsawg-pcap section 4.
pub(crate) mod pcap {
    /// Size of the file header.
    pub(crate) const FILE_HEADER: usize = 24;
    /// Size of the header of a record.
    pub(crate) const RECORD_HEADER: usize = 16;

    /// First word of a file whose times are in microseconds.
    pub(crate) const MICROSECONDS: u32 = 0xa1b2_c3d4;
    /// First word of a file whose times are in nanoseconds.
    pub(crate) const NANOSECONDS: u32 = 0xa1b2_3c4d;
}

/// pcapng's types of blocks, draft-ietf-opsawg-pcapng section 4.
pub(crate) mod block {
    /// Section Header Block: a palindrome, the same in either byte order.
    pub(crate) const SECTION: u32 = 0x0a0d_0d0a;
    /// Interface Description Block.
    pub(crate) const INTERFACE: u32 = 1;
    /// Packet Block, obsolete.
    pub(crate) const PACKET: u32 = 2;
    /// Simple Packet Block.
    pub(crate) const SIMPLE_PACKET: u32 = 3;
    /// Interface Statistics Block.
    pub(crate) const STATISTICS: u32 = 5;
    /// Enhanced Packet Block.
    pub(crate) const ENHANCED_PACKET: u32 = 6;

    /// What follows type and length of a section header, in the section's byte order.
    pub(crate) const ORDER_MAGIC: u32 = 0x1a2b_3c4d;
}

/// pcapng's options, each group with the numbers of its own kind of block.
pub(crate) mod option {
    pub(crate) const END: u16 = 0;
    pub(crate) const COMMENT: u16 = 1;

    pub(crate) const SHB_HARDWARE: u16 = 2;
    pub(crate) const SHB_OS: u16 = 3;
    pub(crate) const SHB_USERAPPL: u16 = 4;

    pub(crate) const IF_NAME: u16 = 2;
    pub(crate) const IF_DESCRIPTION: u16 = 3;
    pub(crate) const IF_TSRESOL: u16 = 9;
    pub(crate) const IF_FILTER: u16 = 11;
    pub(crate) const IF_TSOFFSET: u16 = 14;

    /// First byte of `if_filter` when the rest is the filter as its author wrote it.
    pub(crate) const FILTER_TEXT: u8 = 0;

    /// What a comment of an interface begins with that tells where its packets' times come from. Ours:
    /// the format has no option for it.
    pub(crate) const TIMESTAMPS: &str = "timestamps: ";

    /// Also `pack_flags` of the obsolete Packet Block.
    pub(crate) const EPB_FLAGS: u16 = 2;
    /// The bits of `epb_flags` that hold the direction.
    pub(crate) const DIRECTION: u32 = 3;
    pub(crate) const INBOUND: u32 = 1;
    pub(crate) const OUTBOUND: u32 = 2;

    pub(crate) const ISB_IFRECV: u16 = 4;
    pub(crate) const ISB_IFDROP: u16 = 5;
    pub(crate) const ISB_FILTERACCEPT: u16 = 6;
    pub(crate) const ISB_OSDROP: u16 = 7;
    pub(crate) const ISB_USRDELIV: u16 = 8;
}
