//! Programs at hooks, and why there can be none.

use linerate_base::{Error, ErrorKind, Result};
use linerate_bpf::extended::Hook;
use linerate_sys::bpf::{Link, LoadError, Position, Program, ProgramKind, ProgramSpec, Way};
use linerate_sys::interface::{self, Interface};

use super::program::{Plan, assemble};
use super::{MAX_METER_FILTERS, MeterConfig, asked};
use crate::interfaces::not_found;
use crate::{ANY, Directions};

pub(super) fn check(config: &MeterConfig) -> Result<()> {
    if config.interface == ANY {
        let answered = "counting is done at the hooks of one interface";
        return Err(Error::new(ErrorKind::Unsupported, asked(&config.interface), answered));
    }
    room_for(config.filters.len(), &config.interface)
}

/// Whether so many filters can be counted.
pub(super) fn room_for(count: usize, interface: &str) -> Result<()> {
    if count > MAX_METER_FILTERS {
        let answered = format!("{count} filters are more than {MAX_METER_FILTERS}");
        return Err(Error::new(ErrorKind::Invalid, asked(interface), answered));
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
pub(super) fn attach(plan: &Plan<'_>, device: &Interface, way: Way) -> Result<Link> {
    let position = match way {
        Way::Ingress => Position::First,
        Way::Egress => Position::Last,
    };
    Link::tcx(&program(plan, way)?, device.index, way, position)
}

/// The program for one way.
///
/// # Errors
/// The kernel's refusal, with the filter that it is about.
pub(super) fn program(plan: &Plan<'_>, way: Way) -> Result<Program> {
    let hook = match way {
        Way::Ingress => Hook::Ingress,
        Way::Egress => Hook::Egress,
    };
    load(plan, hook).map_err(|error| refused(plan, hook, error))
}

fn load(plan: &Plan<'_>, hook: Hook) -> std::result::Result<Program, LoadError> {
    let code = assemble(plan, hook);
    Program::load(&ProgramSpec::new(ProgramKind::Classifier, &code, "meter"))
}

/// How much of a filter is enough to tell which one it is.
const LONGEST_NAME: usize = 200;

fn refused(plan: &Plan<'_>, hook: Hook, error: LoadError) -> Error {
    if error.log().is_empty() {
        return error.into();
    }
    let alone = |one| load(&Plan { filters: std::slice::from_ref(one), ..*plan }, hook).err();
    let (asked, error) = match plan.filters.iter().find_map(|one| Some((one, alone(one)?))) {
        Some(((_, filter), error)) => {
            let text: String = filter.text.chars().take(LONGEST_NAME).collect();
            (format!("count packets of the filter `{text}`"), error)
        }
        None => (format!("count packets of {} filters in one program", plan.filters.len()), error),
    };
    Error::from(error).asking(asked)
}
