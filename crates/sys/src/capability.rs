//! What this process may do, and giving it up.

mod explain;

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use crate::process;

pub(crate) use explain::has_for_bpf;
pub use explain::{explain, with_remedy};

/// A privilege that the kernel checks on its own (capabilities(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Capability {
    /// Change interfaces, attach programs to them.
    NetAdmin = 12,
    /// Open packet sockets.
    NetRaw = 13,
    /// Lock more memory than the limit says.
    IpcLock = 14,
    /// Nearly everything.
    SysAdmin = 21,
    /// Trace and profile the system.
    Perfmon = 38,
    /// Load eBPF programs.
    Bpf = 39,
}

impl Capability {
    /// Its name as setcap(8) takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NetAdmin => "cap_net_admin",
            Self::NetRaw => "cap_net_raw",
            Self::IpcLock => "cap_ipc_lock",
            Self::SysAdmin => "cap_sys_admin",
            Self::Perfmon => "cap_perfmon",
            Self::Bpf => "cap_bpf",
        }
    }
}

/// True when a program's file has capabilities for whoever starts it (capabilities(7), "File capabilities").
///
/// # Errors
/// When there is no such file.
pub fn has_own(program: &Path) -> io::Result<bool> {
    let path = CString::new(program.as_os_str().as_bytes())?;
    let name = c"security.capability";
    // SAFETY: both are C strings, and nothing is written to a buffer of no bytes.
    let size = unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), ptr::null_mut(), 0) };
    if size >= 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        // The file has none, or its file system keeps none.
        Some(libc::ENODATA | libc::EOPNOTSUPP) => Ok(false),
        _ => Err(error),
    }
}

/// The capabilities in effect for the calling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities(u64);

impl Capabilities {
    /// Those that the calling thread has now.
    ///
    /// # Errors
    /// When the kernel does not know version 3 of the interface (before Linux 2.6.26).
    pub fn current() -> io::Result<Self> {
        let mut data = [CapabilityData::default(); 2];
        capability_call(libc::SYS_capget, &mut data)?;
        Ok(Self(u64::from(data[0].effective) | u64::from(data[1].effective) << 32))
    }

    /// True when `capability` is among them.
    pub fn contains(self, capability: Capability) -> bool {
        self.0 >> capability as u32 & 1 != 0
    }

