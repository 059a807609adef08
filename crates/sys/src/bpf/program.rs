use std::ffi::CStr;
use std::io;
use std::mem::offset_of;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use linerate_base::{Error, Result};

use super::parts::{Part, PartDescriptions};
use super::verifier::{LoadError, Log};
use super::{bpf_descriptor, command, object_name};
use crate::capability::{self, Capability};

/// Where a program may be attached. Values: `enum bpf_prog_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ProgramKind {
    /// A filter on a socket.
    SocketFilter = 1,
    /// At an interface's traffic control, on packets coming in or going out: TCX.
    Classifier = 3,
    /// At an interface's driver, before there is an skb: XDP.
    Xdp = 6,
    /// Where the kernel tells what it does: raw tracepoints.
    RawTracepoint = 17,
    /// Called for each thing of a kind that the kernel has, when somebody reads.
    Iterator = 26,
}

impl ProgramKind {
    /// `bpf_prog_load` in `kernel/bpf/syscall.c`, Linux 6.18.
    fn needed(self) -> &'static [Capability] {
        match self {
            Self::SocketFilter => &[Capability::Bpf],
            Self::Classifier | Self::Xdp => &[Capability::Bpf, Capability::NetAdmin],
            Self::RawTracepoint | Self::Iterator => &[Capability::Bpf, Capability::Perfmon],
        }
    }

    /// `enum bpf_attach_type`: XDP programs may also be for entries of maps, and those for
    /// interfaces say so. Classifiers are the same for both directions.
    fn expected_attach_type(self) -> u32 {
        const BPF_TRACE_ITER: u32 = 28;
        const BPF_XDP: u32 = 37;
        match self {
            Self::Xdp => BPF_XDP,
            Self::Iterator => BPF_TRACE_ITER,
            _ => 0,
        }
    }
}

/// A program that is to be loaded.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSpec<'a> {
    kind: ProgramKind,
    instructions: &'a [u64],
    name: &'a str,
    flags: u32,
    interface: u32,
    function: u32,
    parts: &'a [Part],
}

/// Flags of `BPF_PROG_LOAD`.
const XDP_HAS_FRAGS: u32 = 1 << 5;
const XDP_DEV_BOUND_ONLY: u32 = 1 << 6;

impl<'a> ProgramSpec<'a> {
    /// A program of encoded instructions (8 bytes each, in memory order). Its name is for those who
    /// list programs: 15 bytes at most, letters, digits, `_` and `.`.
    pub fn new(kind: ProgramKind, instructions: &'a [u64], name: &'a str) -> Self {
        Self { kind, instructions, name, flags: 0, interface: 0, function: 0, parts: &[] }
    }

    /// A program of these parts, the first of which begins with the program: by them, those who sample it can tell what it
    /// was doing ([`compiled_parts`](super::compiled_parts)).
    #[must_use]
    pub fn with_parts(mut self, parts: &'a [Part]) -> Self {
        self.parts = parts;
        self
    }

    /// An XDP program that knows that a packet may lie in several buffers.
    #[must_use]
    pub fn with_fragments(mut self) -> Self {
        self.flags |= XDP_HAS_FRAGS;
        self
    }

    /// An iterator over what the function of the kernel with this number ([`Btf::function`](crate::btf::Btf::function))
    /// is called for: `bpf_iter_task_file`.
    #[must_use]
    pub fn over(mut self, function: u32) -> Self {
        self.function = function;
        self
    }

    /// An XDP program for the interface with this index only, which may then ask its driver for the
    /// packet's metadata, such as the hardware's time.
    #[must_use]
    pub fn bound_to(mut self, interface: u32) -> Self {
        self.flags |= XDP_DEV_BOUND_ONLY;
        self.interface = interface;
        self
    }
}

/// A program in the kernel. Attached to nothing, it goes when it is dropped.
#[derive(Debug)]
pub struct Program {
    fd: OwnedFd,
    name: String,
}

impl Program {
    /// Loads a program.
    ///
    /// # Errors
    /// Without the capability CAP_BPF, and CAP_NET_ADMIN for programs at interfaces; when the
    /// verifier refuses the program; when the interface that it is bound to has no such metadata
    /// (EOPNOTSUPP).
    pub fn load(spec: &ProgramSpec<'_>) -> std::result::Result<Self, LoadError> {
        let fd = spec.submit(None).map_err(|e| spec.refused(e))?;
        Ok(Self { fd, name: spec.name.to_owned() })
    }

