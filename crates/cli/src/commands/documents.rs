//! `completions` and `man`: what the flags say of themselves.

use anyhow::Result;
use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::exit::{Outcome, usage};
use crate::output;

/// Prints a shell's completion script.
///
/// # Errors
/// When standard output cannot take it.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "linerate", &mut script);
    output::text(String::from_utf8_lossy(&script))?;
    Ok(Outcome::Success)
}

/// Prints a manual page.
///
/// # Errors
/// When there is no such command, or standard output cannot take the page.
pub(crate) fn man(args: &ManArgs) -> Result<Outcome> {
    let mut cli = Cli::command();
    cli.build(); // gives the commands their full names, `linerate-capture`
    let described = match &args.command {
        None => &cli,
        Some(name) => cli
            .find_subcommand(name)
            .ok_or_else(|| usage(format!("no command `{name}`; `linerate --help` lists them")))?,
    };
    let mut page = Vec::new();
    let version = concat!("linerate ", env!("CARGO_PKG_VERSION"));
    let man = clap_mangen::Man::new(described.clone()).source(version).manual("User commands");
    man.render(&mut page)?;
    output::text(String::from_utf8_lossy(&page))?;
    Ok(Outcome::Success)
}
