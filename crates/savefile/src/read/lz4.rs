//! lz4 frames, one after another, with cuts told from ends.
//!
//! The library's decoder returns 0 both at the end of a frame and where a file is cut between two blocks,
//! and goes on with the next frame when it is asked again. This wrapper watches what the decoder
//! takes from its input to tell these cases apart.

use std::io::{self, Read};

use lz4_flex::frame::FrameDecoder;

pub(super) struct Lz4<R: Read> {
    decoder: FrameDecoder<Watched<R>>,
    /// The decoder stands before a frame (or the end of the input), not inside one.
    between_frames: bool,
}

/// A reader that knows how much it has given and whether it came to its end.
struct Watched<R> {
    input: R,
    given: u64,
    ended: bool,
}

impl<R: Read> Lz4<R> {
    pub(super) fn new(input: R) -> Self {
        let watched = Watched { input, given: 0, ended: false };
        Self { decoder: FrameDecoder::new(watched), between_frames: true }
    }
}

impl<R: Read> Read for Lz4<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let before = self.decoder.get_ref().given;
            let count = self.decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                self.between_frames = false;
                return Ok(count);
            }
            let input = self.decoder.get_ref();
            match (input.ended, self.between_frames && input.given == before) {
                (false, _) => self.between_frames = true,
                (true, true) => return Ok(0),
                (true, false) => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }
}

impl<R: Read> Read for Watched<R> {
    /// Reads on after an interruption: the decoder would lose what it had read of a frame's header.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = loop {
            match self.input.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome?,
            }
        };
        self.given += count as u64;
        self.ended |= count == 0 && !buffer.is_empty();
        Ok(count)
    }
}
