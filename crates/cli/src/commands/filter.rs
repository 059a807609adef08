//! `linerate filter`: a filter's program, its intermediate form, or its verdicts on a savefile.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use linerate::base::{LinkType, Source};
use linerate::bpf::classic::{Format, Input};
use linerate::bpf::extended::{Hook, disassemble};
use linerate::capture;
use linerate::filter::{Options, Target};

use crate::args::FilterArgs;
use crate::exit::{Outcome, usage};
use crate::{compile, expression, output};

pub(super) fn run(args: &FilterArgs) -> Result<Outcome> {
    let text = expression::text(&args.filter, args.filter_file.as_deref())?;
    let options = Options {
        optimise: !args.no_optimize,
        target: target(args),
        ..args.language.of(compile::options(link_type(args)?, args.snaplen))
    };
    match &args.read {
        Some(file) => verdicts(&text, file, &options)?,
        None => show(&text, args, &options)?,
    }
    Ok(Outcome::Success)
}

fn show(text: &str, args: &FilterArgs, options: &Options<'_>) -> Result<()> {
    let filter = compile::compile(text, options)?;
    if args.ir {
        return output::text(filter.ir());
    }
    if args.ebpf {
        let predicate = filter.predicate().map_err(anyhow::Error::msg)?;
        let code: Vec<_> = predicate.instructions(Hook::Xdp).collect();
        return output::text(disassemble(&code));
    }
    output::text(filter.program().text(format(args.dump)))
}

fn target(args: &FilterArgs) -> Target {
    match args {
        FilterArgs { ebpf: true, .. } => Target::Tap,
        FilterArgs { kernel: true, .. } => Target::Kernel,
        _ => Target::User,
    }
}

fn link_type(args: &FilterArgs) -> Result<LinkType> {
    let name = &args.link_type;
    LinkType::from_name(name).ok_or_else(|| {
        let known: Vec<_> = LinkType::named().map(|known| known.to_string()).collect();
        usage(format!("no link type `{name}`; there are {}", known.join(", ")))
    })
}

/// The form that this many `-d` ask for; one and none mean the same.
pub(super) fn format(count: u8) -> Format {
    match count {
        0 | 1 => Format::Listing,
        2 => Format::CArray,
        _ => Format::Decimal,
    }
}

/// One verdict per packet and line, in the order of the file, each interface with its own link type.
fn verdicts(text: &str, file: &Path, options: &Options<'_>) -> Result<()> {
    let mut source = capture::open_file(file)?;
    let mut filters = Vec::new();
    let mut lines = String::new();
    while let Some(batch) = source.next_batch(Duration::MAX)? {
        for interface in batch.interfaces().iter().skip(filters.len()) {
            let options = Options { link_type: interface.link_type, ..*options };
            filters.push(compile::compile(text, &options)?);
        }
        lines.clear();
        for packet in batch.iter() {
            let input = Input { data: packet.data, length: packet.length, ..Input::default() };
            let _ = writeln!(lines, "{}", filters[packet.interface as usize].program().run(&input));
        }
        output::text(&lines)?;
    }
    Ok(())
}
