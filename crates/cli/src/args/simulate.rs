use clap::{Args, ValueEnum};

/// Half of the work only, to size a machine.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Simulating")]
pub(crate) struct SimulateArgs {
    /// Replace the capture or the disk by something that costs nothing, and tell what the other one
    /// sustains.
    #[arg(long, value_enum, value_name = "WHAT", requires = "write")]
    pub(crate) simulate: Option<SimulateArg>,

    /// Bytes of each made-up packet; without it they are mixed as on the Internet.
    #[arg(long, value_name = "BYTES", requires = "simulate", value_parser = clap::value_parser!(u32).range(60..=65_535))]
    pub(crate) simulate_size: Option<u32>,

    /// Made-up packets a second; without it, as many as the disk takes.
    #[arg(long, value_name = "RATE", requires = "simulate", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) simulate_rate: Option<u64>,
}

/// What is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SimulateArg {
    /// Packets are made up, and written.
    Capture,
    /// Packets are captured, and their file's bytes are thrown away.
    Disk,
}
