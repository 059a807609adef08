//! Filters for the commands: the text compiled for where it will run.

use anyhow::Result;
use linerate::base::{Interface, LinkType};
use linerate::bpf::classic::Program;
use linerate::capture;
use linerate::filter::{self, ErrorKind, Filter, Options, Target};

use crate::exit::usage;
use crate::resolver::System;

/// The text compiled for packets as they are delivered.
///
/// # Errors
/// Of usage, with the place in the text.
pub(crate) fn for_user(text: &str, link_type: LinkType, snaplen: u32) -> Result<Program> {
    let filter =
        compile(text, link_type, snaplen, Target::User).map_err(|error| explain(&error))?;
    Ok(program(&filter))
}

/// The text compiled for a live capture: for the kernel where it can take it, and for user space.
/// Where only user space can, a note says why.
///
/// # Errors
/// Of usage, with the place in the text.
pub(crate) fn for_capture(
    text: &str,
    link_type: LinkType,
    snaplen: u32,
) -> Result<(capture::Filter, Option<String>)> {
    let known = |options: &mut Options<'_>| {
        options.snaplen = snaplen;
        options.metadata = true;
    };
    let user = with_options(text, link_type, known)?;
    let (kernel, note) = match compile(text, link_type, snaplen, Target::Kernel) {
        Ok(filter) => (Some(program(&filter)), None),
        Err(error) if error.user_space_can() => {
            let note = format!("filtering in user space: {}", error.message());
            (None, Some(note))
        }
        Err(error) => return Err(explain(&error)),
    };
    Ok((capture::Filter { text: text.into(), kernel, user: program(&user) }, note))
}

/// Programs for the interfaces of a savefile, each for the link type that it has; none where there is
/// no filter.
///
/// # Errors
/// Of usage, with the place in the text, when it does not compile for the interfaces known so far.
pub(crate) fn for_savefile(text: &str, known: &[Interface]) -> Result<capture::Compile> {
    if text.trim().is_empty() {
        return Ok(Box::new(|_| Ok(None)));
    }
    for interface in known {
        for_user(text, interface.link_type, capture::MAX_SNAPLEN)?;
    }
    let text = text.to_owned();
    Ok(Box::new(move |interface: &Interface| {
        let compiled = compile(&text, interface.link_type, capture::MAX_SNAPLEN, Target::User);
        compiled.map(|filter| Some(program(&filter))).map_err(Into::into)
    }))
}

/// Compiles with this machine's names.
///
/// # Errors
/// The compiler's.
fn compile(
    text: &str,
    link_type: LinkType,
    snaplen: u32,
    target: Target,
) -> filter::Result<Filter> {
    let resolver = System::default();
    let options = Options { snaplen, target, ..Options::new(link_type, &resolver) };
    filter::compile(text, &options)
}

/// The filter that `linerate filter` shows, with the options as `set` leaves them.
///
/// # Errors
/// Of usage, with the place in the text.
pub(crate) fn with_options(
    text: &str,
    link_type: LinkType,
    set: impl FnOnce(&mut Options<'_>),
) -> Result<Filter> {
    let resolver = System::default();
    let mut options = Options::new(link_type, &resolver);
    set(&mut options);
    filter::compile(text, &options).map_err(|error| explain(&error))
}

fn program(filter: &Filter) -> Program {
    filter.program().clone()
}

/// The error as the user is to see it, with the place on lines of its own: a mistake in the text is one
/// of usage, what cannot be done yet is not.
fn explain(error: &filter::Error) -> anyhow::Error {
    let text = format!("filter: {error}");
    match error.kind() {
        ErrorKind::Syntax | ErrorKind::Meaning | ErrorKind::Name => usage(text),
        _ => anyhow::Error::msg(text),
    }
}
