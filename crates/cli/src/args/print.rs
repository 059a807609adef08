use clap::Args;

/// How packets are shown.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct PrintArgs {
    /// Show addresses and ports as numbers (the default; -n is taken for tcpdump's sake).
    #[arg(short = 'n', action = clap::ArgAction::Count)]
    pub(crate) numeric: u8,

    /// Show well-known ports by name.
    #[arg(long, conflicts_with = "numeric")]
    pub(crate) names: bool,

    /// Show the link-layer header.
    #[arg(short = 'e', long)]
    pub(crate) link_header: bool,

    /// Show less of each packet.
    #[arg(short = 'q', long)]
    pub(crate) quick: bool,

    /// Show more of each packet; twice for more still.
    #[arg(short = 'v', long, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Show TCP sequence numbers as they are, not relative to the connection's first.
    #[arg(short = 'S', long)]
    pub(crate) absolute_sequence: bool,

    /// Show each packet in hex; twice with its link-layer header.
    #[arg(short = 'x', action = clap::ArgAction::Count)]
    pub(crate) hex: u8,

    /// Show each packet in hex and ASCII; twice with its link-layer header.
    #[arg(short = 'X', action = clap::ArgAction::Count, conflicts_with = "hex")]
    pub(crate) hex_ascii: u8,

    /// Show each packet in ASCII; twice with its link-layer header.
    #[arg(short = 'A', action = clap::ArgAction::Count, conflicts_with_all = ["hex", "hex_ascii"])]
    pub(crate) ascii: u8,

    /// Time: -t none, -tt seconds since the epoch, -ttt since the previous packet, -tttt with the
    /// date, -ttttt since the first packet.
    #[arg(short = 't', action = clap::ArgAction::Count)]
    pub(crate) time: u8,

    /// Show a number before each packet.
    #[arg(short = '#', long)]
    pub(crate) number: bool,

    /// Show times to the nanosecond.
    #[arg(long)]
    pub(crate) nano: bool,

    /// One JSON object per packet and line: number, time, length, captured, layers. What is said at the end is one,
    /// too: of a capture on standard error, of what was sent on standard output.
    #[arg(long, conflicts_with_all = ["hex", "hex_ascii", "ascii", "quick"])]
    pub(crate) json: bool,

    /// Write each line out at once (as when the output is a terminal).
    #[arg(short = 'l', long)]
    pub(crate) line_buffered: bool,
}

impl PrintArgs {
    /// True when a way of printing is asked for that makes no sense without printing.
    pub(crate) fn asks(&self) -> bool {
        self.json || self.hex > 0 || self.hex_ascii > 0 || self.ascii > 0
    }
}
