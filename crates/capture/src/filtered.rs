//! A filter in user space, around any source.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use linerate_base::{Batch, Descriptor, Interface, Result, Source, Stats};

use crate::sieve::{Sieve, UserFilter};

/// A source that delivers only the packets of another which a filter keeps.
///
/// For filters that the kernel does not take. Packets stay where they are: only the table of a batch is
/// rewritten. Of the batches that come in, those without a packet left go out empty.
/// A filter may ask for the direction of a packet, and in live capture for its interface's number.
pub struct Filtered<S> {
    source: S,
    filter: UserFilter,
    sieve: Sieve,
    kept: Vec<Descriptor>,
    filtered: u64,
}

impl<S: Source> Filtered<S> {
    /// Filters the packets of `source`, of all its interfaces with one filter.
    pub fn new(source: S, filter: UserFilter) -> Self {
        Self { source, filter, sieve: Sieve::default(), kept: Vec::new(), filtered: 0 }
    }

    /// The same for packets of the one interface to which the system gave the number `index`; of
    /// several where that is `None`.
    pub(crate) fn on_interface(mut self, index: Option<u32>) -> Self {
        self.sieve.interface_index = index;
        self
    }
}

impl<S: Source> Source for Filtered<S> {
    fn interfaces(&self) -> &[Interface] {
        self.source.interfaces()
    }

    fn next_batch(&mut self, wait: Duration) -> Result<Option<Batch<'_>>> {
        let Some(batch) = self.source.next_batch(wait)? else { return Ok(None) };
        self.sieve.learn(batch.interfaces(), &mut |_| Ok(Some(self.filter.clone())))?;
        self.kept.clear();
        self.sieve.sift(&batch, &mut self.kept);
        self.filtered += (batch.len() - self.kept.len()) as u64;
        Ok(Some(Batch::new(batch.region(), &self.kept, batch.interfaces())))
    }

    fn stats(&mut self) -> Result<Stats> {
        let mut stats = self.source.stats()?;
        stats.delivered -= self.filtered;
        stats.filtered += self.filtered;
        Ok(stats)
    }

    fn watch(&mut self) -> Result<BorrowedFd<'_>> {
        self.source.watch()
    }

    fn stop(&mut self) -> Result<()> {
        self.source.stop()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use linerate_base::{Direction, LinkType};
    use linerate_bpf::classic::{Instruction, Program, opcode};

    use super::*;

    /// Delivers each of its packets of one byte twice: by interface 0 and, unless only one is asked
    /// for, by interface 1.
    struct Bytes(Vec<u8>, Vec<Descriptor>, Vec<Interface>, bool);

    impl Bytes {
        fn new(bytes: &[u8]) -> Self {
            let interface = |link_type| Interface { link_type, ..Interface::default() };
            let table = (0..bytes.len() as u32 * 2)
                .map(|i| Descriptor {
                    offset: i / 2,
                    captured: 1,
                    interface: i % 2,
                    direction: if i < 4 { Direction::Out } else { Direction::Unknown },
                    ..Descriptor::default()
                })
                .collect();
            let interfaces = vec![interface(LinkType::ETHERNET), interface(LinkType::RAW)];
            Self(bytes.to_vec(), table, interfaces, false)
        }
    }

    impl Source for Bytes {
        fn interfaces(&self) -> &[Interface] {
            &self.2
        }

        fn next_batch(&mut self, _: Duration) -> Result<Option<Batch<'_>>> {
            let done = std::mem::replace(&mut self.3, true);
            Ok((!done).then(|| Batch::new(&self.0, &self.1, &self.2)))
        }

        fn stats(&mut self) -> Result<Stats> {
            let packets = if self.3 { self.1.len() as u64 } else { 0 };
            Ok(Stats { seen: packets, delivered: packets, ..Stats::default() })
        }

        fn stop(&mut self) -> Result<()> {
            Ok(())
        }
    }

    /// Keeps packets of which `offset` gives `value`.
    fn equal(offset: u32, value: u32) -> UserFilter {
        let program = vec![
            Instruction::new(opcode::LDB_ABS, offset),
            Instruction::jump(opcode::JEQ_K, value, 0, 1),
            Instruction::new(opcode::RET_K, 1),
            Instruction::new(opcode::RET_K, 0),
        ];
        Arc::new(Program::new(program).unwrap())
    }

    fn run(mut source: Filtered<Bytes>) -> (Vec<(u8, u32)>, Stats) {
        let batch = source.next_batch(Duration::ZERO).unwrap().unwrap();
        let packets = batch.iter().map(|p| (p.data[0], p.interface)).collect();
        assert!(source.next_batch(Duration::ZERO).unwrap().is_none());
        (packets, source.stats().unwrap())
    }

    #[test]
    fn packets_turned_away_are_counted_and_the_rest_stays_in_order() {
        let (packets, stats) = run(Filtered::new(Bytes::new(&[7, 8, 7]), equal(0, 7)));
        assert_eq!(packets, [(7, 0), (7, 1), (7, 0), (7, 1)]);
        assert!(stats.balances());
        assert_eq!((stats.seen, stats.delivered, stats.filtered), (6, 4, 2));
    }
}
