use clap::{Args, ValueEnum};

/// Time us and the programs people use now, in one run on this machine.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  linerate bench compile\n  linerate bench read --json > read.json"
)]
pub(crate) struct BenchArgs {
    /// What to time.
    #[arg(value_enum)]
    pub(crate) name: BenchName,

    /// Fewer repeats and smaller cases: a first impression.
    #[arg(long)]
    pub(crate) quick: bool,

    /// One JSON object per row: experiment, case, subject, value, unit, baseline, ratio.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The benches there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchName {
    /// Compiling long filters, against libpcap.
    Compile,
    /// Reading a savefile of 1 GB with a filter and counting, against tcpdump.
    Read,
}

impl BenchArgs {
    /// How often each subject is timed.
    pub(crate) fn repeats(&self) -> usize {
        if self.quick { 3 } else { 7 }
    }
}
