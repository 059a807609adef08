//! What every command that sends keeps to.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use linerate::transmit::{Blocklist, Outlet};

use crate::exit::usage;

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

/// Nobody shall load a real network by a slip of the hand.
///
/// # Errors
/// Of usage, where a default route leads by the interface and the user has not said that this is meant.
pub(super) fn check_network(interface: &str, is_meant: bool, outlet: &Outlet) -> Result<()> {
    if is_meant || !outlet.is_way_out()? {
        return Ok(());
    }
    Err(usage(format!(
        "{interface} has a default route: what is sent there may reach everybody \
         (if you may send it, say --on-real-network)"
    )))
}
