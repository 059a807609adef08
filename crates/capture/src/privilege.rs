//! Errors that say which privilege is missing and how to give it.

use std::io;
use std::path::Path;

use linerate_base::{Error, ErrorKind};
use linerate_sys::capability::Capability;

/// The capabilities that live capture uses: the second makes counts of filtered packets exact.
const USED: [Capability; 2] = [Capability::NetRaw, Capability::Bpf];

/// The error for an attempt that the system refused; where a privilege is missing, with the command
/// that gives it to this program.
pub(crate) fn explain(asked: String, error: io::Error) -> Error {
    let error = Error::system(asked, error);
    if error.kind() != ErrorKind::Permission {
        return error;
    }
    let program = std::env::current_exe().unwrap_or_else(|_| "linerate".into());
    error.advise(format!("run it as root, or once: {}", setcap(&program)))
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
        let error = explain("open x".into(), io::Error::from_raw_os_error(1));
        let advice = error.advice().unwrap();
        let path = std::env::current_exe().unwrap();
        assert!(advice.contains("sudo setcap cap_net_raw,cap_bpf+ep '"), "{advice}");
        assert!(advice.contains(path.to_str().unwrap()), "{advice}");
        assert_eq!(explain("open x".into(), io::Error::from_raw_os_error(12)).advice(), None);
    }
}
