//! Names of functions: the kernel's, and those of processes.

mod kernel;
mod user;

pub use kernel::KernelSymbols;
pub(crate) use kernel::TAP;
pub use user::UserSymbols;
