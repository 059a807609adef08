//! Live captures: settings, then a source of `linerate::capture` by the best back end that works.

pub mod activate;
mod addresses;
mod at_exit;
pub mod devices;
mod environment;
pub(crate) mod protocol;
mod report;
pub mod select;
pub mod settings;
pub mod source;
