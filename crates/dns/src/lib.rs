//! Many questions of DNS at once.
//!
//! A query's number and port are a keyed MAC of its server, its question and how often that was asked: who has not seen the query
//! cannot answer it. What is kept is the questions under way, and nothing of others.
//!
//! - [`question`]: [`Question`], what is asked
//! - [`message`]: queries written, responses read
//! - [`servers`]: how fast each server may be asked, and who is left in peace
//! - [`asker`]: [`Asker`], questions under way: asked, asked again, answered
//! - [`streams`]: [`Streams`], the same over TCP for answers that do not fit a datagram
//!
//! It has no socket and no clock.

pub mod asker;
pub mod message;
pub mod question;
pub mod servers;
pub mod streams;

pub use asker::{Asker, Candidates, Config, Counters, Event, Outcome};
pub use message::{Manner, Record, Reply, Verdict};
pub use question::{Question, type_name, type_number};
pub use servers::Limits;
pub use streams::Streams;
