//! Programs that are attached to the kernel itself, not to an interface.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use linerate_base::{Error, Result};

use super::{Program, bpf_descriptor, command};

/// A program that runs whenever the kernel passes a tracepoint, until this is dropped.
#[derive(Debug)]
pub struct Tracing {
    _fd: OwnedFd,
}

/// `BPF_RAW_TRACEPOINT_OPEN`'s part of `union bpf_attr`.
#[repr(C)]
struct TracepointAttributes {
    name: u64,
    prog_fd: u32,
    padding: u32,
    cookie: u64,
}

impl Tracing {
    /// Attaches a program to the tracepoint of this name, such as `kfree_skb`.
    ///
    /// # Errors
    /// Without CAP_PERFMON; when the kernel has no such tracepoint, or it tells less than the program reads.
    pub fn attach(program: &Program, tracepoint: &CStr) -> Result<Self> {
        let mut attributes = TracepointAttributes {
            name: tracepoint.as_ptr() as u64,
            prog_fd: program.as_fd().as_raw_fd() as u32,
            padding: 0,
            cookie: 0,
        };
        // SAFETY: the attributes are those of the command, which gives a descriptor; the name is a C string that
        // outlives the call.
        let fd = unsafe { bpf_descriptor(command::RAW_TRACEPOINT_OPEN, &mut attributes) };
        let asked = || format!("listen at the tracepoint {}", tracepoint.to_string_lossy());
        Ok(Self { _fd: fd.map_err(|e| Error::system(asked(), e))? })
    }
}

/// A program that looks through all things of one kind, as often as it is asked to.
#[derive(Debug)]
pub struct Iteration {
    link: OwnedFd,
}

/// `BPF_LINK_CREATE`'s part of `union bpf_attr` for iterators.
#[repr(C)]
struct LinkAttributes {
    prog_fd: u32,
    target_fd: u32,
    attach_type: u32,
    flags: u32,
    iter_info: u64,
    iter_info_len: u32,
    padding: u32,
}

/// `BPF_ITER_CREATE`'s part of `union bpf_attr`.
#[repr(C)]
struct IterationAttributes {
    link_fd: u32,
    flags: u32,
}

impl Iteration {
    /// Prepares a program of the kind [`Iterator`](super::ProgramKind::Iterator).
    ///
    /// # Errors
    /// Without CAP_PERFMON.
    pub fn new(program: &Program) -> Result<Self> {
        const BPF_TRACE_ITER: u32 = 28;
        let mut attributes = LinkAttributes {
            prog_fd: program.as_fd().as_raw_fd() as u32,
            target_fd: 0,
            attach_type: BPF_TRACE_ITER,
            flags: 0,
            iter_info: 0,
            iter_info_len: 0,
            padding: 0,
        };
        // SAFETY: the attributes are those of the command, which gives a descriptor, and hold no address.
        let link = unsafe { bpf_descriptor(command::LINK_CREATE, &mut attributes) };
        Ok(Self { link: link.map_err(|e| Error::system("attach a BPF iterator", e))? })
    }

    /// Has the program look through all of them; what it wrote.
    ///
    /// # Errors
    /// When the kernel has no memory for it.
    pub fn run(&self) -> io::Result<Vec<u8>> {
        let mut attributes =
            IterationAttributes { link_fd: self.link.as_raw_fd() as u32, flags: 0 };
        // SAFETY: the attributes are those of the command, which gives a descriptor, and hold no address.
        let fd = unsafe { bpf_descriptor(command::ITER_CREATE, &mut attributes)? };
        let mut written = Vec::new();
        File::from(fd).read_to_end(&mut written)?;
        Ok(written)
    }
}