    /// True when there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// `struct __user_cap_data_struct` of `linux/capability.h`: 32 of the 64 capabilities.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilityData {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

fn capability_call(call: libc::c_long, data: &mut [CapabilityData; 2]) -> io::Result<()> {
    // `_LINUX_CAPABILITY_VERSION_3`, and 0 for the calling thread.
    let mut header = [0x2008_0522u32, 0];
    // SAFETY: version 3 of capget(2) and capset(2) takes a header of two words and data of two
    // structures; both live through the call.
    let result = unsafe { libc::syscall(call, header.as_mut_ptr(), data.as_mut_ptr()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A user of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    name: CString,
    uid: libc::uid_t,
    gid: libc::gid_t,
}

impl User {
    /// The user called `name`, or who has that number, or `None` when there is none.
    ///
    /// # Errors
    /// When the user database cannot be read.
    pub fn named(name: &str) -> io::Result<Option<Self>> {
        let text = CString::new(name)?;
        // SAFETY: the name is a C string that lives through the call; the other arguments are `find`'s.
        let by_name = Self::find(|entry, strings, size, found| unsafe {
            libc::getpwnam_r(text.as_ptr(), entry, strings, size, found)
        })?;
        match (by_name, name.parse()) {
            // SAFETY: the number is no pointer; the other arguments are `find`'s.
            (None, Ok(uid)) => Self::find(|entry, strings, size, found| unsafe {
                libc::getpwuid_r(uid, entry, strings, size, found)
            }),
            (user, _) => Ok(user),
        }
    }

    /// The user whose entry `look_up` finds, which is given room for the entry, room for its strings with its size,
    /// and where to put the pointer to a valid entry (getpwnam_r(3)).
    fn find(
        look_up: impl FnOnce(
            *mut libc::passwd,
            *mut libc::c_char,
            libc::size_t,
            *mut *mut libc::passwd,
        ) -> libc::c_int,
    ) -> io::Result<Option<Self>> {
        let mut entry = MaybeUninit::<libc::passwd>::uninit();
        let mut found = ptr::null_mut();
        let mut strings = vec![0; 16 * 1024];
        let code = look_up(entry.as_mut_ptr(), strings.as_mut_ptr(), strings.len(), &raw mut found);
        if found.is_null() {
            return if code == 0 { Ok(None) } else { Err(io::Error::from_raw_os_error(code)) };
        }
        // SAFETY: a non-null result means that the entry is filled in.
        let entry = unsafe { entry.assume_init() };
        // SAFETY: its name is a C string in `strings`, which are still there.
        let name = unsafe { CStr::from_ptr(entry.pw_name) }.to_owned();
        Ok(Some(Self { name, uid: entry.pw_uid, gid: entry.pw_gid }))
    }

    /// The user's number.
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// The number of the user's own group.
    pub fn gid(&self) -> u32 {
        self.gid
    }
}

/// Becomes `user` for good: their groups, their group, their number, no capability, and no way
/// to gain one by executing a file. Descriptors that are open stay so.
///
/// The user and groups change for every thread of the process; capabilities that a file gave to
/// a process of an ordinary user are dropped for the calling thread and those that it starts
/// later, so call this before starting threads.
///
/// # Errors
/// When the process may not change its user (`EPERM`), or still could change back. Some of the
/// steps may then be done: the caller should exit.
pub fn become_user(user: &User) -> io::Result<()> {
    if process::effective_user() != user.uid {
        change_user(user)?;
    }
    limit_capabilities(&[])?;
    let left = Capabilities::current()?;
    if left.is_empty() { Ok(()) } else { Err(io::Error::other("capabilities are still in effect")) }
}

fn change_user(user: &User) -> io::Result<()> {
    // SAFETY: the name is a C string that lives through the call.
    done(unsafe { libc::initgroups(user.name.as_ptr(), user.gid) })?;
    // SAFETY: these calls take integers and touch no memory of ours.
    unsafe {
        done(libc::setresgid(user.gid, user.gid, user.gid))?;
        done(libc::setresuid(user.uid, user.uid, user.uid))
    }
}

/// Gives up all capabilities of the calling thread but those in `kept`, for good; see
/// [`become_user`].
///
/// # Errors
/// When the kernel refuses.
pub fn limit_capabilities(kept: &[Capability]) -> io::Result<()> {
    // SAFETY: this prctl(2) takes integers and touches no memory of ours.
    done(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    let kept = kept.iter().fold(0, |mask, capability| mask | 1u64 << *capability as u32);
    let kept = kept & Capabilities::current()?.0;
    let half = |bits: u32| CapabilityData { effective: bits, permitted: bits, inheritable: 0 };
    capability_call(libc::SYS_capset, &mut [half(kept as u32), half((kept >> 32) as u32)])
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_program_has_no_capabilities_of_its_own() {
        assert!(!has_own(Path::new("/proc/self/exe")).unwrap());
        let missing = has_own(Path::new("/no/such/program")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_user_who_does_not_exist_is_none() {
        assert_eq!(User::named("no such user here").unwrap(), None);
        assert_eq!(User::named("4294967294").unwrap(), None);
        for root in ["root", "0"] {
            let user = User::named(root).unwrap().expect("everywhere");
            assert_eq!((user.name.to_str(), user.uid(), user.gid()), (Ok("root"), 0, 0));
        }
    }

    #[test]
    fn capabilities_are_gone_for_the_thread_that_gave_them_up() {
        let limited = |kept: &'static [Capability]| {
            let thread = std::thread::spawn(|| {
                limit_capabilities(kept).unwrap();
                Capabilities::current().unwrap()
            });
            thread.join().unwrap()
        };
        assert!(limited(&[]).is_empty());
        let kept = limited(&[Capability::NetRaw]);
        assert!(!kept.contains(Capability::Bpf));
        let had = Capabilities::current().unwrap();
        assert_eq!(kept.contains(Capability::NetRaw), had.contains(Capability::NetRaw));
    }
}
