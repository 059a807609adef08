//! The calling process: its user, its children's lives.

/// The effective user of this process; 0 is root, of the user namespace it is in.
pub fn effective_user() -> u32 {
    // SAFETY: geteuid(2) takes nothing, cannot fail and touches no memory of ours.
    unsafe { libc::geteuid() }
}
