//! Interface Description and Interface Statistics Blocks.

use linerate_base::{Interface, TimestampSource};

use super::super::fault::Fault;
use super::super::table::Recorded;
use super::Block;
use super::clock::{Clock, Resolution};
use super::option::Options;
use crate::code::option;
use crate::link;

/// An interface and the clock that its packets were stamped by.
pub(super) struct Described {
    pub(super) interface: Interface,
    pub(super) clock: Clock,
}

/// What an Interface Description Block says.
pub(super) fn describe(block: Block<'_>) -> Result<Described, Fault> {
    block.at_least(20)?;
    let order = block.order;
    let mut interface = Interface {
        link_type: link::link_type(order.u16(block.bytes, 8)),
        snaplen: order.u32(block.bytes, 12),
        ..Interface::default()
    };
    let mut clock = Clock::default();
    for item in options(block, 16) {
        let item = item?;
        match item.code {
            option::COMMENT => {
                interface.timestamps = interface.timestamps.or(timestamps(&item.text()));
            }
            option::IF_NAME => interface.name = item.text(),
            option::IF_DESCRIPTION => interface.description = item.text(),
            option::IF_TSRESOL => clock.resolution = Resolution::new(item.byte()?)?,
            option::IF_FILTER => interface.filter = filter(item.value),
            option::IF_TSOFFSET => clock.offset = item.number(order)? as i64,
            _ => {}
        }
    }
    Ok(Described { interface, clock })
}

/// The number of an interface and what an Interface Statistics Block says of it.
pub(super) fn statistics(block: Block<'_>) -> Result<(u32, Recorded), Fault> {
    block.at_least(24)?;
    let mut recorded = Recorded::default();
    for item in options(block, 20) {
        let item = item?;
        let counter = match item.code {
            option::ISB_IFRECV => &mut recorded.received,
            option::ISB_IFDROP => &mut recorded.interface_dropped,
            option::ISB_FILTERACCEPT => &mut recorded.accepted,
            option::ISB_OSDROP => &mut recorded.dropped,
            option::ISB_USRDELIV => &mut recorded.delivered,
            _ => continue,
        };
        *counter = Some(item.number(block.order)?);
    }
    Ok((block.order.u32(block.bytes, 8), recorded))
}

fn options(block: Block<'_>, start: usize) -> Options<'_> {
    Options::new(block.order, &block.bytes[start..block.bytes.len() - 4])
}

/// The source of timestamps that a comment tells of.
fn timestamps(comment: &str) -> Option<TimestampSource> {
    comment.strip_prefix(option::TIMESTAMPS)?.parse().ok()
}

/// The text of a filter; compiled filters have none.
fn filter(value: &[u8]) -> String {
    match value {
        [option::FILTER_TEXT, text @ ..] => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    }
}
