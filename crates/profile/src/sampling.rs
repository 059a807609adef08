//! What the machine was doing, some hundred times a second, and which component of a packet's way that was.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use linerate_base::{Error, Result};
use linerate_sys::perf::{self, Clock, Record, Sample, Sampler, Target};
use linerate_sys::{cpu, task, usage};

pub use linerate_sys::perf::Stacks;

use crate::cost::cycles_per_nanosecond;
use crate::path::{Component, ComponentMap, Verdict};
use crate::symbols::KernelSymbols;

/// Samples a second of each processor, none of which fall into step with what happens a hundred or a thousand times a
/// second: the first, or the first of those that follow that takes no more than [`MOST`] of its time. In virtual machines
/// an interrupt may cost tens of microseconds.
const FREQUENCIES: [u32; 5] = [997, 797, 599, 397, 199];
const MOST: f64 = 0.019;

fn frequency(each: Duration) -> u32 {
    let is_cheap = |frequency: &u32| f64::from(*frequency) * each.as_secs_f64() <= MOST;
    FREQUENCIES.into_iter().find(is_cheap).unwrap_or(FREQUENCIES[FREQUENCIES.len() - 1])
}

/// Samples of all processors, on their way. What the thread that began does counts as nobody's: it fetches them.
#[derive(Debug)]
pub struct Sampling {
    samplers: Vec<Sampler>,
    /// The thread that fetches samples, whose work is nobody's.
    own: u32,
    clock: Clock,
    each: Duration,
    stacks: HashMap<Stack, u64>,
    samples: u64,
    lost: u64,
    fetching: Duration,
}

/// Where a processor was.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stack {
    /// Which one.
    pub cpu: u32,
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
    /// What one sample costs the processor that is sampled.
    pub each: Duration,
    /// Where processors were, and what it weighs: nanoseconds or cycles, by the clock.
    pub stacks: HashMap<Stack, u64>,
    /// How many there were.
    pub samples: u64,
    /// How many found no room.
    pub lost: u64,
    /// Processor time that it took to fetch them.
    pub fetching: Duration,
}

impl Sampling {
    /// Begins to sample all processors, 997 times a second, or less often where that would cost more than 2 % of their time:
    /// by their cycles where they tell them. Stacks of processes are for names of their functions; components are
    /// found without.
    ///
    /// # Errors
    /// [`ErrorKind::Permission`](linerate_base::ErrorKind::Permission) without CAP_PERFMON, unless
    /// `kernel.perf_event_paranoid` is -1.
    pub fn start(stacks: Stacks) -> Result<Self> {
        let clock = if perf::has_cycles() { Clock::Cycles } else { Clock::Timer };
        let each = perf::of_a_sample(clock, stacks)?;
        let open = |cpu| Sampler::open(clock, Target::Cpu(cpu), frequency(each), stacks);
        let samplers = cpu::online()?.into_iter().map(open).collect::<Result<Vec<_>>>()?;
        samplers.iter().try_for_each(Sampler::start)?;
        let own =
            task::this_thread().map_err(|e| Error::system("ask for this thread's number", e))?;
        let (stacks, fetching) = (HashMap::new(), Duration::ZERO);
        Ok(Self { samplers, own, clock, each, stacks, samples: 0, lost: 0, fetching })
    }

    /// Takes what there is out of the rings; to be called some times a second, by the thread that began.
    pub fn collect(&mut self) {
        let begun = usage::of_this_thread();
        let Self { samplers, own, stacks, samples, lost, .. } = self;
        for record in samplers.iter_mut().flat_map(Sampler::take) {
            match record {
                Record::Lost(count) => *lost += count,
                Record::Sample(Sample { process, thread, cpu, period, kernel, user }) => {
                    *samples += 1;
                    // Receiving that interrupts it is still found by its stack in the kernel.
                    let process = if thread == *own { 0 } else { process };
                    *stacks.entry(Stack { cpu, process, kernel, user }).or_default() += period;
                }
            }
        }
        self.fetching += usage::of_this_thread() - begun;
    }

    /// Samples no more.
    ///
    /// # Errors
    /// None that can be expected.
    pub fn finish(mut self) -> Result<Samples> {
        self.samplers.iter().try_for_each(Sampler::stop)?;
        self.collect();
        let Self { clock, each, stacks, samples, lost, fetching, .. } = self;
        Ok(Samples { clock, each, stacks, samples, lost, fetching })
    }
}

impl Samples {
    /// Nanoseconds that a weight of 1 stands for; of cycles, as if the processor ran at the time-stamp counter's rate.
    pub fn unit(&self) -> f64 {
        match self.clock {
            Clock::Timer => 1.0,
            Clock::Cycles => cycles_per_nanosecond().map_or(1.0, f64::recip),
        }
    }
}

/// What each component weighs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weights {
    /// By component, as far as there was any.
    pub components: BTreeMap<Component, u64>,
    /// What had nothing to do with receiving or with the capture, by process; 0 is nobody.
    pub elsewhere: BTreeMap<u32, u64>,
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

/// Seconds that a processor was busy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// In processes.
    pub user: f64,
    /// In the kernel, for processes or for what comes.
    pub kernel: f64,
    /// Of the latter, what was done for packets that come, whoever was interrupted for them.
    pub receiving: f64,
}

