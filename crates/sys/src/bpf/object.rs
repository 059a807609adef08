//! Programs, maps and links of other processes, by their numbers.

use std::fs;
use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsRawFd, OwnedFd};

use linerate_base::{Error, Result};

use super::{bpf, bpf_descriptor, command};

/// A program, map or link, as the kernel numbers them. Numbers are not used again soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Object {
    /// A program.
    Program(u32),
    /// A map.
    Map(u32),
    /// A link.
    Link(u32),
}

/// The part of `union bpf_attr` that the commands ending in `_GET_FD_BY_ID` and `_GET_NEXT_ID` take.
#[repr(C)]
pub(super) struct Attributes {
    pub(super) id: u32,
    pub(super) next_id: u32,
    pub(super) open_flags: u32,
}

/// A map of another process.
#[derive(Debug)]
pub struct ForeignMap {
    /// Its descriptor.
    pub fd: OwnedFd,
    /// What it was made with.
    pub name: String,
    /// Bytes of an element's value.
    pub value_size: usize,
    /// Number of elements.
    pub entries: usize,
    /// True when it is an array that can be mapped.
    pub is_mappable: bool,
}

/// `BPF_OBJ_GET_INFO_BY_FD`'s part of `union bpf_attr`.
#[repr(C)]
pub(super) struct InfoAttributes {
    pub(super) bpf_fd: u32,
    pub(super) info_len: u32,
    pub(super) info: u64,
}

/// The beginning of `struct bpf_map_info`.
#[repr(C)]
#[derive(Default)]
struct MapInfo {
    kind: u32,
    id: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
    name: [u8; 16],
}

impl ForeignMap {
    /// The map with this number.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN; when it is gone.
    pub fn open(id: u32) -> Result<Self> {
        const ARRAY: u32 = 2;
        const MMAPABLE: u32 = 1 << 10;
        let asked = || format!("open the BPF map {id}");
        let mut attributes = Attributes { id, next_id: 0, open_flags: 0 };
        // SAFETY: the attributes are those of the command, which gives a descriptor.
        let fd = unsafe { bpf_descriptor(command::MAP_GET_FD_BY_ID, &mut attributes) };
        let fd = fd.map_err(|e| Error::system(asked(), e))?;
        let mut info = MapInfo::default();
        let mut attributes = InfoAttributes {
            bpf_fd: fd.as_raw_fd() as u32,
            info_len: size_of::<MapInfo>() as u32,
            info: (&raw mut info) as u64,
        };
        // SAFETY: the attributes are those of the command; the kernel writes at most the given size, and every bit
        // pattern is a valid `MapInfo`.
        unsafe { bpf(command::OBJ_GET_INFO_BY_FD, &mut attributes) }
            .map_err(|e| Error::system(asked(), e))?;
        let name = info.name.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(Self {
            fd,
            name: String::from_utf8_lossy(name).into_owned(),
            value_size: info.value_size as usize,
            entries: info.max_entries as usize,
            is_mappable: info.kind == ARRAY && info.map_flags & MMAPABLE != 0,
        })
    }
}

/// `struct bpf_prog_info` up to the numbers of maps.
#[repr(C)]
#[derive(Default)]
struct ProgramInfo {
    kind: u32,
    id: u32,
    tag: [u8; 8],
    code_lengths: [u32; 2],
    code: [u64; 2],
    load_time: u64,
    user: u32,
    maps: u32,
    map_ids: u64,
}

const _: () = assert!(offset_of!(ProgramInfo, map_ids) == 56);

/// The numbers of the maps, 32 at most, that the program with this number uses: a process need not have
/// descriptors of them.
///
/// # Errors
/// Without CAP_SYS_ADMIN; when the program is gone.
pub fn maps_of(program: u32) -> Result<Vec<u32>> {
    let asked = || format!("ask for the maps of the BPF program {program}");
    let mut attributes = Attributes { id: program, next_id: 0, open_flags: 0 };
    // SAFETY: the attributes are those of the command, which gives a descriptor.
    let fd = unsafe { bpf_descriptor(command::PROG_GET_FD_BY_ID, &mut attributes) };
    let fd = fd.map_err(|e| Error::system(asked(), e))?;
    let mut maps = vec![0_u32; 32];
    let mut info = ProgramInfo {
        maps: maps.len() as u32,
        map_ids: maps.as_mut_ptr() as u64,
        ..ProgramInfo::default()
    };
    let mut attributes = InfoAttributes {
        bpf_fd: fd.as_raw_fd() as u32,
        info_len: size_of::<ProgramInfo>() as u32,
        info: (&raw mut info) as u64,
    };
    // SAFETY: the attributes are those of the command; the kernel writes at most the given size to `info`, of which
    // every bit pattern is valid, and at most as many numbers to `maps` as it is told.
    unsafe { bpf(command::OBJ_GET_INFO_BY_FD, &mut attributes) }
        .map_err(|e| Error::system(asked(), e))?;
    maps.truncate(info.maps as usize);
    Ok(maps)
}

