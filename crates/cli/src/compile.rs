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
    compile(text, link_type, snaplen, Target::User).map_err(explain).map(|filter| program(&filter))
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
    let user = for_user(text, link_type, snaplen);
    let (kernel, note) = match compile(text, link_type, snaplen, Target::Kernel) {
        Ok(filter) => (Some(program(&filter)), None),
        Err(error) if user_space_can(&error) => {
            let note = format!("filtering in user space: {}", error.message());
            (None, Some(note))
        }
        Err(error) => return Err(explain(error)),
    };
    Ok((capture::Filter { text: text.into(), kernel, user: user? }, note))
}

/// A program per interface of a savefile, for the link type that it has.
pub(crate) fn per_interface(text: String) -> capture::Compile {
    Box::new(move |interface: &Interface| {
        let compiled = compile(&text, interface.link_type, capture::MAX_SNAPLEN, Target::User);
        compiled.map(|filter| Some(program(&filter))).map_err(Into::into)
    })
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
    filter::compile(text, &options).map_err(explain)
}

fn user_space_can(error: &filter::Error) -> bool {
    matches!(error.kind(), ErrorKind::TooLarge | ErrorKind::Loop)
}

fn program(filter: &Filter) -> Program {
    filter.program().clone()
}

/// The error as the user is to see it, with the place on lines of its own.
pub(crate) fn explain(error: filter::Error) -> anyhow::Error {
    usage(format!("filter: {error}"))
}
