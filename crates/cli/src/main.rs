//! The command `linerate`.
//!
//! - `args`: the flags, as typed
//! - `commands`: one file per command
//! - `pump`: the loop that moves batches from a source to its consumers
//! - `show`, `save`: the consumers
//! - `chart`, `components`, `page`: drawings, and pages that they stand on
//! - `bench`: ours and the peers in one run
//! - the rest: small things that the commands share

mod args;
mod bench;
mod chart;
mod commands;
mod compile;
mod components;
mod exit;
mod expression;
mod hint;
mod live;
mod machine;
mod names;
mod output;
mod page;
mod patience;
mod pump;
mod resolver;
mod save;
mod show;
mod signals;
mod summary;
mod units;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = args::Cli::try_parse().unwrap_or_else(|error| hint::exit(&error));
    output::set_color(cli.color);
    exit::code(commands::run(cli.command))
}
