//! Filters for the commands: the text compiled for where it will run.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::Result;
use linerate::base::{Interface, LinkType};
use linerate::bpf::classic::Program;
use linerate::capture::{self, MAX_SNAPLEN, MeterFilter};
use linerate::exec::Engine;
use linerate::filter::{self, ErrorKind, Filter, Options, Target};

use crate::args::LanguageArgs;
use crate::exit::usage;
use crate::resolver::SYSTEM;

/// Options for packets as a savefile has them, with this machine's names. The netmask of the network
/// that they are from is not known; as with tcpdump, `ip broadcast` then means all ones or all zeroes.
pub(crate) fn options(link_type: LinkType, snaplen: u32) -> Options<'static> {
    let netmask = Some(Ipv4Addr::UNSPECIFIED);
    Options { snaplen, netmask, ..Options::new(link_type, &SYSTEM) }
}

/// The text compiled.
///
/// # Errors
/// Of usage, with the place in the text.
pub(crate) fn compile(text: &str, options: &Options<'_>) -> Result<Filter> {
    filter::compile(text, options).map_err(|error| explain(&error))
}

/// A filter for a live capture.
pub(crate) struct ForCapture {
    pub(crate) filter: capture::Filter,
    /// What `-d` shows: the kernel's program, or user space's where the kernel takes none.
    pub(crate) program: Program,
    /// Why only user space can run the filter.
    pub(crate) note: Option<String>,
}

/// The text compiled for a live capture, by options for its network: for the kernel where it can take
/// it, as part of a tap and of a socket, and for user space. Where only user space can, a note says why.
///
/// # Errors
/// Of usage, with the place in the text.
pub(crate) fn for_capture(text: &str, options: &Options<'_>) -> Result<ForCapture> {
    let user = compile(text, &Options { metadata: true, ..*options })?;
    let for_target = |target| filter::compile(text, &Options { target, ..*options });
    let tap = for_target(Target::Tap).and_then(|filter| filter.predicate()).ok();
    let (kernel, note) = match for_target(Target::Kernel) {
        Ok(filter) => (Some(filter.program().clone()), None),
        Err(error) if error.user_space_can() => {
            let note = || format!("filtering in user space: {}", error.message());
            (None, tap.is_none().then(note))
        }
        Err(error) => return Err(explain(&error)),
    };
    let program = kernel.as_ref().unwrap_or(user.program()).clone();
    let user = Arc::new(Engine::new(&user));
    let filter = capture::Filter { text: text.into(), kernel, tap, user };
    Ok(ForCapture { filter, program, note })
}

/// The text compiled for counting at an interface's hooks.
///
/// # Errors
/// Of usage, with the place in the text; when the filter does not run in the kernel, with its text.
pub(crate) fn for_meter(text: String, options: &Options<'_>) -> Result<MeterFilter> {
    let compiled = filter::compile(&text, &Options { target: Target::Tap, ..*options });
    let parts = compiled.and_then(|filter| Ok((filter.predicate()?, filter.rules())));
    let (predicate, rules) = parts.map_err(|error| {
        if error.user_space_can() {
            return anyhow::anyhow!("filter `{text}`: {}", error.message());
        }
        explain(&error)
    })?;
    Ok(MeterFilter { text, predicate, rules })
}

/// Filters for the interfaces of a savefile, each for the link type that it has; none where there is
/// no filter.
///
/// # Errors
/// Of usage, with the place in the text, when it does not compile for the interfaces known so far.
pub(crate) fn for_savefile(
    text: &str,
    language: LanguageArgs,
    known: &[Interface],
) -> Result<capture::Compile> {
    if text.trim().is_empty() {
        return Ok(Box::new(|_| Ok(None)));
    }
    for interface in known {
        compile(text, &language.of(options(interface.link_type, MAX_SNAPLEN)))?;
    }
    let text = text.to_owned();
    Ok(Box::new(move |interface: &Interface| {
        let options = language.of(options(interface.link_type, MAX_SNAPLEN));
        let filter = filter::compile(&text, &options)?;
        Ok(Some(Arc::new(Engine::new(&filter)) as capture::UserFilter))
    }))
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
