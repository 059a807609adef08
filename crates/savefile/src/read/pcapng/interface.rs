//! Interface Description and Interface Statistics Blocks.

use linerate_base::Interface;

use super::super::fault::Fault;
use super::super::table::Recorded;
use super::Block;
use super::clock::{Clock, Resolution};
use super::option::Options;
use crate::link;

const NAME: u16 = 2;
const DESCRIPTION: u16 = 3;
const RESOLUTION: u16 = 9;
const FILTER: u16 = 11;
const OFFSET: u16 = 14;

/// First byte of `if_filter` when the rest is the filter as its author wrote it.
const FILTER_TEXT: u8 = 0;

const RECEIVED: u16 = 4;
const INTERFACE_DROPPED: u16 = 5;
const ACCEPTED: u16 = 6;
const DROPPED: u16 = 7;
const DELIVERED: u16 = 8;

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
    for option in options(block, 16) {
        let option = option?;
        match option.code {
            NAME => interface.name = option.text(),
            DESCRIPTION => interface.description = option.text(),
            RESOLUTION => clock.resolution = Resolution::new(option.byte()?)?,
            FILTER => interface.filter = filter(option.value),
            OFFSET => clock.offset = option.number(order)? as i64,
            _ => {}
        }
    }
    Ok(Described { interface, clock })
}

/// The number of an interface and what an Interface Statistics Block says of it.
pub(super) fn statistics(block: Block<'_>) -> Result<(u32, Recorded), Fault> {
    block.at_least(24)?;
    let mut recorded = Recorded::default();
    for option in options(block, 20) {
        let option = option?;
        let counter = match option.code {
            RECEIVED => &mut recorded.received,
            INTERFACE_DROPPED => &mut recorded.interface_dropped,
            ACCEPTED => &mut recorded.accepted,
            DROPPED => &mut recorded.dropped,
            DELIVERED => &mut recorded.delivered,
            _ => continue,
        };
        *counter = Some(option.number(block.order)?);
    }
    Ok((block.order.u32(block.bytes, 8), recorded))
}

fn options(block: Block<'_>, start: usize) -> Options<'_> {
    Options::new(block.order, &block.bytes[start..block.bytes.len() - 4])
}

/// The text of a filter; compiled filters have none.
fn filter(value: &[u8]) -> String {
    match value {
        [FILTER_TEXT, text @ ..] => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    }
}
