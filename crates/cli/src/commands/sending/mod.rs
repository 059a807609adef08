//! What every command that sends does: what it refuses and says beforehand, how far it is, what it says at the end.

mod progress;
mod shown;
mod summary;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use linerate::transmit::pacing::{Pace, Schedule};
use linerate::transmit::{Backend, Blocklist, Outlet};

pub(super) use progress::Progress;
pub(super) use shown::Shown;
pub(super) use summary::{Facts, Replayed, Taker, report};

use crate::args::OutletArgs;
use crate::exit::usage;
use crate::output;

/// The destinations that nothing is sent to.
///
/// # Errors
/// When the file cannot be read or understood.
pub(super) fn blocklist(path: Option<&Path>) -> Result<Blocklist> {
    let Some(path) = path else { return Ok(Blocklist::default()) };
    let name = path.display().to_string();
    let text = fs::read_to_string(path).with_context(|| format!("read the blocklist {name}"))?;
    Ok(Blocklist::parse(&text, &name)?)
}

/// That somebody may send there: nobody shall load a real network by a slip of the hand.
///
/// # Errors
/// Of usage, where a default route leads by the interface and the user has not said that this is meant.
pub(super) fn check_network(interface: &str, is_meant: bool, outlet: &Outlet) -> Result<()> {
    if outlet.is_loopback() {
        output::tell(format_args!("{interface}: this host itself receives what is sent there"));
    }
    if is_meant || !outlet.is_way_out()? {
        return Ok(());
    }
    Err(usage(format!(
        "{interface} has a default route: what is sent there may reach everybody \
         (if you may send it, say --on-real-network)"
    )))
}

/// That the pace makes sense.
///
/// # Errors
/// Of usage, with the option that does not fit the others.
pub(super) fn check_pace(pace: &Pace) -> Result<()> {
    let checked = Schedule::new(pace).map(drop);
    checked.map_err(|wrong| usage(format!("--{}: {}", wrong.field, wrong.reason)))
}

/// The queue that was asked for, of a back end that takes one.
///
/// # Errors
/// Of usage, for other back ends.
pub(super) fn queue(args: &OutletArgs) -> Result<u32> {
    match (args.queue, args.backend) {
        (None, _) => Ok(0),
        (Some(queue), Some(Backend::Xdp)) => Ok(queue),
        (Some(_), _) => {
            Err(usage("--queue: only an AF_XDP socket has one; say --backend xdp as well"))
        }
    }
}
