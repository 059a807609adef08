//! What to change, and what that costs.

use serde::Serialize;

use super::Cause;

/// Something to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// The setting.
    pub change: String,
    /// What it costs.
    pub cost: &'static str,
}

/// What helps against `cause` on an interface, or for the process with this number; the likeliest first.
pub(super) fn against(cause: Cause, interface: &str, process: u32) -> Vec<Advice> {
    let lines: &[(&str, &str)] = match cause {
        Cause::CardOverrun => &[
            ("a longer ring: `ethtool -G {if} rx 4096`", "memory, and a little cache"),
            ("more queues: `ethtool -L {if} combined N`, with --threads", "a core for each"),
            ("fewer interrupts: `ethtool -C {if} adaptive-rx on`", "some microseconds of delay"),
            ("queues' interrupts on cores of their own (/proc/irq/N/smp_affinity)", "these cores"),
        ],
        Cause::QueueOverrun => &[
            ("less work for each packet: the back end tap, a shorter filter", "nothing"),
            ("more queues: `ethtool -L {if} rx N`", "a core for each"),
            ("spread packets over cores: /sys/class/net/{if}/queues/rx-*/rps_cpus", "their time"),
            ("merge packets of a flow: `ethtool -K {if} gro on`", "packets are captured merged"),
        ],
        Cause::SlowFilter => &[
            ("a shorter filter: `linerate filter -d` shows its length", "nothing"),
            ("the back end tap, which compiles filters into searches", "CAP_BPF"),
            ("the JIT compiler: `sysctl net.core.bpf_jit_enable=1`", "nothing"),
            ("spread packets over cores: more queues, --threads", "a core for each"),
        ],
        Cause::BacklogOverrun => &[
            ("a longer backlog: `sysctl net.core.netdev_max_backlog=10000`", "memory, delay"),
            ("more cores for it: /sys/class/net/{if}/queues/rx-*/rps_cpus", "their time"),
            ("less work for each packet: the back end tap, a shorter filter", "nothing"),
        ],
        Cause::WrongDestination => &[
            ("nothing at a mirror port, or where the interface is to see all", "nothing"),
            ("spare the stack there: `capture --exclusive`", "the host gets no packet at all"),
            ("else the sender's neighbour table, VLAN or routes are wrong", "nothing"),
        ],
        Cause::NoRoom => &[
            ("larger buffers: `sysctl net.core.rmem_max=...`, SO_RCVBUF", "memory"),
            ("a reader that takes more at once", "nothing"),
        ],
        Cause::StoppedReader => {
            &[("have it go on: `kill -CONT {pid}`, or `fg` in its shell", "nothing")]
        }
        Cause::SlowStorage => &[
            ("write less: a snaplen (-s), a filter", "bytes or packets that are not saved"),
            ("faster storage, or a file system that takes O_DIRECT: ext4, xfs", "hardware"),
            ("a larger buffer (-B), for bursts only", "memory"),
            ("`capture -w` of linerate, which writes past the page cache", "nothing"),
        ],
        Cause::BusyReader => &[
            ("filter in the kernel: give the filter to the capture itself", "nothing"),
            ("more readers: --threads, or a fanout group", "a core for each"),
            ("copy less: a snaplen (-s)", "bytes that are not seen"),
            ("the back end tap, or TPACKET_V3 in place of recvfrom", "nothing"),
        ],
        Cause::SmallBuffer => &[
            ("a larger buffer: -B 64M (tcpdump: -B 65536; Suricata: ring-size)", "that memory"),
            ("a filter, or a snaplen (-s), so that less comes", "what is left out"),
            ("more readers: --threads, or a fanout group", "a core for each"),
        ],
    };
    let fill = |text: &str| text.replace("{if}", interface).replace("{pid}", &process.to_string());
    lines.iter().map(|(change, cost)| Advice { change: fill(change), cost }).collect()
}
