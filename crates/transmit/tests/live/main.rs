//! Real packets between hosts made for the purpose.

mod common;
mod delivery;
mod faults;
mod frames;
mod live;
mod offload;
mod rhythm;
mod stamp;
mod verified;
mod xdp;