    /// The name that it was loaded with.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// `BPF_PROG_LOAD`'s part of `union bpf_attr`, as far as it is used.
#[repr(C)]
struct LoadAttributes {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buf: u64,
    kern_version: u32,
    prog_flags: u32,
    name: [u8; 16],
    prog_ifindex: u32,
    expected_attach_type: u32,
    prog_btf_fd: u32,
    func_info_rec_size: u32,
    func_info: u64,
    func_info_cnt: u32,
    line_info_rec_size: u32,
    line_info: u64,
    line_info_cnt: u32,
    attach_btf_id: u32,
    attach_prog_fd: u32,
    core_relo_cnt: u32,
}

const _: () = assert!(offset_of!(LoadAttributes, line_info) == 96);
const _: () = assert!(offset_of!(LoadAttributes, attach_btf_id) == 108);

/// How often a program is handed over that the verifier does not look at to the end because a signal comes
/// (EAGAIN; `bpf_check` in `kernel/bpf/verifier.c`, Linux 6.18). The signal's handler runs in between.
const TRIES: u32 = 5;

/// The kernel asks under which licence a program is, for helpers reserved to GPL-compatible ones.
const LICENSE: &CStr = c"Dual MIT/GPL";

impl ProgramSpec<'_> {
    /// Loads the program only to hear the verifier: its log, instruction by instruction.
    ///
    /// # Errors
    /// As [`Program::load`].
    pub fn explain(&self) -> Result<String> {
        let mut log = Log::new(Log::EVERY_INSTRUCTION);
        self.submit(Some(&mut log)).map_err(|e| self.refused(e))?;
        Ok(log.text())
    }

    fn submit(&self, mut log: Option<&mut Log>) -> io::Result<OwnedFd> {
        // A kernel that takes no descriptions takes the program all the same.
        let parts = PartDescriptions::of(self.parts).unwrap_or_default();
        let mut attributes = LoadAttributes {
            prog_type: self.kind as u32,
            insn_cnt: self.instructions.len() as u32,
            insns: self.instructions.as_ptr() as u64,
            license: LICENSE.as_ptr() as u64,
            log_level: log.as_ref().map_or(0, |log| log.level),
            log_size: log.as_ref().map_or(0, |log| log.buffer.len() as u32),
            log_buf: log.as_mut().map_or(0, |log| log.buffer.as_mut_ptr() as u64),
            kern_version: 0,
            prog_flags: self.flags,
            name: object_name(self.name),
            prog_ifindex: self.interface,
            expected_attach_type: self.kind.expected_attach_type(),
            prog_btf_fd: parts.types(),
            func_info_rec_size: 0,
            func_info: 0,
            func_info_cnt: 0,
            line_info_rec_size: PartDescriptions::RECORD,
            line_info: parts.lines().as_ptr() as u64,
            line_info_cnt: parts.lines().len() as u32,
            attach_btf_id: self.function,
            attach_prog_fd: 0,
            core_relo_cnt: 0,
        };
        let mut load = || {
            // SAFETY: the attributes are those of BPF_PROG_LOAD; the instructions are borrowed during
            // the call, as are the descriptions of its parts; the licence is a C string, the log's buffer is ours and has the
            // given size.
            unsafe { bpf_descriptor(command::PROG_LOAD, &mut attributes) }
        };
        for _ in 1..TRIES {
            match load() {
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {}
                answer => return answer,
            }
        }
        load()
    }

    /// Loading without a log is quicker, so that the log is made when it is needed.
    fn refused(&self, error: io::Error) -> LoadError {
        let error = Error::system(format!("load the BPF program {}", self.name), error);
        if error.raw_os_error() == Some(libc::EPERM) {
            return LoadError::unverified(capability::explain(error, self.kind.needed()));
        }
        if error.raw_os_error() == Some(libc::EOPNOTSUPP) && self.interface != 0 {
            return LoadError::unverified(error.advise("the driver gives programs no metadata"));
        }
        let mut log = Log::new(Log::FAILING_PATH);
        // Refused again, for the same reason; or let in this time, and the log says nothing.
        drop(self.submit(Some(&mut log)));
        match log.text() {
            log if log.is_empty() => LoadError::unverified(error),
            log => LoadError::verified(&error, log),
        }
    }
}
