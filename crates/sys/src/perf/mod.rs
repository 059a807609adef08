//! Where processors are, asked some hundred times a second: perf_event_open(2).
//!
//! A [`Sampler`] has the kernel note, at a steady rate, what one processor or one thread is doing: the
//! stack in the kernel and, where that is wanted, that in the process. The notes come in a ring that the kernel shares; who reads
//! too late loses some, and the kernel counts these. Where the processor's own cycle counter can be had the
//! kernel samples by it, elsewhere (in most virtual machines) by a timer.
//!
//! Sources: perf_event_open(2); `linux/perf_event.h` (Linux 6.18).

mod attributes;
mod cost;
mod record;
mod ring;
mod sampler;

pub use attributes::{Clock, Stacks, Target};
pub use cost::of_a_sample;
pub use record::{Record, Sample};
pub use sampler::{Sampler, has_cycles};
