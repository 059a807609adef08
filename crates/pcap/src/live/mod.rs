//! Live captures: settings, then a source of `linerate::capture` by the best back end that works.

pub mod activate;
pub mod devices;
pub mod settings;
pub mod source;
