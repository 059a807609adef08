//! What the machine was doing, some hundred times a second, and which component of a packet's way that was.

use std::collections::{BTreeMap, HashMap};

use linerate_base::{Error, Result};
use linerate_sys::perf::{self, Clock, Record, Sample, Sampler, Target};
use linerate_sys::{cpu, task};

use crate::path::{Component, ComponentMap, Verdict};
use crate::symbols::KernelSymbols;

/// Samples a second that do not fall into step with what happens a hundred or a thousand times a second.
pub const FREQUENCY: u32 = 997;

/// Samples of all processors, on their way. What the thread that began does counts as nobody's: it fetches them.
#[derive(Debug)]
pub struct Sampling {
    samplers: Vec<Sampler>,
    /// The thread that fetches samples, whose work is nobody's.
    own: u32,
    clock: Clock,
    stacks: HashMap<Stack, u64>,
    samples: u64,
    lost: u64,
}

/// Where a processor was.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stack {
    /// Whose turn it was.
    pub process: u32,
    /// In the kernel, from the inside out.
    pub kernel: Vec<u64>,
    /// In the process, from the inside out.
    pub user: Vec<u64>,
}

/// Samples that were taken.
#[derive(Clone, Debug)]
pub struct Samples {
    /// What said when.
    pub clock: Clock,
    /// Where processors were, and what it weighs: nanoseconds or cycles, by the clock.
    pub stacks: HashMap<Stack, u64>,
    /// How many there were.
    pub samples: u64,
    /// How many found no room.
    pub lost: u64,
}

impl Sampling {
    /// Begins to sample all processors [`FREQUENCY`] times a second: by their cycles where they tell them.
    ///
    /// # Errors
    /// [`ErrorKind::Permission`](linerate_base::ErrorKind::Permission) without CAP_PERFMON, unless
    /// `kernel.perf_event_paranoid` is -1.
    pub fn start() -> Result<Self> {
        let clock = if perf::has_cycles() { Clock::Cycles } else { Clock::Timer };
        let open = |cpu| Sampler::open(clock, Target::Cpu(cpu), FREQUENCY);
        let samplers = cpu::online()?.into_iter().map(open).collect::<Result<Vec<_>>>()?;
        samplers.iter().try_for_each(Sampler::start)?;
        let own =
            task::this_thread().map_err(|e| Error::system("ask for this thread's number", e))?;
        Ok(Self { samplers, own, clock, stacks: HashMap::new(), samples: 0, lost: 0 })
    }

    /// Takes what there is out of the rings; to be called some times a second, by the thread that began.
    pub fn collect(&mut self) {
        let Self { samplers, own, stacks, samples, lost, .. } = self;
        for record in samplers.iter_mut().flat_map(Sampler::take) {
            match record {
                Record::Lost(count) => *lost += count,
                Record::Sample(Sample { process, thread, period, kernel, user, .. }) => {
                    *samples += 1;
                    // Receiving that interrupts it is still found by its stack in the kernel.
                    let process = if thread == *own { 0 } else { process };
                    *stacks.entry(Stack { process, kernel, user }).or_default() += period;
                }
            }
        }
    }

    /// Samples no more.
    ///
    /// # Errors
    /// None that can be expected.
    pub fn finish(mut self) -> Result<Samples> {
        self.samplers.iter().try_for_each(Sampler::stop)?;
        self.collect();
        let Self { clock, stacks, samples, lost, .. } = self;
        Ok(Samples { clock, stacks, samples, lost })
    }
}

/// What each component weighs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weights {
    /// By component, as far as there was any.
    pub components: BTreeMap<Component, u64>,
    /// What had nothing to do with receiving or with the capture.
    pub elsewhere: u64,
}

impl Weights {
    /// What all components weigh.
    pub fn total(&self) -> u64 {
        self.components.values().sum()
    }

    /// A component's part of them, 0 to 1.
    pub fn share(&self, component: Component) -> f64 {
        let weight = self.components.get(&component).copied().unwrap_or(0);
        weight as f64 / self.total().max(1) as f64
    }

