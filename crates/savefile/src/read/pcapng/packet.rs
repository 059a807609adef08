//! The three blocks that hold a packet.

use linerate_base::Direction;

use super::super::fault::Fault;
use super::option::Options;
use super::{Block, Local};
use crate::code::option::{DIRECTION, EPB_FLAGS, INBOUND, OUTBOUND};
use crate::order::{Order, padded};

/// Offset of the packet's bytes in an Enhanced Packet Block and in an obsolete Packet Block.
const DATA: usize = 28;
/// Offset of the packet's bytes in a Simple Packet Block.
const SIMPLE_DATA: usize = 12;
/// Size of a block's trailing length.
const TRAILER: usize = 4;

/// A packet as its block describes it.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// Number of the interface in its section.
    pub(super) interface: u32,
    /// Time in ticks of the interface's clock; a Simple Packet Block has none.
    pub(super) ticks: Option<u64>,
    /// Offset of the packet's bytes in the block.
    pub(super) start: usize,
    pub(super) captured: u32,
    pub(super) length: u32,
    pub(super) direction: Direction,
}

#[inline]
pub(super) fn enhanced(block: Block<'_>) -> Result<Found, Fault> {
    timed(block, Order::u32)
}

/// The obsolete block differs from the enhanced one in a 16-bit interface number, followed by a count
/// of drops that hardly any program wrote.
pub(super) fn obsolete(block: Block<'_>) -> Result<Found, Fault> {
    timed(block, |order, bytes, at| u32::from(order.u16(bytes, at)))
}

#[inline]
fn timed(block: Block<'_>, interface: impl Fn(Order, &[u8], usize) -> u32) -> Result<Found, Fault> {
    block.at_least(DATA + TRAILER)?;
    let word = |at| block.order.u32(block.bytes, at);
    let captured = word(20);
    let options = data_end(block, DATA, captured)?;
    Ok(Found {
        interface: interface(block.order, block.bytes, 8),
        ticks: Some(u64::from(word(12)) << 32 | u64::from(word(16))),
        start: DATA,
        captured,
        length: word(24),
        direction: direction(block, options),
    })
}

/// A Simple Packet Block belongs to the section's first interface and holds what that one's snapshot
/// length allows.
pub(super) fn simple(block: Block<'_>, first: Option<&Local>) -> Result<Found, Fault> {
    block.at_least(SIMPLE_DATA + TRAILER)?;
    let length = block.order.u32(block.bytes, 8);
    let captured = first.map_or(length, |local| length.min(local.snaplen));
    data_end(block, SIMPLE_DATA, captured)?;
    Ok(Found {
        interface: 0,
        ticks: None,
        start: SIMPLE_DATA,
        captured,
        length,
        direction: Direction::Unknown,
    })
}

/// Where the bytes after a packet of `captured` bytes at `start` begin; padding may be missing, as it
/// is in the files of some old programs.
#[inline]
fn data_end(block: Block<'_>, start: usize, captured: u32) -> Result<usize, Fault> {
    let room = block.bytes.len() - TRAILER - start;
    if captured as usize > room {
        return Err(Fault::PacketPastBlock { captured, room });
    }
    Ok((start + padded(captured as usize)).min(block.bytes.len() - TRAILER))
}

/// The direction that the options from `start` on tell. A packet is good without it, so that damaged
/// options count as none.
#[inline]
fn direction(block: Block<'_>, start: usize) -> Direction {
    let options = &block.bytes[start..block.bytes.len() - TRAILER];
    if options.is_empty() { Direction::Unknown } else { flagged_direction(block, options) }
}

fn flagged_direction(block: Block<'_>, options: &[u8]) -> Direction {
    let mut options = Options::new(block.order, options).map_while(Result::ok);
    let flags = options.find(|option| option.code == EPB_FLAGS && option.value.len() == 4);
    match flags.map(|option| block.order.u32(option.value, 0) & DIRECTION) {
        Some(INBOUND) => Direction::In,
        Some(OUTBOUND) => Direction::Out,
        _ => Direction::Unknown,
    }
}
