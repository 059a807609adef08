use clap::Args;

/// List the interfaces that can be captured on.
#[derive(Debug, Default, Args)]
#[command(after_help = "Example:\n  linerate interfaces --json | jq -r '.[].name'")]
pub(crate) struct InterfacesArgs {
    /// Show addresses, driver, queues, link types, and by which back ends each can be captured.
    #[arg(short = 'v', long)]
    pub(crate) verbose: bool,

    /// One JSON array with everything that is known.
    #[arg(long)]
    pub(crate) json: bool,
}
