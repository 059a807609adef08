//! What is told of a question, or of a query.

use linerate::base::Timestamp;
use linerate::dns::{Event, Outcome, Reply, type_name};
use serde_json::{Value, json};

use crate::args::DnsFieldArg;
use crate::commands::survey::seconds;

/// The value of a field.
pub(super) fn value(event: &Event<'_>, field: DnsFieldArg) -> Value {
    let (reply, received) = match &event.outcome {
        Outcome::Reply(reply, time) => (Some(reply), Some(*time)),
        Outcome::Malformed(time) => (None, Some(*time)),
        Outcome::Silence => (None, None),
    };
    match field {
        DnsFieldArg::Name => json!(event.question.name().to_string()),
        DnsFieldArg::Type => json!(type_name(event.question.rtype()).to_string()),
        DnsFieldArg::Status => json!(status(event)),
        DnsFieldArg::Answers => {
            let answers = reply.map(|reply| reply.answers().map(|record| record.to_string()));
            json!(answers.map(Iterator::collect::<Vec<_>>).unwrap_or_default())
        }
        DnsFieldArg::Server => json!(event.server.to_string()),
        DnsFieldArg::Protocol => json!(if event.is_streamed { "tcp" } else { "udp" }),
        DnsFieldArg::Attempt => json!(event.attempt),
        DnsFieldArg::Authoritative => json!(reply.map(Reply::is_authoritative)),
        DnsFieldArg::Size => json!(reply.map(Reply::size)),
        DnsFieldArg::Sent => json!(event.sent.map(seconds)),
        DnsFieldArg::Received => json!(received.map(seconds)),
        DnsFieldArg::RttUs => json!(trip(event.sent, received)),
    }
}

fn status(event: &Event<'_>) -> String {
    match &event.outcome {
        Outcome::Reply(reply, _) if reply.is_truncated() => "truncated".into(),
        Outcome::Reply(reply, _) => reply.code().to_string(),
        Outcome::Malformed(_) => "malformed".into(),
        Outcome::Silence => "silent".into(),
    }
}

/// Microseconds. Clocks that were set meanwhile tell nothing.
fn trip(sent: Option<Timestamp>, received: Option<Timestamp>) -> Option<u64> {
    u64::try_from(received?.nanos_since(sent?) / 1_000).ok()
}
