//! What a program's instructions are for: parts that are named when it is loaded, and that the kernel tells again, with the
//! addresses of the machine code that it made of them.
//!
//! To the kernel a part is a line of source, whose text is the part's name: `bpftool prog dump jited` shows it, too.
//!
//! Sources: `Documentation/bpf/btf.rst`, 3.3 and 4; `linux/bpf.h`, `linux/btf.h` (Linux 6.18).

use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsRawFd, OwnedFd};

use linerate_base::{Error, Result};

use super::object::{Attributes, InfoAttributes};
use super::{bpf, bpf_descriptor, command};
use crate::btf::{self, Btf};

/// From an instruction on, until the next part begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The index of its first instruction.
    pub instruction: usize,
    /// What it is called.
    pub name: &'static str,
}

/// A part of a loaded program's machine code: it reaches to the next part, or to the program's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledPart {
    /// Where it begins in the kernel's memory.
    pub address: u64,
    /// What it is called.
    pub name: String,
}

/// `struct bpf_line_info`: instruction, the file's name, the line's text, line and column. Texts are told by where they are
/// among the strings.
type Line = [u32; 4];

/// Parts as `BPF_PROG_LOAD` takes them.
#[derive(Debug, Default)]
pub(super) struct PartDescriptions {
    /// What holds the strings.
    types: Option<OwnedFd>,
    lines: Vec<Line>,
}

/// `BPF_BTF_LOAD`'s part of `union bpf_attr`.
#[repr(C)]
struct BtfAttributes {
    btf: u64,
    log_buf: u64,
    size: u32,
    log_size: u32,
    log_level: u32,
    flags: u32,
}

impl PartDescriptions {
    /// Bytes of a line.
    pub(super) const RECORD: u32 = size_of::<Line>() as u32;

    /// # Errors
    /// When the kernel does not take the strings.
    pub(super) fn of(parts: &[Part]) -> io::Result<Self> {
        if parts.is_empty() {
            return Ok(Self::default());
        }
        let (strings, lines) = lines(parts);
        let btf = btf::with_strings(&strings);
        let mut attributes = BtfAttributes {
            btf: btf.as_ptr() as u64,
            log_buf: 0,
            size: btf.len() as u32,
            log_size: 0,
            log_level: 0,
            flags: 0,
        };
        // SAFETY: the attributes are those of the command, which gives a descriptor; the bytes are borrowed during the call
        // and have the given size.
        let types = unsafe { bpf_descriptor(command::BTF_LOAD, &mut attributes) }?;
        Ok(Self { types: Some(types), lines })
    }

    /// The descriptor of the strings, 0 without any.
    pub(super) fn types(&self) -> u32 {
        self.types.as_ref().map_or(0, |types| types.as_raw_fd() as u32)
    }

    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }
}

/// The strings, and the lines that lead to them.
fn lines(parts: &[Part]) -> (Vec<u8>, Vec<Line>) {
    // The first string is always the empty one; it serves as the file's name.
    let (mut strings, mut lines) = (vec![0], Vec::<Line>::new());
    for part in parts {
        let line = [part.instruction as u32, 0, strings.len() as u32, 0];
        strings.extend(part.name.bytes().chain([0]));
        // Of a part without instructions nothing is told.
        lines.pop_if(|last| last[0] == line[0]);
        lines.push(line);
    }
    (strings, lines)
}

/// `struct bpf_prog_info` up to the sizes of its records.
#[repr(C)]
#[derive(Default)]
struct ProgramInfo {
    kind_to_created: [u64; 7],
    map_ids: u64,
    name: [u8; 16],
    interface: u32,
    is_gpl_compatible: u32,
    netns: [u64; 2],
    nr_jited_ksyms: u32,
    nr_jited_func_lens: u32,
    jited_ksyms: u64,
    jited_func_lens: u64,
    btf_id: u32,
    func_info_rec_size: u32,
    func_info: u64,
    nr_func_info: u32,
    nr_line_info: u32,
    line_info: u64,
    jited_line_info: u64,
    nr_jited_line_info: u32,
    line_info_rec_size: u32,
    jited_line_info_rec_size: u32,
    nr_prog_tags: u32,
}

const _: () = assert!(offset_of!(ProgramInfo, name) == 64);
const _: () = assert!(offset_of!(ProgramInfo, btf_id) == 128);
const _: () = assert!(offset_of!(ProgramInfo, line_info) == 152);
const _: () = assert!(size_of::<ProgramInfo>() == 184);

/// `struct bpf_btf_info`.
#[repr(C)]
#[derive(Default)]
struct BtfInfo {
    btf: u64,
    size: u32,
    id: u32,
    name: u64,
    name_len: u32,
    is_kernels: u32,
}

