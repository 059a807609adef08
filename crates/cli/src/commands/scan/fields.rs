//! What is told of an answer.

use linerate::scan::{Answer, Class};
use linerate::tcp::quote::Trouble;
use serde_json::{Value, json};

use crate::args::FieldArg;
use crate::commands::survey::{Kind, seconds};

/// The value of a field.
pub(super) fn value(answer: &Answer, field: FieldArg) -> Value {
    match field {
        FieldArg::Address => json!(answer.target.address),
        FieldArg::Port => json!(answer.target.port),
        FieldArg::Class => json!(answer.class.name()),
        FieldArg::Success => json!(answer.class.is_success()),
        FieldArg::Code => match answer.class {
            Class::Unreachable(Trouble::Unreachable(code)) => json!(code),
            _ => Value::Null,
        },
        FieldArg::From => json!(answer.from),
        FieldArg::Ttl => json!(answer.hop_limit),
        FieldArg::Size => json!(answer.size),
        FieldArg::RttUs => json!(answer.rtt.map(|rtt| rtt.as_micros() as u64)),
        FieldArg::Time => json!(seconds(answer.time).to_string()),
    }
}

/// What a field may be compared with.
pub(super) fn kind(field: FieldArg) -> Kind {
    match field {
        FieldArg::Address | FieldArg::From => Kind::Address,
        FieldArg::Class => Kind::Word(Class::NAMES),
        FieldArg::Success => Kind::Flag,
        FieldArg::Port
        | FieldArg::Code
        | FieldArg::Ttl
        | FieldArg::Size
        | FieldArg::RttUs
        | FieldArg::Time => Kind::Number,
    }
}
