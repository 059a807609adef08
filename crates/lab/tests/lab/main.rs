//! Labs as their users see them. All of it needs root.

mod common;
mod faults;
mod live;
mod quiet;
mod running;
mod teardown;
mod traffic;
mod wire;
