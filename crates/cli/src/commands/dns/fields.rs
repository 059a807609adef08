//! What is told of a question, or of a query.

use std::fmt;

use linerate::base::Timestamp;
use linerate::dns::{Event, Outcome, Reply, Zone, type_name};

use crate::args::DnsFieldArg;
use crate::commands::survey::{Cell, Field, Kind, seconds};

/// Gives a field its value.
pub(super) fn put(event: &Event<'_>, field: DnsFieldArg, cell: Cell<'_>) {
    let (reply, received) = match &event.outcome {
        Outcome::Reply(reply, time) => (Some(reply), Some(*time)),
        Outcome::Malformed(time) => (None, Some(*time)),
        Outcome::Silence | Outcome::Lost(_) => (None, None),
    };
    let zone = event.route.map(|route| route.zone);
    match field {
        DnsFieldArg::Name => cell.text(event.question.name()),
        DnsFieldArg::Type => cell.text(type_name(event.question.rtype())),
        DnsFieldArg::Status => put_status(event, cell),
        DnsFieldArg::Answers => put_answers(event, reply, cell),
        DnsFieldArg::Server => cell.text_if(event.server),
        DnsFieldArg::Protocol => cell.text(if event.is_streamed { "tcp" } else { "udp" }),
        DnsFieldArg::Attempt => cell.number(u64::from(event.attempt)),
        DnsFieldArg::Authoritative => cell.flag(reply.map(Reply::is_authoritative)),
        DnsFieldArg::Size => cell.number(reply.map(|reply| reply.size() as u64)),
        DnsFieldArg::Sent => cell.text_if(event.sent.map(seconds)),
        DnsFieldArg::Received => cell.text_if(received.map(seconds)),
        DnsFieldArg::RttUs => cell.number(trip(event.sent, received)),
        DnsFieldArg::Zone => cell.text_if(zone.map(Zone::name)),
        DnsFieldArg::Depth => cell.number(zone.map(|zone| u64::from(zone.depth()))),
        DnsFieldArg::Path => {
            let way = zone.map(Zone::way).unwrap_or_default();
            cell.list(
                way.iter()
                    .map(|(name, server)| fmt::from_fn(move |f| write!(f, "{name} {server}"))),
            );
        }
    }
}

impl Field for DnsFieldArg {
    fn kind(self) -> Kind {
        match self {
            Self::Name | Self::Type | Self::Status | Self::Zone => Kind::Text,
            Self::Answers | Self::Path => Kind::Texts,
            Self::Server => Kind::Address,
            Self::Protocol => Kind::Word(&["udp", "tcp"]),
            Self::Authoritative => Kind::Flag,
            Self::Attempt | Self::Size | Self::RttUs | Self::Depth => Kind::Number,
            Self::Sent | Self::Received => Kind::Time,
        }
    }
}

/// The records, behind those of the zones that a walk left for another name's.
fn put_answers(event: &Event<'_>, reply: Option<&Reply<'_>>, cell: Cell<'_>) {
    let records = reply.into_iter().flat_map(Reply::answers);
    let aliases = event.route.map_or(&[][..], |route| route.aliases);
    if aliases.is_empty() {
        return cell.list(records);
    }
    let records = records.map(|record| record.to_string());
    cell.list(aliases.iter().cloned().chain(records));
}

fn put_status(event: &Event<'_>, cell: Cell<'_>) {
    match &event.outcome {
        Outcome::Reply(reply, _) if reply.is_truncated() => cell.text("truncated"),
        Outcome::Reply(reply, _) => cell.text(reply.code()),
        Outcome::Malformed(_) => cell.text("malformed"),
        Outcome::Silence => cell.text("silent"),
        Outcome::Lost(loss) => cell.text(loss.name()),
    }
}

/// Microseconds. Clocks that were set meanwhile tell nothing.
fn trip(sent: Option<Timestamp>, received: Option<Timestamp>) -> Option<u64> {
    u64::try_from(received?.nanos_since(sent?) / 1_000).ok()
}
