//! Which capability a refused process lacks.

use linerate_base::{Error, ErrorKind};

use super::{Capabilities, Capability};

/// The error with the names of the capabilities among `needed` that the calling thread lacks,
/// where it is about permission; otherwise as it is.
pub fn explain(error: Error, needed: &[Capability]) -> Error {
    if error.kind() != ErrorKind::Permission {
        return error;
    }
    let has = Capabilities::current().ok();
    error.advise(advice(needed, |capability| has.is_some_and(|has| has.contains(capability))))
}

/// The error with the command that gives this program the capabilities that it uses, behind what it says already.
#[must_use]
pub fn with_remedy(error: Error, used: &[Capability]) -> Error {
    let program = std::env::current_exe().unwrap_or_else(|_| "linerate".into());
    let names: Vec<_> = used.iter().map(|capability| capability.name()).collect();
    let names = names.join(",");
    let remedy = format!("run it as root, or once: sudo setcap {names}+ep '{}'", program.display());
    let advice = match error.advice() {
        Some(reason) => format!("{reason}; {remedy}"),
        None => remedy,
    };
    error.advise(advice)
}

/// True when the calling thread has `capability`, or CAP_SYS_ADMIN, which bpf(2) takes for any.
pub(crate) fn has_for_bpf(capability: Capability) -> bool {
    Capabilities::current()
        .is_ok_and(|has| has.contains(capability) || has.contains(Capability::SysAdmin))
}

fn advice(needed: &[Capability], has: impl Fn(Capability) -> bool) -> String {
    let missing = needed.iter().filter(|capability| !has(**capability));
    let missing: Vec<_> = missing.map(|capability| capability.name().to_uppercase()).collect();
    if missing.is_empty() {
        return "the capabilities are there, but count in a user namespace only, \
                or a security policy forbids it"
            .to_owned();
    }
    format!("this process lacks {}", missing.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::Capability::{Bpf, NetAdmin};
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let both = [Bpf, NetAdmin];
        assert_eq!(advice(&both, |c| c == Bpf), "this process lacks CAP_NET_ADMIN");
        assert_eq!(advice(&both, |_| false), "this process lacks CAP_BPF and CAP_NET_ADMIN");
        assert!(advice(&[Bpf], |_| true).contains("user namespace"));
    }

    #[test]
    fn other_errors_stay_as_they_are() {
        let error = explain(Error::new(ErrorKind::Busy, "ask", "no"), &[Bpf]);
        assert_eq!(error.advice(), None);
    }
}
