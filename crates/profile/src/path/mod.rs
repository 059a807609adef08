//! The components of a packet's way through the kernel to the application, and which function belongs to which.

mod map;

use serde::{Deserialize, Serialize};

pub use map::ComponentMap;

/// A part of what a packet costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Component {
    /// Entry of interrupts and of what follows them (softirqs).
    Interrupt,
    /// The driver, and NAPI, by which it is polled.
    Driver,
    /// Making skbs.
    Allocation,
    /// The way through the host's stack: GRO, delivery, protocols.
    Stack,
    /// The capture's hook in the kernel, without what has a component of its own.
    Tap,
    /// Reading a clock.
    Timestamp,
    /// The filter in the kernel.
    Filter,
    /// From the packet to the buffer.
    FirstCopy,
    /// Waking the application.
    WakeUp,
    /// The application's system calls.
    SystemCall,
    /// From the kernel's buffer to the application's.
    SecondCopy,
    /// The application itself.
    UserCode,
    /// Giving skbs back.
    Free,
    /// On the packet's way, but in no function that is known.
    Unclassified,
}

impl Component {
    /// All of them, in the order of a packet's way.
    pub const ALL: [Self; 14] = [
        Self::Interrupt,
        Self::Driver,
        Self::Allocation,
        Self::Stack,
        Self::Tap,
        Self::Timestamp,
        Self::Filter,
        Self::FirstCopy,
        Self::WakeUp,
        Self::SystemCall,
        Self::SecondCopy,
        Self::UserCode,
        Self::Free,
        Self::Unclassified,
    ];

    /// What it is called in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "interrupt and softirq entry",
            Self::Driver => "driver and NAPI",
            Self::Allocation => "skb allocation",
            Self::Stack => "stack core",
            Self::Tap => "tap",
            Self::Timestamp => "timestamp",
            Self::Filter => "filter",
            Self::FirstCopy => "first copy",
            Self::WakeUp => "wake-up",
            Self::SystemCall => "system calls",
            Self::SecondCopy => "second copy",
            Self::UserCode => "user code",
            Self::Free => "skb free",
            Self::Unclassified => "unclassified",
        }
    }

    /// Its name in the map; `None` for those that no function of the kernel belongs to.
    fn key(self) -> Option<&'static str> {
        Some(match self {
            Self::Interrupt => "interrupt",
            Self::Driver => "driver",
            Self::Allocation => "allocation",
            Self::Stack => "stack",
            Self::Tap => "tap",
            Self::Timestamp => "timestamp",
            Self::Filter => "filter",
            Self::FirstCopy => "first_copy",
            Self::WakeUp => "wake_up",
            Self::SystemCall => "system_call",
            Self::SecondCopy => "second_copy",
            Self::Free => "free",
            Self::UserCode | Self::Unclassified => return None,
        })
    }
}

/// What a stack says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Part of what packets cost.
    On(Component),
    /// Something else: idling, sending, other programs.
    Elsewhere,
}
