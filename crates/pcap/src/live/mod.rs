//! Live captures: settings, then a source of `linerate::capture` by the best back end that works.

pub mod activate;
pub mod devices;
mod environment;
pub(crate) mod protocol;
pub(crate) mod report;
pub mod select;
pub mod settings;
pub mod source;
