//! Rotation: one capture, many files.
//!
//! The options are tcpdump's, and so is most of their meaning:
//! - a size (`-C`): before a packet that would make a file larger, the next file begins. Its name is the
//!   given name and a number, from 1; the first file has no number.
//! - a period (`-G`): the name is a strftime pattern, filled in with the local time at which the file's
//!   period began.
//! - a count (`-W`): with a size, the files form a ring, all numbered from 0 with as many digits as the last
//!   needs, and the oldest is overwritten; with a period, the capture ends after so many files; with
//!   both, the ring begins anew with each period.
//!
//! What is different: a file never exceeds the size, its statistics included, unless its first packet alone
//! does; tcpdump's files exceed it by a packet. And periods follow the packets' own time, not the clock of the moment at which a packet
//! is handled. So a packet is in the file whose name says its time, however late it is written, and
//! a savefile can be split long after. Periods follow each other without gap from the start that the caller
//! gives, or from the first packet; one without packets gets no file. A packet that comes late, with a time before its
//! file's period, stays in that file.
//!
//! Only a ring writes over its own files, and [`Totals`] tell how many packets that cost. Where a pattern
//! gives a later period the name of an earlier one's file (one coarser than the period, or the hour that
//! summer time repeats), `-1`, `-2` and so on is added to the name. A period whose pattern says no time
//! at all is refused, unless the capture ends after the first period. Files that were there before are
//! replaced.

mod name;
mod rotator;
mod written;

pub use name::Rotation;
pub use rotator::{Opener, Rotator, Totals};
