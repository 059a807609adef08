//! What is asked of perf_event_open(2).

use std::mem::{offset_of, size_of};

/// What says that it is time for a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The processor's cycle counter: it interrupts even where interrupts are off, on most processors.
    Cycles,
    /// A timer of the kernel's, which waits where interrupts are off: `PERF_COUNT_SW_CPU_CLOCK`.
    Timer,
}

/// Whom to sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Whatever this processor does.
    Cpu(usize),
    /// This thread, on any processor, and nothing of what interrupts it on others.
    Thread(u32),
}

impl Target {
    /// The arguments `pid` and `cpu` of the call.
    pub(super) fn arguments(self) -> (libc::pid_t, libc::c_int) {
        let number = |number: usize| libc::c_int::try_from(number).unwrap_or(libc::c_int::MAX);
        match self {
            Self::Cpu(cpu) => (-1, number(cpu)),
            Self::Thread(thread) => (number(thread as usize), -1),
        }
    }
}

/// Which stacks samples come with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stacks {
    /// In the kernel only.
    Kernel,
    /// In the process, too, which takes longer: its memory is read frame by frame.
    Both,
}

/// `struct perf_event_attr` as of `PERF_ATTR_SIZE_VER5`.
#[repr(C)]
#[derive(Default)]
pub(super) struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_frequency: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_registers_user: u64,
    sample_stack_user: u32,
    clock_id: i32,
    sample_registers_interrupt: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}

const _: () = assert!(size_of::<Attributes>() == 112);
const _: () = assert!(offset_of!(Attributes, sample_max_stack) == 108);

/// `enum perf_type_id` and the numbers of its events.
const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const CYCLES: u64 = 0;
const CPU_CLOCK: u64 = 0;

/// `enum perf_event_sample_format`.
const SAMPLE_TID: u64 = 1 << 1;
const SAMPLE_CALLCHAIN: u64 = 1 << 5;
const SAMPLE_CPU: u64 = 1 << 7;
const SAMPLE_PERIOD: u64 = 1 << 8;

/// Bits of `flags`.
const DISABLED: u64 = 1 << 0;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const FREQUENCY: u64 = 1 << 10;
const EXCLUDE_USER_STACK: u64 = 1 << 22;

/// Frames of a stack that are kept; the kernel's own default is 127.
const DEEPEST_STACK: u16 = 96;

impl Attributes {
    /// Samples by `clock`, `frequency` times a second, from when they are switched on.
    pub(super) fn sampling(clock: Clock, frequency: u32, stacks: Stacks) -> Self {
        let (kind, config) = match clock {
            Clock::Cycles => (HARDWARE, CYCLES),
            Clock::Timer => (SOFTWARE, CPU_CLOCK),
        };
        let stacks = match stacks {
            Stacks::Kernel => EXCLUDE_USER_STACK,
            Stacks::Both => 0,
        };
        Self {
            kind,
            config,
            size: size_of::<Self>() as u32,
            sample_frequency: frequency.into(),
            sample_type: SAMPLE_TID | SAMPLE_CALLCHAIN | SAMPLE_CPU | SAMPLE_PERIOD,
            flags: DISABLED | EXCLUDE_HYPERVISOR | FREQUENCY | stacks,
            // Nobody is woken: the ring is looked at a few times a second.
            wakeup: u32::MAX,
            sample_max_stack: DEEPEST_STACK,
            ..Self::default()
        }
    }
}
