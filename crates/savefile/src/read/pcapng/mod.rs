//! The pcapng format: blocks, each with its type, its length at both ends and a body.
//!
//! A file is a row of sections. Each begins with a Section Header Block that gives the byte order, and
//! has its own numbering of interfaces; the table's numbering runs on over the whole file. What a section
//! says of its own length is not needed and not believed, so sections may nest or overlap. Packets come
//! from Enhanced, Simple and (obsolete) Packet Blocks; interfaces from Interface Description Blocks;
//! recorded statistics from Interface Statistics Blocks. All other blocks (names, secrets, custom ones)
//! are stepped over.

mod clock;
mod interface;
mod option;
mod packet;

use linerate_base::{Descriptor, Timestamp};

use self::clock::Clock;
use super::cutter::{GUESS, ROW};
use super::fault::Fault;
use super::table::{Step, Stop, Table, effective};
use crate::code::block;
use crate::order::Order;

/// The first bytes of every file: the type of a Section Header Block.
pub(super) const MAGIC: [u8; 4] = block::SECTION.to_be_bytes();

/// The least length of a block: type, length and length again.
pub(super) const MIN_BLOCK: u32 = 12;
/// The greatest length of a block: the largest packet of any link type (128 MiB), with room for options.
pub(super) const MAX_BLOCK: u32 = 144 << 20;

/// An interface of the current section.
#[derive(Clone, Copy, Debug)]
struct Local {
    /// Its index in the table.
    index: u32,
    /// The most bytes delivered of its packets.
    snaplen: u32,
    clock: Clock,
}

/// A parser of blocks; the first block it sees must be a Section Header Block.
#[derive(Clone, Debug)]
pub(super) struct Pcapng {
    order: Order,
    interfaces: Vec<Local>,
}

/// A whole block.
#[derive(Clone, Copy)]
struct Block<'a> {
    order: Order,
    kind: u32,
    /// All of it, from its type to its trailing length.
    bytes: &'a [u8],
}

impl Pcapng {
    pub(super) fn new() -> Self {
        Self { order: Order::Little, interfaces: Vec::new() }
    }

    /// Takes every whole block of `region` from `at` on.
    pub(super) fn parse(&mut self, region: &[u8], mut at: usize, table: &mut Table) -> Step {
        loop {
            match self.step(region, at, table) {
                Ok(length) => at += length,
                Err(stop) => return Step { at, stop },
            }
        }
    }

    /// Where a few packets' blocks in a row begin in `region`, which begins where a block could.
    pub(super) fn guess(&self, region: &[u8]) -> Option<usize> {
        let limit = region.len().min(GUESS);
        (0..limit).step_by(4).find(|&at| self.begins_row(&region[at..]))
    }

    fn begins_row(&self, mut bytes: &[u8]) -> bool {
        for number in 0..ROW {
            match self.block(bytes) {
                Ok(block) if block.is_packet() => bytes = &bytes[block.bytes.len()..],
                Err(Stop::Need(_)) => return number > 0,
                _ => return false,
            }
        }
        true
    }

    /// Takes the block at region offset `at` and returns its length.
    #[inline]
    fn step(&mut self, region: &[u8], at: usize, table: &mut Table) -> Result<usize, Stop> {
        let block = self.block(&region[at..])?;
        self.take(block, at, table)?;
        Ok(block.bytes.len())
    }

