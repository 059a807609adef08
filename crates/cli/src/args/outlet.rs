use std::path::PathBuf;

use clap::Args;
use linerate::transmit::Backend;

use crate::units;

/// Where packets that are made or replayed go: out of the host, or to be looked at.
#[derive(Debug, Args)]
pub(crate) struct OutletArgs {
    /// Print the first packets, 10 unless named, as they would leave, and send nothing.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "10", value_parser = units::count, conflicts_with = "write")]
    pub(crate) show: Option<u64>,

    /// Write the packets to this savefile, at once and with the times at which they would leave (in `replay` from the first
    /// one's recorded time on), and send nothing.
    #[arg(short = 'w', long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,

    /// The way out of the host: live, xdp, ring, mmsg or socket; without it, the best that works here.
    #[arg(long, value_name = "NAME")]
    pub(crate) backend: Option<Backend>,

    /// The queue of the interface that `--backend xdp` takes, 0 unless named.
    #[arg(long, value_name = "N")]
    pub(crate) queue: Option<u32>,

    /// Send on an interface by which a default route leads, too.
    #[arg(long)]
    pub(crate) on_real_network: bool,
}

impl OutletArgs {
    /// True where nothing is to leave the host.
    pub(crate) fn sends_nothing(&self) -> bool {
        self.show.is_some() || self.write.is_some()
    }
}
