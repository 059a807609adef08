//! System calls against the kernel, inside labs.

mod killed;
mod links;
mod metadata;
mod objects;
mod privileges;
mod raw_ip;
mod runs;
mod support;
mod watch;
