use std::ffi::{CStr, CString, c_int};

use linerate_base::{Error, ErrorKind, Result};

use super::handle::Handle;
use super::symbols::RawProgram;
use super::{CompileFor, Libpcap, Program};
use crate::socket_filter::SockFilter;

/// `PCAP_NETMASK_UNKNOWN`.
const NETMASK_UNKNOWN: u32 = u32::MAX;

impl Libpcap {
    /// Compiles a filter expression as `pcap_compile` does for a link type alone.
    ///
    /// Host names in it are looked up, on the network if need be.
    ///
    /// # Errors
    /// libpcap's own words on what is wrong with the expression.
    pub fn compile(&self, expression: &str, target: &CompileFor) -> Result<Program> {
        let handle = Handle::dead(*self, target).map_err(|answer| refused(expression, answer))?;
        self.compile_on(&handle, expression, target)
    }

    /// Compiles a filter expression as `pcap_compile` does for a savefile, where some primitives
    /// have another meaning or none: `inbound`, and `ip6` on BSD loopback.
    ///
    /// # Errors
    /// As [`Libpcap::compile`].
    pub fn compile_for_savefile(&self, expression: &str, target: &CompileFor) -> Result<Program> {
        let handle = Handle::empty_savefile(*self, target);
        let handle = handle.map_err(|answer| refused(expression, answer))?;
        self.compile_on(&handle, expression, target)
    }

    fn compile_on(&self, on: &Handle, expression: &str, target: &CompileFor) -> Result<Program> {
        let text = CString::new(expression).map_err(|e| refused(expression, e.to_string()))?;
        let instructions = on.compile(&text, target);
        let instructions = instructions.map_err(|answer| refused(expression, answer))?;
        Ok(Program::made(*self, instructions))
    }
}

/// An interface opened for capturing, to compile for, as of its packets the kernel tells the VLAN
/// tags, or to send on. It belongs to one thread.
pub struct Interface {
    libpcap: Libpcap,
    pub(super) handle: Handle,
}

impl Libpcap {
    /// Opens an interface with libpcap's defaults. What it captures is never read.
    ///
    /// # Errors
    /// When there is none of this name, or without the privilege.
    pub fn open_interface(&self, name: &str, snaplen: u32) -> Result<Interface> {
        let failed = |answer| Error::new(ErrorKind::Io, format!("open {name} in libpcap"), answer);
        let handle = Handle::live(*self, name, snaplen).map_err(failed)?;
        Ok(Interface { libpcap: *self, handle })
    }
}

impl Interface {
    /// Compiles a filter expression as `pcap_compile` does for this interface. Its link type and
    /// its snapshot length hold, not those of `target`.
    ///
    /// # Errors
    /// As [`Libpcap::compile`].
    pub fn compile(&self, expression: &str, target: &CompileFor) -> Result<Program> {
        self.libpcap.compile_on(&self.handle, expression, target)
    }
}

impl Handle {
    fn compile(
        &self,
        text: &CStr,
        target: &CompileFor,
    ) -> std::result::Result<Vec<SockFilter>, String> {
        let mut raw = RawProgram { length: 0, instructions: std::ptr::null_mut() };
        let netmask = target.netmask.map_or(NETMASK_UNKNOWN, u32::from);
        let optimise = c_int::from(target.optimise);
        let pcap = &self.symbols;
        // SAFETY: the handle is open, `raw` outlives the call and the text is a C string.
        let status = unsafe {
            (pcap.pcap_compile)(self.pointer, &raw mut raw, text.as_ptr(), optimise, netmask)
        };
        if status != 0 {
            return Err(self.error());
        }
        // SAFETY: after success `raw` holds `length` instructions, which stay until freecode.
        let instructions = unsafe {
            let made = std::slice::from_raw_parts(raw.instructions, raw.length as usize).to_vec();
            (pcap.pcap_freecode)(&raw mut raw);
            made
        };
        Ok(instructions)
    }
}

fn refused(expression: &str, answer: String) -> Error {
    Error::new(ErrorKind::Invalid, format!("compile `{expression}`"), answer)
}
