//! Visits: a connection to each of many targets, a request, and what is answered.
//!
//! - `request`: [`Request`], what each is asked, and `hello` for those that speak TLS
//! - `visitor`: [`Visitor`], who talks with all of them
//! - `neighbours`: whom peers name in their answers
//! - `walk`: [`Walk`], who is next; `caps` says how many of a host and of a network at once, `trail` from where a run that is
//!   ended now has to go on

mod caps;
mod hello;
mod neighbours;
mod request;
mod trail;
mod visitor;
mod walk;

pub use caps::Caps;
pub use request::Request;
pub use visitor::{Ending, Order, Outcome, Visit, Visitor};
pub use walk::Walk;
