//! Real packets between hosts made for the purpose.

mod common;
mod delivery;
mod faults;
mod live;
mod rhythm;
mod stamp;
