//! The system's libpcap and ours.

use std::process::Command;

use anyhow::{Result, bail};
use tempfile::TempDir;

use crate::bench::capture::subject::TCPDUMP;
use crate::bench::peer::version;
use crate::commands::with::library::{find, linked};

/// Where programs look for libraries first (ld.so(8)).
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// Both libraries, and what tcpdump is called by either.
pub(super) struct Libraries {
    ours: TempDir,
    tcpdump: String,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    System,
    Ours,
}

impl Which {
    pub(super) const BOTH: [Self; 2] = [Self::System, Self::Ours];
}

impl Libraries {
    /// # Errors
    /// When ours was not built, or there is no tcpdump.
    pub(super) fn find() -> Result<Self> {
        let Some(version) = version(TCPDUMP) else {
            bail!("measure libpcap by tcpdump: it is not installed: `apt install tcpdump`");
        };
        Ok(Self { ours: linked(&find()?)?, tcpdump: format!("{TCPDUMP} {version}") })
    }

    /// What tcpdump is called in rows.
    pub(super) fn tcpdump(&self, which: Which) -> String {
        match which {
            Which::System => self.tcpdump.clone(),
            Which::Ours => format!("{}, linerate", self.tcpdump),
        }
    }

    /// What has a program find the library, as `env` takes it.
    pub(super) fn setting(&self, which: Which) -> String {
        match which {
            Which::System => format!("{LIBRARY_PATH}="),
            Which::Ours => format!("{LIBRARY_PATH}={}", self.ours.path().display()),
        }
    }

    /// Has a program find the library.
    pub(super) fn choose(&self, which: Which, command: &mut Command) {
        match which {
            Which::System => command.env_remove(LIBRARY_PATH),
            Which::Ours => command.env(LIBRARY_PATH, self.ours.path()),
        };
    }
}
