//! What packets say: their layers, a line about each, dumps of their bytes, the time they came.
//!
//! - [`layer`]: the headers of a packet one after another, borrowed and never copied; with serde
//!   they are the objects of `--json`
//! - [`summary`]: one line per packet, as tcpdump's users know it
//! - [`Hexdump`]: bytes in hexadecimal and ASCII, byte for byte tcpdump's
//! - [`Clock`]: times of packets in tcpdump's formats
//! - [`Names`]: names of hosts and ports, from whoever knows them
//! - [`Paint`]: the colours, which are none by default
//!
//! All of it takes any bytes whatever, cut off anywhere, and neither fails nor panics; what a
//! packet holds never reaches the output unescaped. Output is appended to a `String` that the
//! caller reuses, so that printing allocates nothing per packet. The crate opens no socket,
//! reads no clock, and remembers nothing but where TCP connections began.

mod data;
mod hexdump;
pub mod layer;
mod names;
mod paint;
pub mod summary;
mod time;

use linerate_base::Packet;

pub use hexdump::{Format, Hexdump};
pub use layer::{Layer, Layers};
pub use names::{Names, Numeric, Transport};
pub use paint::Paint;
pub use summary::{Options, Summary};
pub use time::{Clock, Precision, TimeStyle};

/// The layers of `packet`, from the link inwards: [`Layers`] in a vector.
pub fn layers<'a>(packet: &Packet<'a>) -> Vec<Layer<'a>> {
    Layers::new(packet).collect()
}
