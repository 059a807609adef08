//! A generator of savefiles in either byte order, independent of the writer.

/// Appends numbers in one byte order.
pub(crate) struct Maker {
    pub(crate) big: bool,
    pub(crate) bytes: Vec<u8>,
}

impl Maker {
    pub(crate) fn new(big: bool) -> Self {
        Self { big, bytes: Vec::new() }
    }

    pub(crate) fn u16(mut self, value: u16) -> Self {
        self.bytes.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }

    pub(crate) fn u32(mut self, value: u32) -> Self {
        self.bytes.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }

    pub(crate) fn u64(mut self, value: u64) -> Self {
        self.bytes.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }

    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    fn pad(mut self) -> Self {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    /// A pcap file header.
    pub(crate) fn pcap(self, magic: u32, version: (u16, u16), snaplen: u32, link: u32) -> Self {
        self.u32(magic).u16(version.0).u16(version.1).u64(0).u32(snaplen).u32(link)
    }

    /// A pcap record; `lengths` in the order in which they are written.
    pub(crate) fn record(self, time: (u32, u32), lengths: (u32, u32), data: &[u8]) -> Self {
        self.u32(time.0).u32(time.1).u32(lengths.0).u32(lengths.1).raw(data)
    }

    /// A pcapng block around `body`, which has this maker's byte order.
    pub(crate) fn block(self, kind: u32, body: Self) -> Self {
        let body = body.pad();
        let length = body.bytes.len() as u32 + 12;
        self.u32(kind).u32(length).raw(&body.bytes).u32(length)
    }

    fn body(&self) -> Self {
        Self::new(self.big)
    }

    pub(crate) fn section(self) -> Self {
        let body = self.body().u32(0x1a2b_3c4d).u16(1).u16(0).u64(u64::MAX);
        self.block(0x0a0d_0d0a, body)
    }

    /// Begins a section in the other or the same byte order.
    pub(crate) fn section_in(mut self, big: bool) -> Self {
        self.big = big;
        self.section()
    }

    /// An Interface Description Block; `options` as codes and values.
    pub(crate) fn interface(self, link: u16, snaplen: u32, options: &[(u16, &[u8])]) -> Self {
        let body = self.body().u16(link).u16(0).u32(snaplen).options(options);
        self.block(1, body)
    }

    pub(crate) fn enhanced(
        self,
        interface: u32,
        ticks: u64,
        length: u32,
        data: &[u8],
        options: &[(u16, &[u8])],
    ) -> Self {
        let (high, low) = ((ticks >> 32) as u32, ticks as u32);
        let head = self.body().u32(interface).u32(high).u32(low);
        let body = head.u32(data.len() as u32).u32(length).raw(data).pad().options(options);
        self.block(6, body)
    }

    pub(crate) fn simple(self, length: u32, data: &[u8]) -> Self {
        let body = self.body().u32(length).raw(data);
        self.block(3, body)
    }

    pub(crate) fn obsolete(self, interface: u16, ticks: u64, data: &[u8]) -> Self {
        let (high, low) = ((ticks >> 32) as u32, ticks as u32);
        let length = data.len() as u32;
        let head = self.body().u16(interface).u16(0xffff).u32(high).u32(low);
        let body = head.u32(length).u32(length).raw(data);
        self.block(2, body)
    }

    pub(crate) fn options(mut self, options: &[(u16, &[u8])]) -> Self {
        for (code, value) in options {
            self = self.u16(*code).u16(value.len() as u16).raw(value).pad();
        }
        if options.is_empty() { self } else { self.u32(0) }
    }
}