    /// The block that `bytes` begin with.
    #[inline]
    fn block<'a>(&self, bytes: &'a [u8]) -> Result<Block<'a>, Stop> {
        let Some(head) = bytes.first_chunk::<{ MIN_BLOCK as usize }>() else {
            return Err(Stop::Need(MIN_BLOCK as usize));
        };
        let kind = self.order.u32(head, 0);
        let order = if kind == block::SECTION { section_order(head)? } else { self.order };
        let length = order.u32(head, 4);
        if !(MIN_BLOCK..=MAX_BLOCK).contains(&length) || !length.is_multiple_of(4) {
            return Err(Fault::BlockLength(length).into());
        }
        let bytes = bytes.get(..length as usize).ok_or(Stop::Need(length as usize))?;
        let trailing = order.u32(bytes, bytes.len() - 4);
        if trailing != length {
            return Err(Fault::TrailingLength { leading: length, trailing }.into());
        }
        Ok(Block { order, kind, bytes })
    }

    /// Does what `block`, at region offset `at`, asks for.
    #[inline]
    fn take(&mut self, block: Block<'_>, at: usize, table: &mut Table) -> Result<(), Fault> {
        match block.kind {
            block::ENHANCED_PACKET => self.push(packet::enhanced(block)?, at, table),
            block::SIMPLE_PACKET => {
                self.push(packet::simple(block, self.interfaces.first())?, at, table)
            }
            block::PACKET => self.push(packet::obsolete(block)?, at, table),
            block::SECTION => self.begin_section(block, table),
            block::INTERFACE => self.add_interface(block, table),
            block::STATISTICS => self.record_statistics(block, table),
            _ => Ok(()),
        }
    }

    #[inline]
    fn push(&self, found: packet::Found, at: usize, table: &mut Table) -> Result<(), Fault> {
        let Some(local) = self.interfaces.get(found.interface as usize) else {
            let known = self.interfaces.len();
            return Err(Fault::UnknownInterface { id: found.interface, known });
        };
        let descriptor = Descriptor {
            time: found.ticks.map_or(Timestamp::EPOCH, |ticks| local.clock.time(ticks)),
            offset: (at + found.start) as u32,
            captured: found.captured,
            length: found.length,
            interface: local.index,
            direction: found.direction,
        };
        table.push(descriptor, local.snaplen);
        Ok(())
    }

    fn begin_section(&mut self, block: Block<'_>, table: &mut Table) -> Result<(), Fault> {
        table.news = true;
        block.at_least(28)?;
        let (major, minor) = (block.order.u16(block.bytes, 12), block.order.u16(block.bytes, 14));
        if major != 1 {
            return Err(Fault::Version { major, minor, expected: "1.x" });
        }
        self.order = block.order;
        self.interfaces.clear();
        Ok(())
    }

    fn add_interface(&mut self, block: Block<'_>, table: &mut Table) -> Result<(), Fault> {
        let described = interface::describe(block)?;
        let snaplen = effective(described.interface.snaplen);
        let index = table.add_interface(described.interface, block.order)?;
        self.interfaces.push(Local { index, snaplen, clock: described.clock });
        Ok(())
    }

    /// Statistics of an interface that the section does not describe are of no use to anyone.
    fn record_statistics(&self, block: Block<'_>, table: &mut Table) -> Result<(), Fault> {
        let (id, recorded) = interface::statistics(block)?;
        if let Some(local) = self.interfaces.get(id as usize) {
            table.record(local.index, recorded);
        }
        Ok(())
    }
}

impl Block<'_> {
    fn is_packet(&self) -> bool {
        matches!(self.kind, block::ENHANCED_PACKET | block::SIMPLE_PACKET | block::PACKET)
    }

    /// A fault unless the block has `expected` bytes.
    #[inline]
    fn at_least(&self, expected: usize) -> Result<(), Fault> {
        let (kind, length) = (self.kind, self.bytes.len());
        if length < expected { Err(Fault::BlockShort { kind, length, expected }) } else { Ok(()) }
    }
}

/// The byte order of the section that begins with `head`.
fn section_order(head: &[u8; MIN_BLOCK as usize]) -> Result<Order, Fault> {
    match Order::Little.u32(head, 8) {
        block::ORDER_MAGIC => Ok(Order::Little),
        magic if magic.swap_bytes() == block::ORDER_MAGIC => Ok(Order::Big),
        other => Err(Fault::OrderMagic(other)),
    }
}
