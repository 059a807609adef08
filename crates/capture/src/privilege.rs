//! Errors that say which privilege is missing and how to give it.

use std::io;
use std::path::Path;

use linerate_base::{Error, ErrorKind};
use linerate_sys::capability::{self, Capability};

/// The capabilities that live capture uses: the first for packet sockets; the second for programs at
/// interfaces; the last for programs at all, which also make counts of filtered packets exact.
const USED: [Capability; 3] = [Capability::NetRaw, Capability::NetAdmin, Capability::Bpf];

/// The error for an attempt on a packet socket that the system refused.
pub(crate) fn explain(asked: String, error: io::Error) -> Error {
    capability::explain(Error::system(asked, error), &[Capability::NetRaw])
}

/// The error with the command that gives this program its privileges, where one is missing.
pub(crate) fn with_remedy(error: Error) -> Error {
    if error.kind() != ErrorKind::Permission {
        return error;
    }
    let program = std::env::current_exe().unwrap_or_else(|_| "linerate".into());
    let remedy = format!("run it as root, or once: {}", setcap(&program));
    let advice = match error.advice() {
        Some(reason) => format!("{reason}; {remedy}"),
        None => remedy,
    };
    error.advise(advice)
}

fn setcap(program: &Path) -> String {
    let names = USED.map(Capability::name).join(",");
    format!("sudo setcap {names}+ep '{}'", program.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_privilege_comes_with_the_command_that_gives_it() {
        let explained = |number| explain("open x".into(), io::Error::from_raw_os_error(number));
        let error = with_remedy(explained(1));
        let advice = error.advice().unwrap();
        let path = std::env::current_exe().unwrap();
        assert!(advice.contains("sudo setcap cap_net_raw,cap_net_admin,cap_bpf+ep '"), "{advice}");
        assert!(advice.contains(path.to_str().unwrap()), "{advice}");
        assert_eq!(with_remedy(explained(12)).advice(), None);
    }
}
