use std::ffi::{CStr, CString, c_int};
use std::sync::{Mutex, PoisonError};

use linerate_base::{Error, ErrorKind, Result};

use super::handle::Handle;
use super::symbols::{PacketHeader, RawProgram};
use super::{CompileFor, Libpcap};
use crate::socket_filter::SockFilter;

/// `PCAP_NETMASK_UNKNOWN`.
const NETMASK_UNKNOWN: u32 = u32::MAX;

/// A filter program that libpcap made or checked, so that libpcap can run it.
#[derive(Clone, Debug)]
pub struct Program {
    libpcap: Libpcap,
    instructions: Vec<SockFilter>,
}

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
        Ok(Program { libpcap: *self, instructions })
    }

    /// Takes instructions that were made elsewhere, for libpcap to run.
    ///
    /// # Errors
    /// When libpcap's checks refuse them.
    pub fn program(&self, instructions: Vec<SockFilter>) -> Result<Program> {
        let length = c_int::try_from(instructions.len()).unwrap_or(0);
        // SAFETY: the pointer and the length are those of one vector.
        let valid = unsafe { (self.symbols.bpf_validate)(instructions.as_ptr(), length) } != 0;
        if valid {
            return Ok(Program { libpcap: *self, instructions });
        }
        Err(Error::new(ErrorKind::Invalid, "check a filter program", "libpcap refuses it"))
    }
}

/// An interface opened for capturing, to compile for: of its packets the kernel tells the VLAN
/// tags. It belongs to one thread.
pub struct Interface {
    libpcap: Libpcap,
    handle: Handle,
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

impl Program {
    /// The instructions in order.
    pub fn instructions(&self) -> &[SockFilter] {
        &self.instructions
    }

    /// Runs the program in libpcap on a packet of which `data` was captured and which had
    /// `length` bytes on the wire: how many bytes to keep.
    ///
    /// Does not return for a program that loops forever; compiled ones hardly ever do. Scratch words
    /// that were read but not written have any value (libpcap 1.10.3).
    pub fn verdict(&self, data: &[u8], length: u32) -> u32 {
        let time = libc::timeval { tv_sec: 0, tv_usec: 0 };
        let header = PacketHeader { time, captured: data.len() as u32, length };
        let raw = self.raw();
        // SAFETY: libpcap made or checked the program, so that it stays inside its instructions
        // and its scratch memory; loads are checked against `captured`, the length of `data`.
        let kept = unsafe {
            let filter = self.libpcap.symbols.pcap_offline_filter;
            filter(&raw const raw, &raw const header, data.as_ptr())
        };
        kept.cast_unsigned()
    }

    /// The program as libpcap prints it for `tcpdump -d`.
    pub fn listing(&self) -> String {
        self.instructions.iter().zip(0..).map(|(i, at)| self.image(i, at) + "\n").collect()
    }

    fn image(&self, instruction: &SockFilter, at: c_int) -> String {
        let _lock = IMAGE.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: bpf_image reads one instruction and returns a C string in a buffer of its own,
        // shared by all callers: the lock sees to it that only one of them uses it at a time.
        let image = unsafe { CStr::from_ptr((self.libpcap.symbols.bpf_image)(instruction, at)) };
        image.to_string_lossy().into_owned()
    }

    /// The program in libpcap's own structure. libpcap writes to none of it.
    pub(super) fn raw(&self) -> RawProgram {
        RawProgram {
            length: self.instructions.len() as u32,
            instructions: self.instructions.as_ptr().cast_mut(),
        }
    }
}

/// Held while the one buffer of `bpf_image` is in use.
static IMAGE: Mutex<()> = Mutex::new(());