/// A program that a process keeps attached to an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attached {
    /// The program's number.
    pub program: u32,
    /// The interface's index, in its own network namespace; 0: it is gone.
    pub interface: u32,
}

impl Attached {
    /// Those of a process, by the links that it has descriptors of (proc_pid_fdinfo(5); `bpf_link_show_fdinfo` in
    /// kernel/bpf/syscall.c, Linux 6.18).
    ///
    /// # Errors
    /// When there is no such process, or it is another user's.
    pub fn by_process(id: u32) -> Result<Vec<Self>> {
        let texts = descriptors(id)?;
        let mut attached: Vec<_> = texts.iter().filter_map(|text| Self::read(text)).collect();
        attached.sort();
        attached.dedup();
        Ok(attached)
    }

    fn read(text: &str) -> Option<Self> {
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.trim().parse().ok()
        };
        Some(Self { program: number("prog_id")?, interface: number("ifindex")? })
    }
}

/// What is told of each descriptor of a process.
fn descriptors(process: u32) -> Result<Vec<String>> {
    let listed = || -> io::Result<Vec<String>> {
        let entries = fs::read_dir(format!("/proc/{process}/fdinfo"))?;
        // A descriptor may be closed at any time.
        let text = |entry: io::Result<fs::DirEntry>| {
            entry.map(|entry| fs::read_to_string(entry.path()).unwrap_or_default())
        };
        entries.map(text).collect()
    };
    listed().map_err(|e| Error::system(format!("list the descriptors of process {process}"), e))
}

impl Object {
    /// True while somebody holds it: a process, another object, or an interface.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN.
    pub fn exists(self) -> Result<bool> {
        let (command, id) = match self {
            Self::Program(id) => (command::PROG_GET_FD_BY_ID, id),
            Self::Map(id) => (command::MAP_GET_FD_BY_ID, id),
            Self::Link(id) => (command::LINK_GET_FD_BY_ID, id),
        };
        let mut attributes = Attributes { id, next_id: 0, open_flags: 0 };
        // SAFETY: the attributes are those of the command, which gives a descriptor.
        match unsafe { bpf_descriptor(command, &mut attributes) } {
            Ok(_) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(Error::system(format!("look for BPF {self:?}"), e)),
        }
    }

    /// Those of which a process holds descriptors (proc_pid_fdinfo(5)).
    ///
    /// # Errors
    /// When there is no such process, or it is another user's.
    pub fn of_process(id: u32) -> Result<Vec<Self>> {
        let texts = descriptors(id)?;
        let mut objects: Vec<_> =
            texts.iter().flat_map(|text| text.lines().filter_map(object)).collect();
        objects.sort();
        objects.dedup();
        Ok(objects)
    }
}

fn object(line: &str) -> Option<Object> {
    let (name, number) = line.split_once(':')?;
    let object: fn(u32) -> Object = match name {
        "prog_id" => Object::Program,
        "map_id" => Object::Map,
        "link_id" => Object::Link,
        _ => return None,
    };
    number.trim().parse().ok().map(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_read_from_what_proc_tells() {
        assert_eq!(object("prog_id:\t12"), Some(Object::Program(12)));
        assert_eq!(object("map_id:\t7"), Some(Object::Map(7)));
        assert_eq!(object("link_id:\t3"), Some(Object::Link(3)));
        assert_eq!(object("pos:\t0"), None);
        assert!(Object::of_process(u32::MAX).is_err());
    }

    #[test]
    fn links_tell_program_and_interface() {
        let link =
            "pos:\t0\nlink_type:\ttcx\nlink_id:\t9\nprog_tag:\t1f\nprog_id:\t12\nifindex:\t3\n";
        assert_eq!(Attached::read(link), Some(Attached { program: 12, interface: 3 }));
        assert_eq!(Attached::read("prog_id:\t12\n"), None);
    }
}
