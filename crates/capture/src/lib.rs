//! Where packets come from: live interfaces and savefiles, behind one trait.
//!
//! [`open()`] takes a [`Config`] and gives a [`Capture`] with a [`Source`](linerate_base::Source), by the
//! best back end that works here, and says so when that is not the best one there is. [`open_file`]
//! gives the packets of a savefile. [`Filtered`] filters any source in user space. [`interfaces()`] and
//! [`link_types`] tell what there is to capture, a [`Prober`] by which back ends; [`Interrupt`] ends a wait from outside.
//!
//! [`Owned`] is a set of addresses, and of ports, that are the application's, and not the host's.
//!
//! [`Meter`] only counts, in the kernel, without any packet leaving it.
//!
//! [`disk`] is where a capture's files go; [`synthetic`] makes packets up, to learn what that sustains.
//!
//! What a live source promises:
//!
//! - **Nothing before the filter.** No packet that the filter turns away is delivered, not even one that
//!   came while the source was being opened.
//! - **Whole packets.** VLAN tags that the kernel took off are put back, and count in the length. With a
//!   cooked link type the header's protocol is then the tag's, and the rest of the tag follows it.
//!   (Of two tags on one packet, the kernel shows `any` the outer one only, and not the inner one in full.)
//! - **Times of arrival**, in nanoseconds, from the [source](linerate_base::TimestampSource) that was
//!   asked for. For packet sockets the kernel stamps a packet once for all who capture it, so that they
//!   agree; a tap stamps for itself, as near to the driver as it is.
//! - **Each packet once.** What the host sends to itself is seen on its way in only, as in libpcap.
//! - **Sums that balance.** `seen = delivered + filtered + dropped + pending` at any time; exactly once the
//!   source was stopped. Where the kernel does not count what its filter turned away,
//!   [`filtered_uncounted`](linerate_base::Stats::filtered_uncounted) says so. A batch counts as delivered
//!   when it is lent out.
//! - **Faults after packets.** When the interface goes down, is deleted or moves to another namespace,
//!   all packets from before are delivered first. Then the error comes, once: of kind
//!   [`Gone`](linerate_base::ErrorKind::Gone), and the source has ended; or of kind
//!   [`Down`](linerate_base::ErrorKind::Down), and the source can be read on: it delivers again when
//!   the interface is up again. A renamed interface is captured on. `any` has no such faults.
//! - **No surprises in memory.** A ring larger than the memory that is free is refused, as the kernel
//!   would take it from other programs.
//!
//! A filter sees a VLAN tag where the back end has it: beside the packet, where a filter for hosts or ports passes over it, by
//! [`Backend::Tap`], [`Backend::Ring`] and [`Backend::Socket`]; among its bytes, where such a filter does not look
//! behind it, by [`Backend::TapXdp`] and [`Backend::Xdp`], unless the card takes tags off and its driver says so.
//!
//! Packets of a [direction](Directions) that was not asked for count as filtered by packet sockets; taps do not see them at all.
//!
//! A tap's buffer is divided evenly among its rings: one for each core, or at the XDP hook for each receive queue.
//!
//! A tap sees packets to be sent before the kernel queues them: those of its own make may lack checksums
//! that the card is to fill in, and be larger than frames.
//!
//! A source keeps to the network namespace in which it was opened, and keeps that alive. It goes on
//! when the process gives up its privileges. It imports no filter language: filters come as BPF programs.

mod card;
mod config;
pub mod disk;
mod file;
mod filtered;
mod hook;
mod interfaces;
mod interrupt;
mod link;
mod live;
mod lookout;
mod merged;
mod meter;
mod open;
mod own;
mod privilege;
mod probe;
mod sieve;
pub mod synthetic;
mod tap;
mod threads;
mod xsk;

pub use config::{ANY, Backend, Config, Directions, Fanout, FanoutMode, Filter, HOLD, MAX_SNAPLEN};
pub use file::{FileSource, open_file};
pub use filtered::Filtered;
pub use interfaces::{Capturable, interfaces, link_types};
pub use interrupt::Interrupt;
pub use live::gate::Gatekeeper;
pub use merged::merge;
pub use meter::{MAX_METER_FILTERS, Meter, MeterConfig, MeterFilter, Reading, Tally};
pub use open::{Capture, Hook, open, open_many};
pub use own::{Owned, Prefix};
pub use probe::{Probe, Prober, Support};
pub use sieve::{Compile, UserFilter};
pub use threads::{best_threads, consumer_cores};
