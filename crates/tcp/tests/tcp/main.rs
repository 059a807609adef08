//! The client against another TCP in user space (smoltcp), through wires with faults; segment by segment; against peers that send
//! whatever they like.

mod peer;
mod script;
mod streams;
mod wild;
