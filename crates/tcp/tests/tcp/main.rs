//! The client against another TCP in user space (smoltcp), through wires with faults, and segment by segment.

mod peer;
mod script;
mod streams;
