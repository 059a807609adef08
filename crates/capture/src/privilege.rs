//! Errors that say which privilege is missing and how to give it.

use std::io;

use linerate_base::{Error, ErrorKind};
use linerate_sys::capability::{self, Capability};

use crate::Backend;

/// The capabilities that live capture uses: the first for packet sockets; the second for programs at
/// interfaces; the last for programs at all, which also make counts of filtered packets exact.
const USED: [Capability; 3] = [Capability::NetRaw, Capability::NetAdmin, Capability::Bpf];

/// The memory of AF_XDP sockets is locked.
const USED_BY_XDP: [Capability; 4] =
    [Capability::NetRaw, Capability::NetAdmin, Capability::Bpf, Capability::IpcLock];

/// `ENOBUFS`, which has no name in `std`: the memory may not be locked.
const NO_BUFFERS: Option<i32> = Some(105);

/// The error for an attempt on a packet socket that the system refused.
pub(crate) fn explain(asked: String, error: io::Error) -> Error {
    capability::explain(Error::system(asked, error), &[Capability::NetRaw])
}

/// The error with the command that gives this program its privileges for `backend`, where one is missing.
pub(crate) fn with_remedy(error: Error, backend: Option<Backend>) -> Error {
    let xdp = backend == Some(Backend::Xdp);
    let is_locked_out = xdp && error.raw_os_error() == NO_BUFFERS;
    if error.kind() != ErrorKind::Permission && !is_locked_out {
        return error;
    }
    capability::with_remedy(error, if xdp { &USED_BY_XDP } else { &USED })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_privilege_comes_with_the_command_that_gives_it() {
        let explained = |number| explain("open x".into(), io::Error::from_raw_os_error(number));
        let error = with_remedy(explained(1), None);
        let advice = error.advice().unwrap();
        let path = std::env::current_exe().unwrap();
        assert!(advice.contains("sudo setcap cap_net_raw,cap_net_admin,cap_bpf+ep '"), "{advice}");
        assert!(advice.contains(path.to_str().unwrap()), "{advice}");
        assert_eq!(with_remedy(explained(12), None).advice(), None);
    }

    #[test]
    fn memory_that_may_not_be_locked_is_a_matter_of_a_capability_for_af_xdp() {
        let explained = || explain("open x".into(), io::Error::from_raw_os_error(105));
        let advised = with_remedy(explained(), Some(Backend::Xdp));
        let command = "sudo setcap cap_net_raw,cap_net_admin,cap_bpf,cap_ipc_lock+ep '";
        assert!(advised.advice().unwrap().contains(command), "{advised}");
        assert_eq!(with_remedy(explained(), Some(Backend::Ring)).advice(), None);
    }
}
