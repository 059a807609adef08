use std::ffi::{CStr, c_int};
use std::sync::{Mutex, PoisonError};

use linerate_base::{Error, ErrorKind, Result};

use super::Libpcap;
use super::symbols::{PacketHeader, RawProgram};
use crate::socket_filter::SockFilter;

/// A filter program that libpcap made or checked, so that libpcap can run it.
#[derive(Clone, Debug)]
pub struct Program {
    libpcap: Libpcap,
    instructions: Vec<SockFilter>,
}

impl Libpcap {
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

impl Program {
    /// What `libpcap` made.
    pub(super) fn made(libpcap: Libpcap, instructions: Vec<SockFilter>) -> Self {
        Self { libpcap, instructions }
    }

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
