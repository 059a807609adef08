//! Where a set notes which filters keep packets: words of bits, which hold nothing until they are written.

/// Words that a byte is about, which says of each whether it was written.
pub(crate) const GROUP: usize = 8;

/// How many words to leave out at the beginning, fewer than a group, so that groups of those behind are cache lines. Who
/// keeps so many words more than are needed has as many as are needed.
pub(crate) fn skip(words: &[u64]) -> usize {
    words.as_ptr().align_offset(GROUP * size_of::<u64>()) % GROUP
}

/// The words of some packets.
pub(crate) struct Sheet<'a> {
    words: &'a mut [u64],
    written: &'a mut [u8],
    stride: usize,
    groups: usize,
}

impl<'a> Sheet<'a> {
    /// Of words with a distance of `stride` from a packet to the next, and a byte of each packet for every group of them.
    pub(crate) fn new(words: &'a mut [u64], written: &'a mut [u8], stride: usize) -> Self {
        Self { words, written, stride, groups: stride.div_ceil(GROUP) }
    }

    /// Adds bits to a packet's word of a number. If that was not written, there was nothing in it.
    #[inline(always)]
    pub(crate) fn insert(&mut self, packet: usize, number: usize, bits: u64) {
        let written = &mut self.written[packet * self.groups + number / GROUP];
        add(&mut self.words[packet * self.stride + number], written, number, bits);
    }

    /// The first words of a packet, and which of them were written.
    #[inline(always)]
    pub(crate) fn row(&mut self, packet: usize, width: usize) -> (&mut [u64], &mut [u8]) {
        (
            &mut self.words[packet * self.stride..][..width],
            &mut self.written[packet * self.groups..][..width.div_ceil(GROUP)],
        )
    }
}

/// Adds bits to a word of a number.
#[inline(always)]
pub(crate) fn add(word: &mut u64, written: &mut u8, number: usize, bits: u64) {
    let place = number % GROUP;
    let was_written = u64::from(*written >> place & 1);
    *word = *word & was_written.wrapping_neg() | bits;
    *written |= 1 << place;
}
