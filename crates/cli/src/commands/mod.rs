//! One file per command: its flags become a plan, the plan is carried out.

mod capture;
pub(crate) mod connect;
mod demo;
mod dns;
mod doctor;
mod documents;
mod filter;
mod interfaces;
mod libpcap;
pub(crate) mod mirror;
mod profile;
mod read;
mod replay;
mod scan;
mod send;
mod sending;
mod stat;
mod survey;
pub(crate) mod with;

use anyhow::Result;

use crate::args::Command;
use crate::bench;
use crate::exit::Outcome;

/// Carries out a command.
///
/// # Errors
/// The command's own, as they are to be shown to the user.
pub(crate) fn run(command: Command) -> Result<Outcome> {
    match command {
        Command::Capture(args) => capture::run(&args),
        Command::Read(args) => read::run(&args),
        Command::Send(args) => send::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Scan(args) => scan::run(&args),
        Command::Connect(args) => connect::run(&args),
        Command::Dns(args) => dns::run(&args),
        Command::Mirror(args) => mirror::run(&args),
        Command::Stat(args) => stat::run(&args),
        Command::Filter(args) => filter::run(&args),
        Command::With(args) => with::run(&args),
        Command::Interfaces(args) => interfaces::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Profile(args) => profile::run(&args),
        Command::Demo(_) => demo::run(),
        Command::Bench(args) => bench::run(&args),
        Command::LibpcapSends(args) => bench::pcap::sending::child(&args),
        Command::Libpcap(args) => libpcap::run(&args),
        Command::Completions(args) => documents::completions(&args),
        Command::Man(args) => documents::man(&args),
    }
}
