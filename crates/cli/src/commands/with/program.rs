//! Whether a program can be run with another library.

use std::env;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use linerate::base::{Error, ErrorKind, Result};
use linerate::sys::{capability, process};
use object::Endianness;
use object::elf::{ELFMAG, FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};

/// Bytes of a program's file in which its headers are.
const HEAD: u64 = 64 << 10;

const SETUID: u32 = 0o4000;
const SETGID: u32 = 0o2000;

/// What stands in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle {
    OtherUser,
    OtherGroup,
    Capabilities,
    Static,
    OtherWidth,
}

impl Obstacle {
    /// What is so, and what to do about it.
    fn explain(self) -> (&'static str, &'static str) {
        const AS_ROOT: &str =
            "run all of it as root, as in `sudo linerate with ...`, or a copy of the program";
        match self {
            Self::OtherUser => (
                "it runs as another user than the one that starts it (setuid), and the system \
                 then loads its own libraries only",
                AS_ROOT,
            ),
            Self::OtherGroup => (
                "it runs as another group than that of who starts it (setgid), and the system \
                 then loads its own libraries only",
                AS_ROOT,
            ),
            Self::Capabilities => (
                "it has capabilities of its own (setcap), and the system then loads its own \
                 libraries only",
                AS_ROOT,
            ),
            Self::Static => (
                "it is linked statically: its libpcap, if it has one, is a part of it",
                "take a build that is linked with libpcap.so, as the packages of distributions are",
            ),
            Self::OtherWidth => (
                "it is no program for 64-bit machines, and the library is",
                "take a build for 64-bit machines",
            ),
        }
    }
}

/// The file of a program that is started by this name.
///
/// # Errors
/// [`ErrorKind::NotFound`] when there is none.
pub(super) fn find(name: &OsStr) -> Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = match name.as_bytes().contains(&b'/') {
        true => Some(PathBuf::from(name)).filter(|file| is_program(file)),
        false => env::split_paths(&path).map(|folder| folder.join(name)).find(|f| is_program(f)),
    };
    found.ok_or_else(|| {
        let asked = format!("run {}", name.display());
        Error::new(ErrorKind::NotFound, asked, "there is no such program")
            .advise("name it as in a shell, or by its path")
    })
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Whether the program will load the library that it is told to.
///
/// # Errors
/// When it will not, with what to do.
pub(super) fn check(program: &Path) -> Result<()> {
    let asked = || format!("run {} with linerate's libpcap", program.display());
    let look = || -> std::io::Result<_> {
        let (meta, head) = (program.metadata()?, head_of(program)?);
        let has_own = capability::has_own(program)?;
        let who = (process::effective_user(), process::effective_group());
        let privileged = is_privileged(&meta, has_own, who);
        let unfit = match interpreter(&head) {
            // The interpreter is the program.
            Some(interpreter) => unfit(&head_of(&interpreter)?),
            None => unfit(&head),
        };
        Ok(privileged.or(unfit))
    };
    let Some(obstacle) = look().map_err(|e| Error::system(asked(), e))? else { return Ok(()) };
    let (answered, advice) = obstacle.explain();
    Err(Error::new(ErrorKind::Unsupported, asked(), answered).advise(advice))
}

/// The beginning of a program's file; none of one that may be run and not read.
fn head_of(program: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    match File::open(program) {
        Ok(file) => file.take(HEAD).read_to_end(&mut head).map(drop)?,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {}
        Err(error) => return Err(error),
    }
    Ok(head)
}

/// Why the system will not listen to this user and group, who start it (ld.so(8), "Secure-execution mode").
fn is_privileged(meta: &Metadata, has_own: bool, (user, group): (u32, u32)) -> Option<Obstacle> {
    match meta.mode() {
        mode if mode & SETUID != 0 && meta.uid() != user => Some(Obstacle::OtherUser),
        mode if mode & SETGID != 0 && meta.gid() != group => Some(Obstacle::OtherGroup),
        _ if has_own && user != 0 => Some(Obstacle::Capabilities),
        _ => None,
    }
}

/// The program that runs a script.
fn interpreter(head: &[u8]) -> Option<PathBuf> {
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.next().map(|word| PathBuf::from(OsStr::from_bytes(word)))
}

/// Why a program loads no libraries of ours.
fn unfit(head: &[u8]) -> Option<Obstacle> {
    if !head.starts_with(&ELFMAG) {
        return None;
    }
    let Ok(header) = FileHeader64::<Endianness>::parse(head) else {
        return Some(Obstacle::OtherWidth);
    };
    let Ok(endian) = header.endian() else { return Some(Obstacle::OtherWidth) };
    let parts = header.program_headers(endian, head).unwrap_or_default();
    let is_dynamic = parts.iter().any(|part| part.p_type(endian) == PT_INTERP);
    (!is_dynamic).then_some(Obstacle::Static)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        assert!(find("sh".as_ref()).unwrap().is_absolute());
        assert_eq!(find("/bin/sh".as_ref()).unwrap(), Path::new("/bin/sh"));
        for name in ["no-such-program", "/etc/passwd", "/etc", ""] {
            assert_eq!(find(name.as_ref()).unwrap_err().kind(), ErrorKind::NotFound, "{name}");
        }
    }

    #[test]
    fn privileges_are_in_the_way_of_those_who_have_them_not() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let with = |mode, has_own, is_owner| {
            file.as_file().set_permissions(std::fs::Permissions::from_mode(mode)).unwrap();
            let meta = file.as_file().metadata().unwrap();
            let other = |id: u32| if is_owner { id } else { id + 1 };
            is_privileged(&meta, has_own, (other(meta.uid()), other(meta.gid())))
        };
        assert_eq!(with(0o755, false, false), None);
        assert_eq!(with(0o4755, false, false), Some(Obstacle::OtherUser));
        assert_eq!(with(0o2755, false, false), Some(Obstacle::OtherGroup));
        assert_eq!(with(0o6755, false, true), None);
        assert_eq!(with(0o755, true, false), Some(Obstacle::Capabilities));
    }

    #[test]
    fn scripts_name_their_interpreter() {
        assert_eq!(interpreter(b"#! /usr/bin/python3 -u\nx"), Some("/usr/bin/python3".into()));
        assert_eq!(interpreter(b"#!/bin/sh"), Some("/bin/sh".into()));
        assert_eq!([interpreter(b"#!"), interpreter(b"\x7fELF")], [None, None]);
    }

    #[test]
    fn what_is_linked_statically_is_refused() {
        let mut head = head_of(Path::new("/proc/self/exe")).unwrap();
        assert_eq!(unfit(&head), None);
        head[4] = 1;
        assert_eq!(unfit(&head), Some(Obstacle::OtherWidth));
        head[4] = 2;
        // Without program headers.
        head[56..58].fill(0);
        assert_eq!(unfit(&head), Some(Obstacle::Static));
        assert_eq!(unfit(b"echo"), None);
        for cut in 4..64 {
            assert!(unfit(&head[..cut]).is_some(), "{cut}");
        }
    }
}
