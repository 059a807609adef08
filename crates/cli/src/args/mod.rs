//! The command line as it is typed: one struct per subcommand, one field per flag.
//!
//! The field is the flag's parser, help, man page and completion. What the flags *mean* together
//! is worked out once, where each command builds its plan.

mod bench;
mod capture;
mod connect;
mod dns;
mod doctor;
mod filter;
mod interfaces;
mod language;
mod libpcap;
mod mirror;
mod outlet;
mod print;
mod profile;
mod read;
mod replay;
mod save;
mod scan;
mod send;
mod simulate;
mod stat;
mod survey;
mod with;

pub(crate) use bench::{BenchArgs, BenchName, LibpcapSendsArgs, LibpcapWay};
pub(crate) use capture::{CaptureArgs, DirectionArg};
pub(crate) use connect::{CloseArg, ConnectArgs, VisitFieldArg};
pub(crate) use dns::{DnsArgs, DnsFieldArg};
pub(crate) use doctor::DoctorArgs;
pub(crate) use filter::FilterArgs;
pub(crate) use interfaces::InterfacesArgs;
pub(crate) use language::LanguageArgs;
pub(crate) use libpcap::LibpcapArgs;
pub(crate) use mirror::{EndingArg, MirrorArgs};
pub(crate) use outlet::OutletArgs;
pub(crate) use print::PrintArgs;
pub(crate) use profile::ProfileArgs;
pub(crate) use read::ReadArgs;
pub(crate) use replay::{AddressArgs, ReplayArgs};
pub(crate) use save::{FormatArg, SaveArgs};
pub(crate) use scan::{FieldArg, ProbeArg, ScanArgs};
pub(crate) use send::{Count, SendArgs};
pub(crate) use simulate::{SimulateArg, SimulateArgs};
pub(crate) use stat::StatArgs;
pub(crate) use survey::{
    GentleArgs, LeaveOutArgs, PassArgs, RowsArg, RunArgs, TargetArgs, WayArgs,
};
pub(crate) use with::WithArgs;

use clap::{Parser, Subcommand, ValueEnum};

/// Capture, filter, read, send and measure packets at line rate on a stock Linux kernel.
#[derive(Debug, Parser)]
#[command(name = "linerate", version, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// Colour the output: `auto` means on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: ColorArg,

    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  linerate demo                                       see it work, on hosts made for the purpose
  linerate capture -i eth0 'tcp port 80'              print what matches
  linerate capture -i eth0 -w web.pcapng 'tcp port 80'
                                                      save it, losing nothing unsaid
  linerate read web.pcapng 'host 10.0.0.1' --json     read it back

Exit status: 0 success, 1 error, 2 usage, 3 packets were lost (doctor; others with --strict),
130 ended at once by a second SIGINT.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Capture(Box<CaptureArgs>),
    Read(Box<ReadArgs>),
    Send(Box<SendArgs>),
    Replay(Box<ReplayArgs>),
    Scan(Box<ScanArgs>),
    Connect(Box<ConnectArgs>),
    Dns(Box<DnsArgs>),
    Mirror(MirrorArgs),
    Stat(StatArgs),
    Filter(FilterArgs),
    With(WithArgs),
    Interfaces(InterfacesArgs),
    Doctor(DoctorArgs),
    Profile(ProfileArgs),
    Demo(DemoArgs),
    Bench(BenchArgs),
    LibpcapSends(LibpcapSendsArgs),
    #[command(hide = true)]
    Libpcap(LibpcapArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Watch a capture happen: two hosts, a web server, a client, a savefile, and the balance.
///
/// Everything is made for the purpose in network namespaces of its own and is gone afterwards.
/// Without root a user namespace is used, where the system allows it.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {}

/// Print a completion script for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  linerate completions bash > /etc/bash_completion.d/linerate")]
pub(crate) struct CompletionsArgs {
    /// The shell to complete for.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Print the manual page of linerate, or of one of its commands, in roff.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  linerate man capture | man -l -")]
pub(crate) struct ManArgs {
    /// The command to describe; without it, linerate itself.
    pub(crate) command: Option<String>,
}

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorArg {
    #[default]
    Auto,
    Always,
    Never,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn examples_fit_a_terminal_of_100_columns() {
        for command in Cli::command().get_subcommands() {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in text.lines() {
                assert!(line.chars().count() <= 100, "{}: {line}", command.get_name());
            }
        }
    }
}
