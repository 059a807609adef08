//! Savefiles: pcap and pcapng, read and written over plain [`Read`](std::io::Read) and
//! [`Write`](std::io::Write).
//!
//! - [`read`]: [`Reader`], a [`Source`](linerate_base::Source) that finds out by itself which format,
//!   byte order, clock resolution and compression it was given
//! - [`mod@write`]: [`Writer`], one savefile, and [`Output`], the compression around it
//! - [`rotate`]: [`Rotation`], when to begin the next file and what to call it, and [`Rotator`], the
//!   writer that does so
//!
//! What this crate promises:
//! - **No bytes make a reader panic**, loop for ever, or take more memory than 144 MiB and what the file
//!   itself has. Packets before a fault are delivered; the error then names the byte offset, what was found
//!   there and what was expected.
//! - **Captured means written.** No write error is swallowed, least of all in a `Drop`: a writer must be
//!   finished, and tells how many packets and bytes its output has taken as whole records.
//! - It opens no file, reads no clock and starts no thread. Names of files leave it as strings, bytes
//!   through the caller's `Write`. Only the local time zone is looked up, where a file's name asks for
//!   the time of day.
//!
//! Sources of the formats: draft-ietf-opsawg-pcap (pcap), draft-ietf-opsawg-pcapng (pcapng, whose block
//! and option names the code uses), and the behaviour of libpcap 1.10 where the drafts leave a choice.

mod code;
mod link;
mod order;
pub mod read;
pub mod rotate;
pub mod write;

pub use read::{Cut, Cutter, Detached, Reader, Recorded, Warning};
pub use rotate::{Opener, Rotation, Rotator, Totals};
pub use write::{Compression, Counters, Format, Options, Output, Precision, Records, Writer};
