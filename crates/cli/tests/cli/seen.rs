//! What `linerate doctor` saw.

use std::process::Stdio;

use linerate_lab::Host;
use serde_json::Value;

use crate::support::{Finished, LINERATE, finish};

/// Runs the doctor on a host's interface and gives what it found.
pub(crate) fn examine(host: &Host, span: &str) -> (Finished, Value) {
    let mut command = host.command(LINERATE);
    command.args(["doctor", "-i", host.interface(), "--json", "--for", span]);
    let done = finish(command.stdin(Stdio::null()));
    let seen = serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}: {done:?}"));
    (done, seen)
}

/// The finding with this cause.
pub(crate) fn finding<'a>(seen: &'a Value, cause: &str) -> &'a Value {
    let findings = seen["findings"].as_array().expect("a list");
    let found = findings.iter().find(|finding| finding["cause"] == cause);
    found.unwrap_or_else(|| panic!("no {cause} in {seen:#}"))
}
