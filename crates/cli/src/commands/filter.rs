//! `linerate filter`: a filter's program, its intermediate form, or its verdicts on a savefile.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use linerate::base::{LinkType, Source};
use linerate::bpf::classic::{Format, Input};
use linerate::capture::{self, MAX_SNAPLEN};
use linerate::filter::Target;

use crate::args::FilterArgs;
use crate::exit::{Outcome, usage};
use crate::{compile, expression};

pub(crate) fn run(args: &FilterArgs) -> Result<Outcome> {
    let text = expression::text(&args.filter, args.filter_file.as_deref())?;
    match &args.read {
        Some(file) => verdicts(&text, file, snaplen(args)?)?,
        None => show(&text, args)?,
    }
    Ok(Outcome::Success)
}

fn show(text: &str, args: &FilterArgs) -> Result<()> {
    let filter = compile::with_options(text, link_type(args)?, |options| {
        options.optimise = !args.no_optimize;
        options.target = if args.kernel { Target::Kernel } else { Target::User };
        options.snaplen = args.snaplen as u32;
    })?;
    let shown = if args.ir {
        filter.ir().to_string()
    } else {
        filter.program().text(format(args.dump)).to_string()
    };
    io::stdout().write_all(shown.as_bytes())?;
    Ok(())
}

fn snaplen(args: &FilterArgs) -> Result<u32> {
    let snaplen = u32::try_from(args.snaplen).map_err(|_| usage("a snaplen has 32 bits"))?;
    Ok(if snaplen == 0 { MAX_SNAPLEN } else { snaplen })
}

fn link_type(args: &FilterArgs) -> Result<LinkType> {
    let name = &args.link_type;
    LinkType::from_name(name).ok_or_else(|| {
        let known: Vec<_> = LinkType::named().map(|known| known.to_string()).collect();
        usage(format!("no link type `{name}`; there are {}", known.join(", ")))
    })
}

fn format(count: u8) -> Format {
    match count {
        0 | 1 => Format::Listing,
        2 => Format::CArray,
        _ => Format::Decimal,
    }
}

/// One verdict per packet and line, in the order of the file.
fn verdicts(text: &str, file: &Path, snaplen: u32) -> Result<()> {
    let mut source = capture::open_file(file)?;
    let mut programs = Vec::new();
    let mut lines = String::new();
    while let Some(batch) = source.next_batch(Duration::MAX)? {
        for interface in batch.interfaces().iter().skip(programs.len()) {
            programs.push(compile::for_user(text, interface.link_type, snaplen)?);
        }
        lines.clear();
        for packet in batch.iter() {
            let input = Input { data: packet.data, length: packet.length, ..Input::default() };
            let _ = writeln!(lines, "{}", programs[packet.interface as usize].run(&input));
        }
        io::stdout().write_all(lines.as_bytes())?;
    }
    Ok(())
}
