//! What an interface can do for a capture, and what [`open`](crate::open()) would choose.
//!
//! Nothing is attached or bound to find out: programs are loaded and dropped, sockets opened and closed.

mod machine;
mod place;

use linerate_base::{ErrorKind, Result};

use crate::open::UNASKED;
use crate::{Backend, Capturable};
use machine::Machine;
use place::Place;

/// The answer to whether something can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Support {
    /// It can.
    Yes,
    /// It cannot, for this reason.
    No(String),
    /// Nobody can tell without trying, for this reason.
    Unknown(String),
}

/// What was found out about one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Each back end.
    pub backends: Vec<(Backend, Support)>,
    /// XDP programs run in the driver; elsewhere they run behind it, at more cost.
    pub native_xdp: Support,
    /// AF_XDP shares memory with the driver; elsewhere the kernel copies.
    pub zero_copy: Support,
    /// The packets may be taken away from the host, by tap-xdp and unforced.
    pub exclusive: Support,
    /// XDP programs may ask for the hardware's time of receipt.
    pub hardware_timestamps: Support,
    /// The driver completes checksums of what AF_XDP sends.
    pub checksum_offload: Support,
    /// The card keeps what AF_XDP sends until it is time.
    pub launch_times: Support,
    /// The back end that a capture takes that asks for none.
    pub chosen: Option<Backend>,
    /// Why this one.
    pub reason: String,
}

/// Asks the kernel, and then drivers.
#[derive(Debug)]
pub struct Prober(Machine);

impl Support {
    fn of<T>(attempt: Result<T>) -> Self {
        let Err(error) = attempt else { return Self::Yes };
        let reason = match (error.kind(), error.advice()) {
            (ErrorKind::Permission, Some(advice)) => advice.to_owned(),
            _ => error.answered().to_owned(),
        };
        match error.kind() {
            ErrorKind::Permission | ErrorKind::Unsupported | ErrorKind::Invalid => Self::No(reason),
            _ => Self::Unknown(reason),
        }
    }

    /// Both are needed: the worse of two answers.
    fn and(self, other: &Self) -> Self {
        match (&self, other) {
            (Self::No(_), _) | (Self::Unknown(_), Self::Yes | Self::Unknown(_)) => self,
            (_, Self::No(_)) | (Self::Yes, _) => other.clone(),
        }
    }

    fn when(holds: bool, reason: &str) -> Self {
        if holds { Self::Yes } else { Self::No(reason.into()) }
    }
}

impl Default for Prober {
    fn default() -> Self {
        Self::new()
    }
}

impl Prober {
    /// Asks the kernel what this process may do.
    pub fn new() -> Self {
        Self(Machine::ask())
    }

    /// Asks what `capturable` can do, which is in the calling thread's network namespace.
    pub fn probe(&self, capturable: &Capturable) -> Probe {
        let place = Place::of(capturable);
        let backends: Vec<_> =
            Backend::ALL.map(|backend| (backend, self.backend(backend, &place))).into();
        let (chosen, reason) = choose(&backends);
        let exclusive = self.backend(Backend::TapXdp, &place).and(&place.can_be_spared());
        Probe {
            backends,
            native_xdp: place.native_xdp(),
            zero_copy: place.zero_copy(),
            exclusive,
            hardware_timestamps: place.hardware_timestamps(),
            checksum_offload: place.checksum_offload(),
            launch_times: place.launch_times(),
            chosen,
            reason,
        }
    }

    fn backend(&self, backend: Backend, place: &Place<'_>) -> Support {
        let Machine { packet_socket, tcx, xdp, xdp_socket } = &self.0;
        match backend {
            Backend::Tap => place.takes_taps().and(tcx).and(packet_socket),
            Backend::TapXdp => {
                place.takes_taps().and(&place.is_free_for_xdp()).and(xdp).and(packet_socket)
            }
            Backend::Xdp => {
                let place = place.is_free_for_xdp().and(&place.fits_in_frames());
                place.and(xdp).and(xdp_socket).and(packet_socket)
            }
            Backend::Ring | Backend::Socket => packet_socket.clone(),
        }
    }
}

fn choose(backends: &[(Backend, Support)]) -> (Option<Backend>, String) {
    let mut refusals = Vec::new();
    for (backend, support) in backends.iter().filter(|(backend, _)| UNASKED.contains(backend)) {
        match support {
            Support::No(reason) => refusals.push(format!("{backend}: {reason}")),
            _ if refusals.is_empty() => {
                let reason = "the best that leaves the driver and the host's packets alone";
                return (Some(*backend), reason.into());
            }
            _ => return (Some(*backend), refusals.join("; ")),
        }
    }
    (None, refusals.join("; "))
}

#[cfg(test)]
mod tests {
    use super::Support::{No, Unknown, Yes};
    use super::*;

    #[test]
    fn the_best_that_is_not_refused_is_chosen_and_refusals_say_why() {
        let no = || No("too old".into());
        let case = |tap, ring| {
            choose(&[
                (Backend::Tap, tap),
                (Backend::TapXdp, Yes),
                (Backend::Ring, ring),
                (Backend::Socket, Yes),
            ])
        };
        assert_eq!(case(Yes, Yes).0, Some(Backend::Tap));
        assert_eq!(case(Unknown("?".into()), Yes).0, Some(Backend::Tap));
        assert_eq!(case(no(), Yes), (Some(Backend::Ring), "tap: too old".into()));
        let both = "tap: too old; ring: too old";
        assert_eq!(case(no(), no()), (Some(Backend::Socket), both.into()));
        assert_eq!(choose(&[(Backend::Ring, no())]), (None, "ring: too old".into()));
    }

    #[test]
    fn of_two_answers_the_worse_counts() {
        let (no, unknown) = (No("a".into()), Unknown("b".into()));
        for (one, other, both) in [
            (&Yes, &Yes, &Yes),
            (&Yes, &no, &no),
            (&no, &Yes, &no),
            (&unknown, &no, &no),
            (&unknown, &Yes, &unknown),
            (&Yes, &unknown, &unknown),
            (&no, &unknown, &no),
        ] {
            assert_eq!(one.clone().and(other), *both);
        }
    }
}
