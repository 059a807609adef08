//! Programs at hooks, and why there can be none.

use std::os::fd::{AsFd, AsRawFd};

use linerate_base::{Error, ErrorKind, Result};
use linerate_bpf::extended::{Hook, Predicate};
use linerate_sys::bpf::{Link, LoadError, Map, Position, Program, ProgramKind, ProgramSpec, Way};
use linerate_sys::interface::{self, Interface};

use super::program::assemble;
use super::{MAX_METER_FILTERS, MeterConfig, asked};
use crate::interfaces::not_found;
use crate::{ANY, Directions};

pub(super) fn check(config: &MeterConfig) -> Result<()> {
    let asked = || asked(&config.interface);
    if config.interface == ANY {
        let answered = "counting is done at the hooks of one interface";
        return Err(Error::new(ErrorKind::Unsupported, asked(), answered));
    }
    let count = config.filters.len();
    if count > MAX_METER_FILTERS {
        let answered = format!("{count} filters are more than {MAX_METER_FILTERS}");
        return Err(Error::new(ErrorKind::Invalid, asked(), answered));
    }
    Ok(())
}

pub(super) fn find(name: &str) -> Result<Interface> {
    interface::by_name(name).map_err(|error| match error.kind() {
        ErrorKind::NotFound => not_found(name).asking(asked(name)),
        _ => error,
    })
}

/// Where programs must stand. What the host sends to itself passes both hooks of the loopback
/// interface, and is counted once.
pub(super) fn ways(direction: Directions, is_loopback: bool) -> &'static [Way] {
    match direction {
        Directions::Both if is_loopback => &[Way::Ingress],
        Directions::Both => &[Way::Ingress, Way::Egress],
        Directions::In => &[Way::Ingress],
        Directions::Out => &[Way::Egress],
    }
}

/// The program at one hook: next to the wire, so that no other program takes packets away before it
/// counts them, or adds some behind it.
pub(super) fn attach(
    config: &MeterConfig,
    device: &Interface,
    way: Way,
    counters: &Map,
) -> Result<Link> {
    let (hook, position) = match way {
        Way::Ingress => (Hook::Ingress, Position::First),
        Way::Egress => (Hook::Egress, Position::Last),
    };
    let all: Vec<_> = config.filters.iter().map(|filter| &filter.predicate).collect();
    let program = load(&all, hook, counters).map_err(|e| refused(config, hook, counters, e))?;
    Link::tcx(&program, device.index, way, position)
}

fn load(
    filters: &[&Predicate],
    hook: Hook,
    counters: &Map,
) -> std::result::Result<Program, LoadError> {
    let code = assemble(filters, hook, counters.as_fd().as_raw_fd());
    Program::load(&ProgramSpec::new(ProgramKind::Classifier, &code, "meter"))
}

/// How much of a filter is enough to tell which one it is.
const LONGEST_NAME: usize = 200;

/// The kernel's refusal, with the filter that it is about.
fn refused(config: &MeterConfig, hook: Hook, counters: &Map, error: LoadError) -> Error {
    if error.log().is_empty() {
        return error.into();
    }
    let alone = |filter: &Predicate| load(&[filter], hook, counters).map(drop);
    let mut refusals = config.filters.iter().map(|filter| (filter, alone(&filter.predicate)));
    let (asked, error) = match refusals.find_map(|(filter, loaded)| Some((filter, loaded.err()?))) {
        Some((filter, error)) => {
            let text: String = filter.text.chars().take(LONGEST_NAME).collect();
            (format!("count packets of the filter `{text}`"), error)
        }
        None => {
            (format!("count packets of {} filters in one program", config.filters.len()), error)
        }
    };
    Error::from(error).asking(asked)
}
