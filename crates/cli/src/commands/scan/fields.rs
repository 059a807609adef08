//! What is told of an answer.

use linerate::scan::{Answer, Class};
use linerate::tcp::quote::Trouble;

use crate::args::FieldArg;
use crate::commands::survey::{Cell, Field, Kind, seconds};

/// Gives a field its value.
pub(super) fn put(answer: &Answer, field: FieldArg, cell: Cell<'_>) {
    match field {
        FieldArg::Address => cell.text(answer.target.address),
        FieldArg::Port => cell.number(u64::from(answer.target.port)),
        FieldArg::Class => cell.text(answer.class.name()),
        FieldArg::Success => cell.flag(Some(answer.class.is_success())),
        FieldArg::Code => match answer.class {
            Class::Unreachable(Trouble::Unreachable(code)) => cell.number(u64::from(code)),
            _ => cell.null(),
        },
        FieldArg::From => cell.text(answer.from),
        FieldArg::Ttl => cell.number(u64::from(answer.hop_limit)),
        FieldArg::Size => cell.number(answer.size as u64),
        FieldArg::RttUs => cell.number(answer.rtt.map(|rtt| rtt.as_micros() as u64)),
        FieldArg::Time => cell.text(seconds(answer.time)),
    }
}

impl Field for FieldArg {
    fn kind(self) -> Kind {
        match self {
            Self::Address | Self::From => Kind::Address,
            Self::Class => Kind::Word(Class::NAMES),
            Self::Success => Kind::Flag,
            Self::Port | Self::Code | Self::Ttl | Self::Size | Self::RttUs => Kind::Number,
            Self::Time => Kind::Time,
        }
    }
}