/// Where the parts lie of all programs of this name that are loaded, by whomever.
///
/// # Errors
/// Without CAP_SYS_ADMIN.
pub fn compiled_parts(name: &str) -> Result<Vec<CompiledPart>> {
    let asked = || format!("look for BPF programs {name}");
    let (mut parts, mut last) = (Vec::new(), 0);
    while let Some(id) = after(last).map_err(|e| Error::system(asked(), e))? {
        // One that is gone meanwhile has no parts.
        parts.extend(parts_of(id, name).unwrap_or_default());
        last = id;
    }
    Ok(parts)
}

/// The number of the next program; `None` behind the last one.
fn after(program: u32) -> io::Result<Option<u32>> {
    let mut attributes = Attributes { id: program, next_id: 0, open_flags: 0 };
    // SAFETY: the attributes are those of the command.
    match unsafe { bpf(command::PROG_GET_NEXT_ID, &mut attributes) } {
        Ok(_) => Ok(Some(attributes.next_id)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// None of a program with another name.
fn parts_of(id: u32, name: &str) -> io::Result<Vec<CompiledPart>> {
    let program = open(command::PROG_GET_FD_BY_ID, id)?;
    let mut known = ProgramInfo::default();
    // SAFETY: every bit pattern is a valid `ProgramInfo`, and it leads to no memory: all its numbers are 0.
    unsafe { ask(&program, &mut known) }?;
    let is_named = known.name.split(|byte| *byte == 0).next() == Some(name.as_bytes());
    let count = known.nr_line_info.min(known.nr_jited_line_info) as usize;
    if !is_named || count == 0 {
        return Ok(Vec::new());
    }
    let (mut lines, mut addresses) = (vec![[0; 4]; count], vec![0_u64; count]);
    let mut info = ProgramInfo {
        nr_line_info: count as u32,
        line_info: lines.as_mut_ptr() as u64,
        line_info_rec_size: PartDescriptions::RECORD,
        nr_jited_line_info: count as u32,
        jited_line_info: addresses.as_mut_ptr() as u64,
        jited_line_info_rec_size: size_of::<u64>() as u32,
        ..ProgramInfo::default()
    };
    // SAFETY: every bit pattern is a valid `ProgramInfo`; the kernel writes at most `count` records of the given sizes to
    // either vector, which have as many.
    unsafe { ask(&program, &mut info) }?;
    let strings = strings(known.btf_id)?;
    let part = |(line, address): (&Line, &u64)| CompiledPart {
        address: *address,
        name: strings.text(line[2]),
    };
    // Who may not see addresses gets zeros.
    let parts = lines.iter().zip(&addresses).filter(|(_, address)| **address != 0);
    Ok(parts.map(part).collect())
}

/// The strings of a program's parts.
fn strings(id: u32) -> io::Result<Btf> {
    /// Ours have less.
    const MOST: usize = 4096;
    let types = open(command::BTF_GET_FD_BY_ID, id)?;
    let mut bytes = vec![0; MOST];
    let mut info =
        BtfInfo { btf: bytes.as_mut_ptr() as u64, size: MOST as u32, ..BtfInfo::default() };
    // SAFETY: every bit pattern is a valid `BtfInfo`; the kernel writes at most the given number of bytes.
    unsafe { ask(&types, &mut info) }?;
    Btf::new(bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn open(command: libc::c_int, id: u32) -> io::Result<OwnedFd> {
    let mut attributes = Attributes { id, next_id: 0, open_flags: 0 };
    // SAFETY: the attributes are those of the commands that end in `_GET_FD_BY_ID`, which give a descriptor.
    unsafe { bpf_descriptor(command, &mut attributes) }
}

/// What the kernel knows of an object.
///
/// # Safety
/// `I` is laid out as the object's information, every bit pattern is a valid one, and what it has of addresses is valid for
/// as many records as it says.
unsafe fn ask<I>(object: &OwnedFd, info: &mut I) -> io::Result<()> {
    let mut attributes = InfoAttributes {
        bpf_fd: object.as_raw_fd() as u32,
        info_len: size_of::<I>() as u32,
        info: (&raw mut *info) as u64,
    };
    // SAFETY: the attributes are those of the command; the rest is the caller's promise.
    unsafe { bpf(command::OBJ_GET_INFO_BY_FD, &mut attributes) }.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_without_instructions_are_left_out() {
        let part = |instruction, name| Part { instruction, name };
        let (strings, lines) = lines(&[part(0, "a"), part(3, "b"), part(3, "cd"), part(9, "a")]);
        assert_eq!(strings, b"\0a\0b\0cd\0a\0");
        let told: Vec<_> = lines.iter().map(|line| (line[0], line[2])).collect();
        assert_eq!(told, [(0, 1), (3, 5), (9, 8)]);
    }
}
