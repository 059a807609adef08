//! Frames in memory of the process's own.

use linerate_base::Slots;

/// A row of slots and the lengths of the frames in it.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    stride: usize,
    lengths: Vec<u32>,
}

/// Slots of a power of two would all begin in the same sets of the processor's caches: one line more moves each to
/// the next.
const LINE: usize = 64;

impl Buffer {
    /// Of `slots` frames with up to `longest` bytes.
    pub(super) fn new(slots: usize, longest: usize) -> Self {
        let stride = longest.next_multiple_of(LINE) + LINE;
        Self { bytes: vec![0; slots * stride], stride, lengths: Vec::with_capacity(slots) }
    }

    pub(super) fn acquire(&mut self, most: usize) -> Slots<'_> {
        let end = self.bytes.len().min(most.saturating_mul(self.stride));
        Slots::new(&mut self.bytes[..end], self.stride, 0, &mut self.lengths)
    }

    /// The frames that were filled in.
    pub(super) fn frames(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let slots = self.bytes.chunks(self.stride);
        self.lengths.iter().zip(slots).map(|(length, slot)| &slot[..*length as usize])
    }

    pub(super) fn clear(&mut self) {
        self.lengths.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_were_put_in() {
        let mut buffer = Buffer::new(4, 100);
        assert_eq!(buffer.acquire(9).room(), 4);
        let mut slots = buffer.acquire(2);
        for byte in [1, 2] {
            slots.push(|slot| {
                slot[0] = byte;
                1
            });
        }
        assert_eq!(slots.room(), 0);
        assert_eq!(buffer.frames().collect::<Vec<_>>(), [[1], [2]]);
        buffer.clear();
        assert_eq!(buffer.frames().len(), 0);
    }
}
