//! Frames in memory of the process's own.

use linerate_base::Slots;

/// A row of slots and the lengths of the frames in it.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    stride: usize,
    lengths: Vec<u32>,
    /// Frames at the beginning of the row that have left.
    gone: usize,
    /// Of no frames.
    none: Vec<u32>,
}

/// Slots of a power of two would all begin in the same sets of the processor's caches: one line more moves each to
/// the next.
const LINE: usize = 64;

impl Buffer {
    /// Of `slots` frames with up to `longest` bytes.
    pub(super) fn new(slots: usize, longest: usize) -> Self {
        let stride = longest.next_multiple_of(LINE) + LINE;
        let (bytes, lengths) = (vec![0; slots * stride], Vec::with_capacity(slots));
        Self { bytes, stride, lengths, gone: 0, none: Vec::new() }
    }

    /// Slots for frames in the place of those that were there.
    pub(super) fn acquire(&mut self, most: usize) -> Slots<'_> {
        self.gone = 0;
        let end = self.bytes.len().min(most.saturating_mul(self.stride));
        Slots::new(&mut self.bytes[..end], self.stride, 0, &mut self.lengths)
    }

    /// No slots: those there are hold frames.
    pub(super) fn none(&mut self) -> Slots<'_> {
        Slots::new(&mut [], self.stride, 0, &mut self.none)
    }

    /// The frames that were filled in and have not left.
    pub(super) fn frames(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        let slots = self.bytes.chunks(self.stride);
        let frames = self.lengths.iter().zip(slots).skip(self.gone);
        frames.map(|(length, slot)| &slot[..*length as usize])
    }

    /// The first so many of the frames have left.
    pub(super) fn leave(&mut self, frames: usize) {
        self.gone += frames;
    }

    pub(super) fn clear(&mut self) {
        self.lengths.clear();
        self.gone = 0;
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
        buffer.leave(1);
        assert_eq!(buffer.none().room(), 0);
        assert_eq!(buffer.frames().collect::<Vec<_>>(), [[2]]);
        buffer.clear();
        assert_eq!(buffer.frames().len(), 0);
        assert_eq!(buffer.acquire(9).room(), 4);
    }
}
