//! Programs, maps and links of other processes, by their numbers.

use std::fs;
use std::io;

use linerate_base::{Error, Result};

use super::{bpf_descriptor, command};

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

/// The part of `union bpf_attr` that the commands ending in `_GET_FD_BY_ID` take.
#[repr(C)]
struct Attributes {
    id: u32,
    next_id: u32,
    open_flags: u32,
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
        let listed = || {
            let mut objects = Vec::new();
            for entry in fs::read_dir(format!("/proc/{id}/fdinfo"))? {
                // A descriptor may be closed at any time.
                let text = fs::read_to_string(entry?.path()).unwrap_or_default();
                objects.extend(text.lines().filter_map(object));
            }
            objects.sort();
            objects.dedup();
            Ok(objects)
        };
        listed().map_err(|e| Error::system(format!("list the descriptors of process {id}"), e))
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
}
