//! Expressions to programs.

use std::ffi::{c_char, c_int};
use std::net::Ipv4Addr;
use std::ptr;

use linerate::base::LinkType;
use linerate::exec::Engine;
use linerate::filter::{self, Options};

use super::Compiled;
use crate::abi::{BpfProgram, ERROR, NETMASK_UNKNOWN};
use crate::entry::entry;
use crate::handle::{self, Handle, Inner, Kind};
use crate::names::datalink::link_type;
use crate::names::resolver::System;
use crate::pointer;

/// What to compile an expression for.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) text: String,
    link_type: LinkType,
    snapshot: c_int,
    optimise: bool,
    pub(crate) netmask: Option<Ipv4Addr>,
    /// Whether the program may ask for what is not among a packet's bytes, as one for the kernel.
    metadata: bool,
}

/// The mask that a caller has given: in host order, as libpcap takes it, though `pcap_lookupnet` gives it in network
/// order.
fn mask(netmask: u32) -> Option<Ipv4Addr> {
    (netmask != NETMASK_UNKNOWN).then(|| Ipv4Addr::from(netmask))
}

impl Request {
    fn compile(self) -> Result<Compiled, String> {
        let options = Options {
            // As libpcap, which has no negative lengths in programs either.
            snaplen: self.snapshot.cast_unsigned(),
            netmask: self.netmask,
            optimise: self.optimise,
            metadata: self.metadata,
            ..Options::new(self.link_type, &System)
        };
        let filter = filter::compile(&self.text, &options).map_err(|error| words(&error))?;
        let program = filter.program().instructions().into();
        Ok(Compiled { program, engine: Engine::new(&filter), request: self })
    }
}

/// An error in one line, as a buffer of 256 bytes has no room for more.
fn words(error: &filter::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    match error.kind() {
        filter::ErrorKind::Syntax => format!("can't parse filter expression: {line}"),
        _ => line.into(),
    }
}

/// Gives a copy of a program to the caller.
fn copy(compiled: &Compiled) -> Result<BpfProgram, String> {
    let bf_insns = pointer::allocate(&compiled.program);
    let bf_len = u32::try_from(compiled.program.len()).map_err(|e| e.to_string())?;
    match bf_insns.is_null() {
        true => Err("no memory for the program".into()),
        false => Ok(BpfProgram { bf_len, bf_insns }),
    }
}

const NOTHING: BpfProgram = BpfProgram { bf_len: 0, bf_insns: ptr::null_mut() };

fn compile(inner: &mut Inner, text: &str, optimise: bool, netmask: u32) -> Option<BpfProgram> {
    let request = Request {
        text: text.into(),
        link_type: inner.link_type,
        snapshot: inner.snapshot,
        optimise,
        netmask: mask(netmask),
        metadata: !matches!(inner.kind, Kind::File(_)),
    };
    let made = request.compile().and_then(|compiled| Ok((copy(&compiled)?, compiled)));
    match made {
        Ok((program, compiled)) => {
            inner.compiled = Some(compiled);
            Some(program)
        }
        Err(text) => {
            inner.fail(&text);
            None
        }
    }
}

entry! {
    /// Compiles an expression, of null and of nothing one that keeps all, for the packets of a handle.
    fn pcap_compile(
        handle: *mut Handle,
        program: *mut BpfProgram,
        expression: *const c_char,
        optimise: c_int,
        netmask: u32
    ) -> c_int, ERROR => {
        pointer::put(program, NOTHING);
        handle::active_or(handle, |inner| {
            let Some(text) = expression_at(expression) else {
                inner.fail("the filter expression is not UTF-8");
                return ERROR;
            };
            let Some(made) = compile(inner, text, optimise != 0, netmask) else { return ERROR };
            pointer::put(program, made);
            0
        })
    }

    /// Compiles an expression without a handle; there is no telling what is wrong with it.
    fn pcap_compile_nopcap(
        snapshot: c_int,
        link: c_int,
        program: *mut BpfProgram,
        expression: *const c_char,
        optimise: c_int,
        netmask: u32
    ) -> c_int, ERROR => {
        pointer::put(program, NOTHING);
        let Some(text) = expression_at(expression) else { return ERROR };
        let (text, link_type, netmask) = (text.into(), link_type(link), mask(netmask));
        let optimise = optimise != 0;
        let request = Request { text, link_type, snapshot, optimise, netmask, metadata: true };
        let Ok(made) = request.compile().and_then(|compiled| copy(&compiled)) else { return ERROR };
        pointer::put(program, made);
        0
    }

    /// Frees a program's instructions.
    fn pcap_freecode(program: *mut BpfProgram) -> (), () => {
        if !program.is_null() {
            libc::free((*program).bf_insns.cast());
            *program = NOTHING;
        }
    }
}

/// The expression at `at`, for null the empty one; `None` for what is no UTF-8.
///
/// # Safety
/// `at` is null or a C string that stays valid as long as the result is used.
unsafe fn expression_at<'a>(at: *const c_char) -> Option<&'a str> {
    // SAFETY: the contract is the same.
    if at.is_null() { Some("") } else { unsafe { pointer::text(at) } }
}