    /// The part that is in some function that is known, 0 to 1.
    pub fn classified(&self) -> f64 {
        1.0 - self.share(Component::Unclassified)
    }
}

/// Tells what stacks mean.
#[derive(Debug)]
pub struct Classifier {
    symbols: KernelSymbols,
    map: ComponentMap,
}

impl Classifier {
    /// With the kernel's symbols as they are now: what was loaded meanwhile is among them.
    ///
    /// # Errors
    /// As [`KernelSymbols::read`].
    pub fn new() -> Result<Self> {
        Ok(Self { symbols: KernelSymbols::read()?, map: ComponentMap::default() })
    }

    /// The kernel's symbols.
    pub fn symbols(&self) -> &KernelSymbols {
        &self.symbols
    }

    /// The component that a function of the kernel belongs to, where that is known.
    pub fn component(&self, function: &str) -> Option<Component> {
        match self.map.function(function)? {
            Verdict::On(component) => Some(component),
            Verdict::Elsewhere => None,
        }
    }

    /// What the samples' components weigh, for a capture by these processes.
    pub fn weigh(&self, samples: &Samples, captures: &[u32]) -> Weights {
        let mut weights = Weights::default();
        for (stack, weight) in &samples.stacks {
            match self.classify(stack, captures) {
                Verdict::On(component) => {
                    *weights.components.entry(component).or_default() += weight;
                }
                Verdict::Elsewhere => weights.elsewhere += weight,
            }
        }
        weights
    }

    /// What a stack says. What other processes do counts where they were interrupted for receiving.
    pub fn classify(&self, stack: &Stack, captures: &[u32]) -> Verdict {
        let is_capture = captures.contains(&stack.process);
        if stack.kernel.is_empty() {
            return if is_capture { Verdict::On(Component::UserCode) } else { Verdict::Elsewhere };
        }
        let names: Vec<_> =
            stack.kernel.iter().map(|address| self.symbols.name(*address)).collect();
        if !is_capture && !self.is_receiving(&names) {
            return Verdict::Elsewhere;
        }
        self.map.stack(names).unwrap_or(Verdict::On(Component::Unclassified))
    }

    /// Whether the stack comes from an interrupt or a softirq that receives.
    fn is_receiving(&self, names: &[Option<&str>]) -> bool {
        let begins = [Verdict::On(Component::Interrupt), Verdict::On(Component::Driver)];
        let mut known = names.iter().flatten().filter_map(|name| self.map.function(name));
        known.any(|verdict| begins.contains(&verdict))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYMBOLS: &str = "\
ffffffff81000000 T tpacket_rcv
ffffffff81001000 T net_rx_action
ffffffff81002000 T do_syscall_64
ffffffff81003000 T vfs_read
ffffffff8100f000 T _etext
";

    fn at(offsets: &[u64], process: u32) -> Stack {
        let kernel = offsets.iter().map(|offset| 0xffff_ffff_8100_0000 + offset).collect();
        Stack { process, kernel, user: vec![1] }
    }

    #[test]
    fn what_others_do_counts_only_where_they_were_interrupted() {
        let symbols = KernelSymbols::parse(SYMBOLS).unwrap();
        let classifier = Classifier { symbols, map: ComponentMap::default() };
        let samples = Samples {
            clock: Clock::Timer,
            stacks: HashMap::from([
                (at(&[0x10, 0x1010], 5), 1),
                (at(&[0x3010, 0x2010], 5), 2),
                (at(&[0x3010, 0x2010], 7), 4),
                (at(&[], 7), 8),
                (at(&[], 5), 16),
                (at(&[0x3010], 7), 32),
            ]),
            samples: 6,
            lost: 0,
        };
        let weights = classifier.weigh(&samples, &[7]);
        let expected = [
            (Component::Tap, 1),
            (Component::SystemCall, 4),
            (Component::UserCode, 8),
            (Component::Unclassified, 32),
        ];
        assert_eq!(weights.components, BTreeMap::from(expected));
        assert_eq!((weights.elsewhere, weights.total()), (18, 45));
        assert!((weights.classified() - 13.0 / 45.0).abs() < 1e-9);
    }
}
