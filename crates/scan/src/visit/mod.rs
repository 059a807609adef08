//! Visits: a connection to each of many targets, a request, and what is answered.
//!
//! - `request`: [`Request`], what each is asked, and `hello` for those that speak TLS
//! - `visitor`: [`Visitor`], who talks with all of them
//! - `doors`: [`Doors`], from which address and port each is visited
//! - `neighbours`: whom peers name in their answers

mod doors;
mod hello;
mod neighbours;
mod request;
mod visitor;

pub use doors::Doors;
pub use request::Request;
pub use visitor::{Departure, Ending, Order, Outcome, Visit, Visitor};
