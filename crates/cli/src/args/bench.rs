use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

/// Time us and the programs people use now, in one run on this machine.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  linerate bench compile\n  linerate bench read --json > read.json\n  linerate bench capture --quick --only tap\n  linerate bench send --quick --only live\n  linerate bench scan --quick\n  linerate bench dns --quick\n  linerate bench tcp --quick --only crawled\n  linerate bench profile --only timestamps\n  linerate bench pcap --quick --only send\n  linerate bench paper --html paper.html\n  linerate bench paper --quick --only P1.fig6 --only P4"
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

    /// Only subjects whose name contains this text, and those that they are compared with; of `bench paper`, experiments.
    /// May be given several times.
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Vec<String>,

    /// Where `bench disk`, `bench pcap` and `bench paper` have a folder for files; without it, where temporary files are.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,

    /// With `bench paper`: write a page with charts to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// With `bench paper`: keep results, page and a description of the machine in a new folder of this one, named by date
    /// and host.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) save: Option<PathBuf>,
}

/// The benches there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchName {
    /// Compiling long filters, against libpcap.
    Compile,
    /// Running filters over packets in the processor's caches and in memory, by each of our engines, against
    /// libpcap's interpreter.
    Filter,
    /// Running up to 10,000 filters at once, each with its own verdict, against one after the other by libpcap's
    /// interpreter, and against all of them joined by `or`.
    Sets,
    /// Reading a savefile of 1 GB with a filter and counting, against tcpdump.
    Read,
    /// Capturing on a wire between two network namespaces, by each of our back ends, against tcpdump,
    /// dumpcap and netsniff-ng.
    Capture,
    /// Sending on a wire between two network namespaces, by each of our back ends and as applications do, against
    /// trafgen, tcpreplay, masscan and zmap.
    Send,
    /// Scanning by SYN on a wire between two network namespaces: how fast, and how many of the answers are seen, against
    /// zmap and masscan.
    Scan,
    /// Asking questions of DNS on a wire between two network namespaces, against massdns, dnsperf and kxdpgun.
    Dns,
    /// Capturing frames of 1514 bytes to a disk, 15 seconds at a time, against tcpdump, dumpcap and
    /// netsniff-ng; what is in the files counts. Writes 25 to 60 GB at a time, as the disk has room, to a
    /// folder that is removed.
    Disk,
    /// Connections a second by one core: opened, used and ended by the kernel's sockets and by our TCP, to a mirror and to
    /// nginx; masscan to nginx; the memory of ten million that are open; a crawl of 1.2 million peers; what is left for the host's
    /// own TCP.
    Tcp,
    /// What each step of a capture costs, found by leaving it out, and what samples say of the same.
    Profile,
    /// tcpdump and a program that sends, each by the system's libpcap and by ours; `--only` names parts: send, read,
    /// filter, capture, disk.
    Pcap,
    /// The experiments of the papers that this program follows, beside their figures: within half an hour.
    Paper,
}

impl BenchArgs {
    /// How often each subject is timed.
    pub(crate) fn repeats(&self) -> usize {
        if self.quick { 3 } else { 7 }
    }

    /// Looks whether `--only` names something: of benches that take long, one wants to know before.
    ///
    /// # Errors
    /// When one of its texts is in none of these names.
    pub(crate) fn check_only<N: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = N>,
    ) -> Result<()> {
        let mut names: Vec<_> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
        names.dedup();
        let is_named = |text: &&String| names.iter().any(|name| name.contains(*text));
        let wrong = self.only.iter().find(|text| !is_named(text));
        wrong.map_or(Ok(()), |text| bail!("--only {text} names none of: {}", names.join("; ")))
    }

    /// True for a subject that `--only` names, and for all without it.
    pub(crate) fn wants(&self, subject: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|text| subject.contains(text))
    }
}

/// Send frames by the libpcap that this process finds, and print nanoseconds a frame: what `bench pcap` starts.
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct LibpcapSendsArgs {
    /// The interface.
    pub(crate) interface: String,

    /// How.
    #[arg(value_enum)]
    pub(crate) way: LibpcapWay,

    /// How many.
    #[arg(value_parser = clap::value_parser!(u32).range(10..))]
    pub(crate) count: u32,
}

/// How frames are sent by libpcap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LibpcapWay {
    /// By `pcap_inject` in a loop.
    Inject,
    /// By a send queue, once to warm up and once more.
    Queue,
}

impl LibpcapWay {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Inject => "inject",
            Self::Queue => "queue",
        }
    }
}