/// Tells what stacks mean.
#[derive(Debug)]
pub struct Classifier {
    /// `None` where they are hidden.
    symbols: Option<KernelSymbols>,
    map: ComponentMap,
}

impl Classifier {
    /// With the kernel's symbols as they are now: what was loaded meanwhile is among them.
    ///
    /// # Errors
    /// As [`KernelSymbols::read`].
    pub fn new() -> Result<Self> {
        Ok(Self { symbols: Some(KernelSymbols::read()?), map: ComponentMap::default() })
    }

    /// Without the kernel's symbols: of the captures' processes it tells user mode from the kernel, which is
    /// [`Component::Unclassified`]. What is done for them while others have their turn is not found.
    pub fn without_symbols() -> Self {
        Self { symbols: None, map: ComponentMap::default() }
    }

    /// The kernel's function in which `address` lies.
    pub fn name(&self, address: u64) -> Option<&str> {
        self.symbols.as_ref()?.name(address)
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
                Verdict::Elsewhere => {
                    *weights.elsewhere.entry(stack.process).or_default() += weight;
                }
            }
        }
        weights
    }

    /// How long the processor with this number was busy. (Of idle processors not every sample is taken, so that parts of
    /// all samples would say too much.)
    pub fn load(&self, samples: &Samples, cpu: u32) -> Load {
        let (mut load, unit) = (Load::default(), samples.unit() * 1e-9);
        for (stack, weight) in samples.stacks.iter().filter(|(stack, _)| stack.cpu == cpu) {
            let seconds = *weight as f64 * unit;
            match self.classify(stack, &[]) {
                Verdict::Elsewhere if stack.process == 0 => {}
                _ if stack.kernel.is_empty() => load.user += seconds,
                Verdict::Elsewhere => load.kernel += seconds,
                Verdict::On(_) => {
                    load.kernel += seconds;
                    load.receiving += seconds;
                }
            }
        }
        load
    }

    /// What a stack says. What other processes do counts where they were interrupted for receiving.
    pub fn classify(&self, stack: &Stack, captures: &[u32]) -> Verdict {
        let is_capture = captures.contains(&stack.process);
        if stack.kernel.is_empty() {
            return if is_capture { Verdict::On(Component::UserCode) } else { Verdict::Elsewhere };
        }
        let unclassified = Verdict::On(Component::Unclassified);
        if self.symbols.is_none() {
            return if is_capture { unclassified } else { Verdict::Elsewhere };
        }
        let names: Vec<_> = stack.kernel.iter().map(|address| self.name(*address)).collect();
        if !is_capture && !self.is_receiving(&names) {
            return Verdict::Elsewhere;
        }
        self.map.stack(names).unwrap_or(unclassified)
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
        Stack { cpu: 0, process, kernel, user: vec![1] }
    }

    fn samples() -> Samples {
        Samples {
            clock: Clock::Timer,
            each: Duration::ZERO,
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
            fetching: Duration::ZERO,
        }
    }

    #[test]
    fn where_samples_cost_more_there_are_fewer() {
        let frequencies = [1, 19, 20, 30, 90, 10_000].map(Duration::from_micros).map(frequency);
        assert_eq!(frequencies, [997, 997, 797, 599, 199, 199]);
    }

    #[test]
    fn what_others_do_counts_only_where_they_were_interrupted() {
        let symbols = KernelSymbols::parse(SYMBOLS);
        let classifier = Classifier { symbols, map: ComponentMap::default() };
        let samples = samples();
        let weights = classifier.weigh(&samples, &[7]);
        let expected = [
            (Component::Tap, 1),
            (Component::SystemCall, 4),
            (Component::UserCode, 8),
            (Component::Unclassified, 32),
        ];
        assert_eq!(weights.components, BTreeMap::from(expected));
        let elsewhere = BTreeMap::from([(5, 18)]);
        assert_eq!((&weights.elsewhere, weights.total()), (&elsewhere, 45));
        assert!((weights.classified() - 13.0 / 45.0).abs() < 1e-9);
    }

    #[test]
    fn a_processors_load_is_user_mode_and_kernel_without_idling() {
        let symbols = KernelSymbols::parse(SYMBOLS);
        let classifier = Classifier { symbols, map: ComponentMap::default() };
        let mut samples = samples();
        // Nobody's turn: idling, and receiving.
        samples.stacks.insert(at(&[0x3010], 0), 60);
        samples.stacks.insert(at(&[0x10, 0x1010], 0), 3);
        let load = classifier.load(&samples, 0);
        // Of nanoseconds.
        assert!((load.user * 1e9 - 24.0).abs() < 1e-6, "{load:?}");
        assert!((load.kernel * 1e9 - 42.0).abs() < 1e-6, "{load:?}");
        assert!((load.receiving * 1e9 - 4.0).abs() < 1e-6, "{load:?}");
        assert_eq!(classifier.load(&samples, 7), Load::default());
    }

    #[test]
    fn where_the_kernels_symbols_are_hidden_user_mode_is_told_from_it() {
        let weights = Classifier::without_symbols().weigh(&samples(), &[7]);
        let expected = [(Component::UserCode, 8), (Component::Unclassified, 36)];
        assert_eq!(weights.components, BTreeMap::from(expected));
        assert_eq!(weights.elsewhere, BTreeMap::from([(5, 19)]));
    }
}
