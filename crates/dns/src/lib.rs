//! Many questions of DNS at once.
//!
//! A query's number and port are made by a secret key: who has not seen the query cannot answer it, and to who has the key they
//! tell where its question is. What is kept is the questions under way, and nothing of others.
//!
//! - [`question`]: [`Question`], what is asked
//! - `name`: names as people write them
//! - [`message`]: queries written, responses read
//! - `numbers`: by what the answer to a query is known
//! - [`servers`]: how fast each server may be asked, and who is left in peace
//! - [`asker`]: [`Asker`], questions under way: asked, asked again, answered
//! - [`streams`]: [`Streams`], the same over TCP for answers that do not fit a datagram
//! - [`walk`]: [`Walker`], from the root down to who is responsible for a name
//! - [`roots`]: where walks begin
//!
//! It has no socket and no clock.

pub mod asker;
pub mod message;
mod name;
mod numbers;
pub mod question;
pub mod roots;
pub mod servers;
pub mod streams;
pub mod walk;

pub use asker::{Asker, Candidates, Config, Counters, Event, Outcome, Route};
pub use message::{Manner, Record, Reply, Verdict};
pub use name::Name;
pub use question::{Question, type_name, type_number};
pub use servers::Limits;
pub use streams::Streams;
pub use walk::{Loss, Walker, Zone};
